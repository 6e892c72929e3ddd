package slurm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Access is what Slurm says of who may see whose jobs.
type Access struct {
	Admins       []string            // users of AdminLevel Operator or Administrator
	Coordinators map[string][]string // user → accounts, sub-accounts among them
	Private      bool                // PrivateData has jobs, in slurm.conf or in slurmdbd.conf
}

// The widths of what sacctmgr prints, bytes. Slurm's names have 255 at most; what is longer ends in "+".
const (
	nameWidth = 300
	listWidth = 4000
)

// ReadAccess asks sacctmgr. A coordinator may add accounts and users whose names hold any character, line
// breaks, too. So fields are read by their places: in the parsable form a name could forge a line.
func (c Commands) ReadAccess(ctx context.Context) (*Access, error) {
	var answers [3][]byte
	for i, args := range [][]string{
		{"--noheader", "show", "account", "withcoord", fmt.Sprintf("format=account%%-%d,coordinators%%-%d", nameWidth, listWidth)},
		{"--noheader", "show", "user", fmt.Sprintf("format=user%%-%d,adminlevel%%-%d", nameWidth, nameWidth)},
		{"show", "configuration"},
	} {
		var err error
		if answers[i], err = c.output(ctx, maxOutput, "sacctmgr", args...); err != nil {
			return nil, err
		}
	}
	return parseAccess(answers[0], answers[1], answers[2])
}

// pairs reads lines of a name and a second field, each of its width and with a blank behind.
func pairs(text []byte, second int) (all [][2]string, err error) {
	const line = nameWidth + 1
	for size := line + second + 2; len(text) > 0; text = text[size:] {
		if len(text) < size || text[nameWidth] != ' ' || text[size-2] != ' ' || text[size-1] != '\n' {
			return nil, fmt.Errorf("slurm: sacctmgr's line %d does not have the expected form", len(all)+1)
		}
		all = append(all, [2]string{strings.TrimRight(string(text[:nameWidth]), " "), strings.TrimRight(string(text[line:line+second]), " ")})
	}
	return all, nil
}

// parseAccess reads sacctmgr's output. Jobs are private unless it says otherwise.
func parseAccess(accounts, users, config []byte) (*Access, error) {
	a := &Access{Coordinators: map[string][]string{}, Private: true}
	of, err := pairs(accounts, listWidth)
	if err != nil {
		return nil, err
	}
	for _, p := range of {
		for name := range strings.SplitSeq(p[1], ",") {
			if name != "" && p[0] != "" {
				a.Coordinators[name] = append(a.Coordinators[name], p[0])
			}
		}
	}
	if of, err = pairs(users, nameWidth); err != nil {
		return nil, err
	}
	for _, p := range of {
		if p[1] == "Operator" || p[1] == "Administrator" {
			a.Admins = append(a.Admins, p[0])
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
	return a, nil
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
