// Package words says what is known of jobs in words: headlines, labelled facts, tables and trees, as blocks
// (report/block) that a text and a page show alike. It is pure: data in, words out; it asks nobody and knows no
// clock. Before it in the flow come ingest, which measures and folds, policy, which judges, and the packages of
// this folder that write blocks; after it report/view, which has a thing's words beside its figures.
//
// Everything that a user can name (jobs, programs, nodes) is hostile text: each entry point
// makes it inert (report/inert) before anything else sees it.
package words
