package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseAccess reads output of sacctmgr 22.05.8. bob is an operator, and coordinates proj,
// of which sub is a part.
func TestParseAccess(t *testing.T) {
	const accounts, users = "proj|bob,carol\nroot|\nsub|bob\n", "alice|None\nbob|Operator\nroot|Administrator\n"
	want := func(private bool) *Access {
		return &Access{Admins: []string{"bob", "root"}, Private: private,
			Coordinators: map[string][]string{"bob": {"proj", "sub"}, "carol": {"proj"}}}
	}
	for config, private := range map[string]bool{
		"":                                    true, // no setting
		"MessageTimeout         = 30 sec\n":   true,
		"PrivateData            = none\n":     false,
		"PrivateData            = jobs\n":     true,
		"PrivateData = accounts,users\n":      false,
		"PrivateData = accounts,Jobs,usage\n": true,
		"PrivateData            = none\n\nSlurmDBD configuration:\nPrivateData            = jobs\n": true, // slurmdbd.conf alone
		"PrivateData            = jobs\n\nSlurmDBD configuration:\nPrivateData            = none\n": true,
	} {
		if d := cmp.Diff(want(private), parseAccess([]byte(accounts), []byte(users), []byte(config))); d != "" {
			t.Errorf("%q: %s", config, d)
		}
	}
	if got := parseAccess([]byte("\n|\n|x\nproj\nproj|,,\n"), []byte("\nx\n|\n"), nil); len(got.Coordinators) != 0 || len(got.Admins) != 0 {
		t.Errorf("odd lines: %+v", got)
	}
}
