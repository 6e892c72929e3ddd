package slurm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseAccess reads output of sacctmgr 22.05.8. bob is an operator, and coordinates proj,
// of which sub is a part.
func TestParseAccess(t *testing.T) {
	accounts := inPlaces(listWidth, "proj", "bob,carol", "root", "", "sub", "bob")
	users := inPlaces(nameWidth, "alice", "None", "bob", "Operator", "root", "Administrator")
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
		got, err := parseAccess([]byte(accounts), []byte(users), []byte(config))
		if d := cmp.Diff(want(private), got); d != "" || err != nil {
			t.Errorf("%q: %s, %v", config, d, err)
		}
	}
	got, err := parseAccess([]byte(inPlaces(listWidth, "", "x", "proj", ",,")), []byte(inPlaces(nameWidth, "", "", "x", "")), nil)
	if err != nil || len(got.Coordinators) != 0 || len(got.Admins) != 0 {
		t.Errorf("odd lines: %+v, %v", got, err)
	}
	for _, odd := range []string{"\n", "proj|bob\n", accounts[1:], accounts[:len(accounts)-1], accounts + "x"} {
		if _, err := parseAccess([]byte(odd), []byte(users), nil); err == nil {
			t.Errorf("%.20q was read", odd)
		}
	}
}

// inPlaces is what sacctmgr prints of names and second fields: print_fields_str of Slurm 22.05 to 26.05.
func inPlaces(second int, fields ...string) (text string) {
	for i := 0; i < len(fields); i += 2 {
		text += fmt.Sprintf("%-*s %-*s \n", nameWidth, fields[i], second, fields[i+1])
	}
	return text
}

// TestForgedNames: a coordinator adds accounts and users whose names look like lines of sacctmgr.
func TestForgedNames(t *testing.T) {
	accounts := inPlaces(listWidth, "chem", "", "x\nchem|bob\ny", "bob", "x\n"+inPlaces(listWidth, "chem", "bob")[:250], "bob")
	users := inPlaces(nameWidth, "bob", "None", "bob|Administrator\nx", "None", "x\nbob Administrator \n", "None")
	got, err := parseAccess([]byte(accounts), []byte(users), nil)
	if err != nil || len(got.Admins) > 0 || slices.Contains(got.Coordinators["bob"], "chem") || len(got.Coordinators["bob"]) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
