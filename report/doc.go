// Package report writes views (report/view). It writes them as a text for a terminal, wrapped to its width,
// with bars and colours as far as the reader can see them. Or it writes a page: one file that loads nothing and
// holds no script (contract.go has the data of its templates). It decides where things are shown, and computes
// nothing. Before it in the flow comes report/view; after it come the programs in cmd and jobeffd's server.
package report
