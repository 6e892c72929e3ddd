// Package report turns what is known of jobs into what people read. It is pure: data in, text
// out; it asks nobody and knows no clock. A view is made of blocks (report/block), once, and
// written as text (report/text) or as a page (report/page). Before it in the flow stand
// ingest, which measures and folds, policy, which judges, and the packages below this folder;
// after it only report/mail and the programs in cmd.
//
// Everything that a user can name (jobs, programs, nodes) is hostile text: each entry point
// makes it inert (report/inert) before anything else sees it.
package report
