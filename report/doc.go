// Package report turns what is known of jobs into what people and programs read:
// text for a terminal and the JSON document. It is pure: data in, text out; it
// asks nobody and knows no clock. Before it in the flow stand ingest, which
// measures and folds, and policy, which judges; after it only the programs in cmd.
//
// Everything that a user can name (jobs, programs, nodes) is hostile text: each
// entry point makes it inert with Inert before anything else sees it.
package report
