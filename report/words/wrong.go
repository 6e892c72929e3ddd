package words

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"jobeff/policy/facts"
	"jobeff/report/inert"
	"jobeff/report/page"
)

// WrongHTML writes the page on which somebody who got a notice can say that it was wrong, or what they said.
func WrongHTML(w io.Writer, told *facts.Told, links page.Links) error {
	t := inert.Copy(told, true)
	p := page.Wrong{Frame: page.NewFrame("Was this wrong? – jobeff", links), Job: links.Job(t.Job),
		Told: fmt.Sprintf("On %s jobeff told %s of job %s (%s), by the rule %s. Who coordinates the job's account reads what you say of it, too.", t.At.Local().Format(time.DateOnly), cmp.Or(t.User, fmt.Sprintf("user %d", t.UID)),
			t.Job, cmp.Or(t.Name, "no name"), t.Rule)}
	p.Policy, p.Referrer = page.FormPolicy, "same-origin" // without it the browser would hide where the form comes from
	if !t.WrongAt.IsZero() {
		p.Said = "It was said to be wrong on " + t.WrongAt.Local().Format(time.DateOnly) + ". Those who run the cluster read it in the week's digest."
		if t.Wrong != "" {
			p.Said += " In these words: " + inert.Text(told.Wrong, true)
		}
	}
	return page.Write(w, "wrong", p)
}
