// Package report writes what a view says (report/view): as a text for a terminal, wrapped to its width, with bars
// and colours as far as its reader can see them, or as a page, which is one file that loads nothing and holds no
// script (contract.go has what its templates read). It decides what stands where, and computes nothing. Before it in
// the flow comes report/view; after it the programs in cmd and jobeffd's server.
package report
