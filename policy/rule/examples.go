package rule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"jobeff/etc"
	"jobeff/policy"
)

// ReadExamples reads [[example]] tables: a name, job (policy.Fields; those left out are not known) and expect
// (rules and their outcomes). An error begins with FILE:LINE.
func (r *Rules) ReadExamples(file string, text []byte) ([]policy.Example, error) {
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("%s:%d: %s", file, max(parse.Position.Line, 1), parse.Message)
		}
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	places := etc.NewFile(file, text)
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if key != "example" {
			return nil, fmt.Errorf("%s: unknown key %q: the file holds [[example]] tables only", etc.Place{File: places, Table: key}.At(), key)
		}
	}
	tables, _ := tree["example"].([]map[string]any)
	if len(tables) == 0 {
		return nil, fmt.Errorf("%s:1: no example: write one as [[example]] with name, job and expect", file)
	}
	var all []policy.Example
	for i, table := range tables {
		p := exampleReader{Rules: r, place: etc.Place{File: places, Table: "example", Index: i}}
		e, err := p.read(table)
		if err != nil {
			return nil, err
		}
		all = append(all, *e)
	}
	return all, nil
}

var outcomes = []policy.Outcome{policy.Flagged, policy.Passed, policy.CannotTell, policy.NotAsked}

// exampleReader reads one [[example]].
type exampleReader struct {
	*Rules
	place etc.Place
}

// fault makes an error with the place of a key.
func (p exampleReader) fault(key []string, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %s", p.place.At(key...), strings.Join(key, "."), fmt.Sprintf(format, args...))
}

func (p exampleReader) read(table map[string]any) (*policy.Example, error) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains([]string{"name", "job", "expect"}, key) {
			return nil, p.fault([]string{key}, "unknown key (known: name, job, expect)")
		}
	}
	e := &policy.Example{At: p.place.At()}
	if e.Name, _ = table["name"].(string); e.Name == "" {
		return nil, p.fault([]string{"name"}, "is missing: say what the example is about")
	}
	job, is := table["job"].(map[string]any)
	if !is {
		return nil, p.fault([]string{"job"}, "is missing: a table of the job's fields")
	}
	expect, is := table["expect"].(map[string]any)
	if !is || len(expect) == 0 {
		return nil, p.fault([]string{"expect"}, "is missing: a table of rules and what each shall say")
	}
	var err error
	if e.Case, err = p.job(job); err != nil {
		return nil, err
	}
	e.Expect, err = p.expect(expect)
	return e, err
}

// job makes a case of an example's fields.
func (p exampleReader) job(table map[string]any) (*policy.Case, error) {
	c := &policy.Case{Unknown: map[string]string{}}
	for _, f := range fields {
		if _, said := table[f.Name]; !said {
			c.Unknown[f.Name] = "the example does not say it"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		i := slices.IndexFunc(fields, func(f policy.Field) bool { return f.Name == key })
		if i < 0 {
			return nil, p.fault([]string{"job", key}, "unknown field (`jobeff admin policy fields` lists them)")
		}
		if to := reflect.ValueOf(&c.Fields).Elem().Field(i); !assign(to, table[key]) {
			return nil, p.fault([]string{"job", key}, "wants a %s", fields[i].Type)
		}
	}
	if c.Unknown["core_hours"] != "" && cmp.Or(c.Unknown["alloc_cores"], c.Unknown["runtime"]) == "" {
		c.CoreHours = float64(c.AllocCores) * c.Runtime / 3600
		delete(c.Unknown, "core_hours")
	}
	if c.Unknown["core_hours"] == "" {
		used := policy.CoreTime(3600 * c.CoreHours)
		c.Hours.Used = &used
	}
	return c, nil
}

// assign writes a TOML value to a field. It returns false if that has another type.
func assign(to reflect.Value, value any) bool {
	switch v := value.(type) {
	case int64:
		if to.Kind() == reflect.Float64 {
			to.SetFloat(float64(v))
			return true
		}
		if to.Kind() == reflect.Int {
			to.SetInt(v)
			return true
		}
		return false
	case []any:
		var list []string
		for _, e := range v {
			s, is := e.(string)
			if !is {
				return false
			}
			list = append(list, s)
		}
		value = list
	}
	from := reflect.ValueOf(value)
	if from.Type() != to.Type() {
		return false
	}
	to.Set(from)
	return true
}

// expect reads the expected outcomes of rules.
func (p exampleReader) expect(table map[string]any) (map[string]policy.Outcome, error) {
	all := map[string]policy.Outcome{}
	names := p.Names()
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(names, key) {
			return nil, p.fault([]string{"expect", key}, "no such rule (there are %s)", strings.Join(names, ", "))
		}
		text, _ := table[key].(string)
		outcome := policy.Outcome(strings.ReplaceAll(text, " ", "_"))
		if !slices.Contains(outcomes, outcome) {
			return nil, p.fault([]string{"expect", key}, `%v is no outcome: "flagged", "passed", "cannot tell" or "not asked"`, table[key])
		}
		all[key] = outcome
	}
	return all, nil
}

// Try judges an example and returns the rules whose verdict is not the expected one.
func (r *Rules) Try(e *policy.Example) []policy.Mismatch {
	var all []policy.Mismatch
	for _, v := range r.JudgeCase(e.Case) {
		if want, asked := e.Expect[v.Rule]; asked && want != v.Outcome {
			all = append(all, policy.Mismatch{Want: want, Got: v})
		}
	}
	return all
}
