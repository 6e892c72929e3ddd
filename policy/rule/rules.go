package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"jobeff/etc"
	"jobeff/policy"
	"jobeff/report/figure"
)

// Rules holds compiled rules, in the order of the configuration.
type Rules struct{ rules []*rule }

type rule struct {
	etc.Rule
	program *vm.Program
	reads   []string  // fields, in the order in which the condition names them
	limits  []float64 // numbers that the condition compares with
	text    *template.Template
}

// Settings returns the rules as they are in the configuration, in order.
func (r *Rules) Settings() []etc.Rule {
	var all []etc.Rule
	for _, one := range r.rules {
		all = append(all, one.Rule)
	}
	return all
}

// Names returns the rules' names, in order.
func (r *Rules) Names() []string {
	var names []string
	for _, one := range r.rules {
		names = append(names, one.Name)
	}
	return names
}

// Mark returns a number above 0 that changes with what the rules ask and with jobeff's version, but not with
// what they tell people.
func (r *Rules) Mark() int64 {
	h := fnv.New64a()
	fmt.Fprintln(h, etc.Version)
	for _, one := range r.Settings() {
		one.Text, one.Link = "", ""
		json.NewEncoder(h).Encode(one) // neither can fail
	}
	return int64(h.Sum64()>>2) + 1
}

// Compile reads the conditions and texts of all rules, switched off or not. Its error has a line,
// which begins with FILE:LINE, for each one that is wrong.
func Compile(rules []etc.Rule) (*Rules, error) {
	all, in, nothing := &Rules{}, language(), values(&policy.Case{})
	var faults []error
	for i := range rules {
		r := &rule{Rule: rules[i]}
		fault := func(key string, err error) {
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: rule %q: %s: %w", r.At(key), r.Name, key, err))
			}
		}
		fault("condition", r.compileCondition(in))
		fault("text", r.compileText(nothing))
		all.rules = append(all.rules, r)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return all, nil
}

// functions are the functions that a condition may call. None knows a clock.
var functions = []string{"abs", "all", "any", "len", "lower", "max", "min", "none", "round", "upper"}

// mostNodes bounds a condition's size.
const mostNodes = 1000

// Functions lists the functions that a condition may call.
func Functions() []string { return slices.Clone(functions) }

// language is the language of conditions: expressions over policy.Fields. Compile makes it once: making it for
// each rule would be half of Compile's work.
func language() *conf.Config {
	c := conf.CreateNew()
	options := []expr.Option{expr.Env(policy.Fields{}), expr.AsBool(), expr.MaxNodes(mostNodes), expr.DisableAllBuiltins()}
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	for _, set := range options {
		set(c)
	}
	return c
}

// compileCondition type-checks the condition against policy.Fields, and notes the fields that it reads.
func (r *rule) compileCondition(in *conf.Config) error {
	var err error
	if r.program, err = expr.Compile(r.Condition, func(c *conf.Config) { *c = *in }); err != nil {
		return conditionError(err)
	}
	v := &reader{}
	node := r.program.Node()
	ast.Walk(&node, v)
	if v.whole {
		return errors.New("$env is not allowed: name the fields")
	}
	r.reads, r.limits = v.fields, v.limits
	return nil
}

// conditionError puts expr's error into one line, with what to do next.
func conditionError(err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("%s (`jobeff admin policy fields` lists what it may read)", firstLine(err.Error()))
	}
	where := fmt.Sprintf("column %d", at.Column+1)
	if at.Line > 1 {
		where = fmt.Sprintf("its line %d, column %d", at.Line, at.Column+1)
	}
	return fmt.Errorf("%s, at %s (`jobeff admin policy fields` lists what it may read)", firstLine(at.Message), where)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// reader collects the fields and numbers of a condition.
type reader struct {
	fields []string
	limits []float64 // the numbers that it compares with
	whole  bool      // it reads all fields, as $env
}

// Visit is called for each node of a condition.
func (v *reader) Visit(node *ast.Node) {
	if limit, is := (*node).(*ast.FloatNode); is {
		v.limits = append(v.limits, limit.Value)
	}
	id, is := (*node).(*ast.IdentifierNode)
	if !is {
		return
	}
	if isField(id.Value) && !slices.Contains(v.fields, id.Value) {
		v.fields = append(v.fields, id.Value)
	}
	v.whole = v.whole || id.Value == "$env"
}

// holds evaluates the condition. It fails only on values, such as an index beyond a list's end.
func (r *rule) holds(f *policy.Fields) (bool, error) {
	out, err := expr.Run(r.program, *f)
	if err != nil {
		return false, fmt.Errorf("its condition failed: %s", firstLine(err.Error()))
	}
	return out.(bool), nil
}

// notKnown replaces a field that is not known in a text.
const notKnown = "?"

// textFunctions are the functions that a rule's text may call besides the template language's own.
var textFunctions = template.FuncMap{
	"percent":    func(v any) string { return numeric(v, figure.Percent) },
	"efficiency": func(v any) string { return numeric(v, figure.Efficiency) },
	"number":     func(v any) string { return numeric(v, figure.Number) },
	"bytes":      func(v any) string { return numeric(v, bytesText) },
	"clock": func(v any) string {
		return numeric(v, func(s float64) string { return figure.Clock(figure.Duration(s)) })
	},
	"hours": func(v any) string { return numeric(v, figure.Hours) },
	"count": func(v any) string { return numeric(v, func(n float64) string { return figure.Count(int(n)) }) },
	"counted": func(v any, noun string) string {
		return numeric(v, func(n float64) string { return figure.Counted(int(n), noun) })
	},
}

// numeric writes a number, or notKnown for what is none.
func numeric(v any, write func(float64) string) string {
	switch v := v.(type) {
	case float64:
		return write(v)
	case int:
		return write(float64(v))
	}
	return notKnown
}

// bytesText writes GiB.
func bytesText(v float64) string { return figure.Bytes(uint64(math.Round(v * (1 << 30)))) }

// templateError matches how the template package names a place.
const templateError = `^template: [^ ]*?:(\d+)(?::\d+)?: (?:executing "[^"]*" )?`

// compileText reads the template, checks that it uses only fields, and tries it once, with no field set.
func (r *rule) compileText(nothing map[string]any) error {
	t, err := template.New("text").Option("missingkey=error").Funcs(textFunctions).Parse(r.Text)
	if err == nil {
		err = checkNode(t.Root)
	}
	if err == nil && len(t.Templates()) > 1 {
		err = errors.New("define and block are not allowed: only fields, functions and if")
	}
	if err == nil {
		err = t.Execute(io.Discard, nothing)
	}
	if err != nil {
		return errors.New(regexp.MustCompile(templateError).ReplaceAllString(firstLine(err.Error()), "line $1: "))
	}
	r.text = t
	return nil
}

// checkNode allows a template only fields that exist, functions and if.
func checkNode(n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return checkNodes(n.Nodes)
	case *parse.ActionNode:
		return checkNode(n.Pipe)
	case *parse.IfNode:
		return errors.Join(checkNode(n.Pipe), checkNode(n.List), checkNode(n.ElseList))
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if err := checkNodes(c.Args); err != nil {
				return err
			}
		}
		return nil
	case *parse.FieldNode:
		if !isField(n.Ident[0]) || len(n.Ident) > 1 {
			return fmt.Errorf("unknown field .%s (`jobeff admin policy fields` lists them)", strings.Join(n.Ident, "."))
		}
		return nil
	case *parse.RangeNode, *parse.WithNode, *parse.TemplateNode, *parse.ChainNode, *parse.DotNode, *parse.VariableNode:
		return fmt.Errorf("%s is not allowed: only fields, functions and if", n)
	}
	return nil
}

func checkNodes(nodes []parse.Node) error {
	for _, n := range nodes {
		if err := checkNode(n); err != nil {
			return err
		}
	}
	return nil
}

// sayNothing are fields that a text leaves empty if they are not known.
var sayNothing = []string{"cause_text", "advised_cores", "request"}

// fields are the fields that conditions and texts may read, in their order.
var fields = policy.AllFields()

func isField(name string) bool { return new(policy.Fields).Value(name) != nil }

// values returns the fields of a case by name, for a text.
func values(c *policy.Case) map[string]any {
	all := map[string]any{}
	for _, f := range fields {
		all[f.Name] = c.Value(f.Name)
		if c.Unknown[f.Name] != "" && !slices.Contains(sayNothing, f.Name) {
			all[f.Name] = notKnown
		}
	}
	return all
}

// tell writes the rule's text for a case, or instead if the text fails on an unknown field.
func (r *rule) tell(c *policy.Case, instead string) string {
	var b strings.Builder
	if err := r.text.Execute(&b, values(c)); err != nil {
		return instead
	}
	return strings.TrimSpace(b.String())
}
