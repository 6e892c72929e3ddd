package slurm

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// Access is what Slurm says of who may see whose jobs.
type Access struct {
	Admins       []string            // users of AdminLevel Operator or Administrator
	Coordinators map[string][]string // user → accounts, sub-accounts among them
	Private      bool                // PrivateData has jobs, in slurm.conf or in slurmdbd.conf
}

// ReadAccess asks sacctmgr.
func ReadAccess(ctx context.Context) (*Access, error) {
	var answers [3][]byte
	for i, args := range [][]string{
		{"--noheader", "--parsable2", "show", "account", "withcoord", "format=account,coordinators"},
		{"--noheader", "--parsable2", "show", "user", "format=user,adminlevel"},
		{"show", "configuration"},
	} {
		var err error
		if answers[i], err = output(ctx, maxOutput, "sacctmgr", args...); err != nil {
			return nil, err
		}
	}
	return parseAccess(answers[0], answers[1], answers[2]), nil
}

// parseAccess reads sacctmgr's output. Jobs are private unless it says otherwise.
func parseAccess(accounts, users, config []byte) *Access {
	a := &Access{Coordinators: map[string][]string{}, Private: true}
	for line := range lines(accounts) {
		account, coordinators, ok := strings.Cut(line, "|")
		if !ok {
			continue
		}
		for name := range strings.SplitSeq(coordinators, ",") {
			if name != "" && account != "" {
				a.Coordinators[name] = append(a.Coordinators[name], account)
			}
		}
	}
	for line := range lines(users) {
		if name, level, _ := strings.Cut(line, "|"); level == "Operator" || level == "Administrator" {
			a.Admins = append(a.Admins, name)
		}
	}
	said, private := false, false
	for line := range lines(config) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "PrivateData" {
			said = true
			private = private || slices.Contains(strings.Split(strings.ToLower(strings.TrimSpace(value)), ","), "jobs")
		}
	}
	a.Private = private || !said
	return a
}

// lines iterates over a text's lines, without their ends.
func lines(text []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range bytes.Lines(text) {
			if !yield(strings.TrimSuffix(string(line), "\n")) {
				return
			}
		}
	}
}
