package words

import (
	"cmp"
	"fmt"
	"time"

	"jobeff/ingest/listing"
	"jobeff/report/inert"
)

// Wrong words the page on which somebody who got a notice can say that it was wrong.
type Wrong struct {
	Job  string // its id
	Told string // the notice
	Said string // what its reader said about it; "": nothing yet
}

// OfWrong words a notice, and what its reader said about it.
func OfWrong(told *listing.Told) Wrong {
	t := inert.Copy(told, true)
	w := Wrong{Job: t.Job, Told: fmt.Sprintf("On %s jobeff told %s of job %s (%s), by the rule %s. Who coordinates the job's account reads what you say of it, too.", t.At.Local().Format(time.DateOnly), cmp.Or(t.User, fmt.Sprintf("user %d", t.UID)),
		t.Job, cmp.Or(t.Name, "no name"), t.Rule)}
	if !t.WrongAt.IsZero() {
		w.Said = "It was said to be wrong on " + t.WrongAt.Local().Format(time.DateOnly) + ". Those who run the cluster read it in the week's digest."
		if t.Wrong != "" {
			w.Said += " In these words: " + inert.Text(told.Wrong, true)
		}
	}
	return w
}
