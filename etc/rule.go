package etc

import (
	"fmt"
	"reflect"
	"strings"
)

// Rule is one [[rule]] table: what is asked of every job that has ended, or runs. Package
// policy/rule compiles its condition and its text; here they are only carried.
type Rule struct {
	Name      string `toml:"name"`
	Enabled   bool   `toml:"enabled"`
	Shadow    bool   `toml:"shadow"`    // judged and shown by explain, told to nobody
	Condition string `toml:"condition"` // an expression over policy.Fields; true: flagged

	GPUs bool `toml:"gpus"` // asked of jobs with GPUs too, whose host side alone is measured

	WhileRunning bool `toml:"while_running"` // asked of jobs that run, too, of their figures so far

	LeastRuntime   Duration `toml:"least_runtime"`    // Slurm's Elapsed
	LeastCoreHours float64  `toml:"least_core_hours"` // AllocCPUS x Elapsed
	LeastCoverage  float64  `toml:"least_coverage"`   // ranks recorded / ranks that ran

	Text string `toml:"text"` // for the job's owner, a text/template over policy.Fields
	Link string `toml:"link"` // where they read more; empty: nowhere

	origin map[string]Place // by key, where it was set
}

// defaultCoverage is the least_coverage of a rule that sets none.
const defaultCoverage = 0.9

// At returns FILE:LINE of the rule's key, or of its table if the key was left out.
func (r *Rule) At(key string) string {
	if p, ok := r.origin[key]; ok {
		return p.At(key)
	}
	return r.origin["name"].At("")
}

var ruleType = reflect.TypeFor[Rule]()

// mergeRules lays a file's rules over the known ones. A rule with the name of a known one
// changes only the keys that its table sets. A rule with a new name is added.
func mergeRules(known, own []Rule, set []map[string]any, file *File) ([]Rule, error) {
	all := append([]Rule(nil), known...)
	seen := map[string]Place{}
	for i := range own {
		place := Place{File: file, Table: "rule", Index: i}
		name := own[i].Name
		if first, twice := seen[name]; twice {
			return nil, fmt.Errorf("%s: a second rule has the name %q: the first stands at %s", place.At("name"), name, first.At("name"))
		}
		seen[name] = place
		r := find(&all, name)
		r.overlay(&own[i], set[i], place)
		if key, msg := r.check(); msg != "" {
			return nil, fmt.Errorf("%s: rule %q: %s: %s", r.At(key), name, key, msg)
		}
	}
	return all, nil
}

// find returns the rule of that name. If there is none, it adds one.
func find(all *[]Rule, name string) *Rule {
	for i := range *all {
		if (*all)[i].Name == name {
			return &(*all)[i]
		}
	}
	*all = append(*all, Rule{Enabled: true, LeastCoverage: defaultCoverage})
	return &(*all)[len(*all)-1]
}

// overlay takes over the keys that a table sets.
func (r *Rule) overlay(own *Rule, table map[string]any, place Place) {
	origin := map[string]Place{"name": place}
	for key, p := range r.origin {
		origin[key] = p
	}
	to, from := reflect.ValueOf(r).Elem(), reflect.ValueOf(own).Elem()
	for i := range ruleType.NumField() {
		key := ruleType.Field(i).Tag.Get("toml")
		if _, set := table[key]; set {
			to.Field(i).Set(from.Field(i))
			origin[key] = place
		}
	}
	r.origin = origin
}

// check returns the first key with a wrong value, and what is wrong with it.
func (r *Rule) check() (key, msg string) {
	for _, v := range []struct{ key, msg string }{
		{"name", checkRuleName(r.Name)},
		{"condition", checkText(r.Condition, "true where the job is to be flagged (no shipped rule of this name has one)")},
		{"least_core_hours", checkAmount(r.LeastCoreHours)},
		{"least_coverage", checkCoverage(r.LeastCoverage)},
		{"text", checkText(r.Text, "what the job's owner is told")},
		{"link", checkLink(r.Link)},
	} {
		if v.msg != "" {
			return v.key, v.msg
		}
	}
	return "", ""
}

// checkRuleName allows only names that are safe in a mail's subject and on a command line.
func checkRuleName(s string) string {
	if s == "" {
		return "is missing: a rule needs a name, by which verdicts speak of it"
	}
	other := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	}
	if len(s) > 40 || strings.ContainsFunc(s, other) || s[0] == '_' || s[0] == '-' {
		return "letters, digits, - and _, at most 40, the first a letter or a digit"
	}
	return ""
}
