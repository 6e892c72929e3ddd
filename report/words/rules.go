package words

import (
	"fmt"
	"strings"
	"time"

	"jobeff/etc"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// Rule words one of the site's rules: its name, its state if nobody is told, its condition and its text.
type Rule struct {
	Name, State string
	Facts       block.Facts
}

// OfRules words the rules themselves.
func OfRules(rules []etc.Rule) (all []Rule) {
	for _, r := range rules {
		one := Rule{Name: r.Name}
		switch {
		case !r.Enabled:
			one.State = " (switched off)"
		case r.Shadow:
			one.State = " (in shadow: told to nobody)"
		}
		least := fmt.Sprintf("at least %s, %s core-hours, %s of the ranks recorded", figure.Clock(time.Duration(r.LeastRuntime)), figure.Hours(r.LeastCoreHours), figure.Percent(r.LeastCoverage))
		for _, item := range []struct{ label, text string }{{"asks", r.Condition}, {"of jobs", least}, {"says", r.Text}, {"see", r.Link}} {
			one.Facts.Add(item.label, strings.Join(strings.Fields(item.text), " "))
		}
		all = append(all, one)
	}
	return all
}

// Fields lists what a rule may read, and the functions that it may call.
type Fields struct {
	All   []policy.Field
	Notes []string
}

// OfFields words fields and functions.
func OfFields(fields []policy.Field, functions []string) Fields {
	return Fields{fields, []string{"A condition is an expression of github.com/expr-lang/expr: and, or, not, ==, <, in, " +
		"contains, matches, + - * /, and the functions " + strings.Join(functions, ", ") + ".",
		"A text is a Go text/template with these fields, if, and the functions percent, efficiency, " +
			"hours, count and counted: {{percent .parallel_efficiency}}, {{counted .ranks \"rank\"}}."}}
}
