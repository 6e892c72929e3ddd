package policy

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"jobeff/report/figure"
)

// notKnown stands in a text for a field that is not known.
const notKnown = "?"

// textFunctions are what a rule's text may call beside the template language's own.
var textFunctions = template.FuncMap{
	"percent":    func(v any) string { return numeric(v, figure.Percent) },
	"efficiency": func(v any) string { return numeric(v, figure.Efficiency) },
	"hours":      func(v any) string { return numeric(v, figure.Hours) },
	"count":      func(v any) string { return numeric(v, func(n float64) string { return figure.Count(int(n)) }) },
	"counted": func(v any, noun string) string {
		return numeric(v, func(n float64) string { return figure.Counted(int(n), noun) })
	},
}

// numeric writes a number, and what is not known as such.
func numeric(v any, write func(float64) string) string {
	switch v := v.(type) {
	case float64:
		return write(v)
	case int:
		return write(float64(v))
	}
	return notKnown
}

// templateError is the template package's way to name the place.
const templateError = `^template: [^ ]*?:(\d+)(?::\d+)?: (?:executing "[^"]*" )?`

// compileText reads the template, holds it to the fields and tries it once, on the fields of
// no job.
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

// checkNode holds a template to fields that are, functions and if.
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
		if _, known := fieldIndex[n.Ident[0]]; !known || len(n.Ident) > 1 {
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

// sayNothing are fields that add nothing to a text where they are not known.
var sayNothing = []string{"cause_text", "advised_cores"}

// values are the fields by name for a text.
func (c *Case) values() map[string]any {
	all := map[string]any{}
	for name := range fieldIndex {
		all[name] = c.value(name)
		if c.Unknown[name] != "" && !slices.Contains(sayNothing, name) {
			all[name] = notKnown
		}
	}
	return all
}

// tell writes the rule's text for a case; where the text fails on an unknown
// field, instead is written.
func (r *rule) tell(c *Case, instead string) string {
	var b strings.Builder
	if err := r.text.Execute(&b, c.values()); err != nil {
		return instead
	}
	return strings.TrimSpace(b.String())
}
