// Package report writes what a view says (report/view): as a text for a terminal, or as a page. It decides what
// stands where, and computes nothing. Before it in the flow stand report/view and the rooms that write blocks,
// report/text and report/page; after it the programs in cmd and jobeffd's server.
package report
