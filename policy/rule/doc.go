// Package rule judges jobs by the rules of a site: it compiles the conditions and texts of the configuration
// (etc.Rule), which are expressions and templates over policy.Fields, and tries them on a site's own examples. It
// is pure: it knows no clock and does no I/O. Before it come etc, which reads the rules, and package policy,
// which describes a job and knows what a verdict is. It is for jobeffd, and for `jobeff admin`, which tries
// rules: nothing that shows verdicts imports it, so no program on a node carries a compiler.
package rule
