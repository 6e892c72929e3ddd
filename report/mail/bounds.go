package mail

import (
	"bytes"
	"fmt"
	"text/template"
	"text/template/parse"
)

// mostLetter bounds the output of a template, and each text in it, bytes. A site's template may loop over
// anything.
const mostLetter = 1 << 20

// bounded is a buffer of at most `most` bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("it makes more than %d KiB", b.most>>10)
	}
	return b.Buffer.Write(p)
}

// These replace functions that templates have by default: a text that is inserted into itself again and again
// doubles each time.
func print(args ...any) (string, error)                 { return short(fmt.Sprint(args...)) }
func printf(format string, args ...any) (string, error) { return short(fmt.Sprintf(format, args...)) }
func println(args ...any) (string, error)               { return short(fmt.Sprintln(args...)) }
func js(args ...any) (string, error)                    { return short(template.JSEscaper(args...)) }

func short(s string) (string, error) {
	if len(s) > mostLetter {
		return "", fmt.Errorf("a text of more than %d KiB", mostLetter>>10)
	}
	return s, nil
}

// mostSteps bounds the work for a letter: a loop may go on without writing. Our own letters take a few hundred
// steps.
const mostSteps = 1_000_000

var errSteps = fmt.Errorf("it takes more than %d steps", mostSteps)

// stepFunction is the name of steps.add in a template.
const stepFunction = "jobeff_steps"

// steps counts the steps of a letter.
type steps int

// add counts the parts of a template that come next.
func (s *steps) add(parts int) (string, error) {
	if *s += steps(parts); *s > mostSteps {
		return "", errSteps
	}
	return "", nil
}

// stepsOf makes each list of a template's parts begin with a call of steps.add.
func stepsOf(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		if b := branchOf(n); b != nil {
			stepsOf(b.List)
			stepsOf(b.ElseList)
		}
	}
	// an assignment writes nothing, so html/template does not escape it
	call := fmt.Sprintf("{{$_ := %s %d}}", stepFunction, 1+len(list.Nodes))
	step := template.Must(template.New("step").Funcs(template.FuncMap{stepFunction: (*steps).add}).Parse(call))
	list.Nodes = append([]parse.Node{step.Root.Nodes[0]}, list.Nodes...)
}

func branchOf(n parse.Node) *parse.BranchNode {
	switch n := n.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	}
	return nil
}
