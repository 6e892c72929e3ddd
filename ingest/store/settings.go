package store

import "strings"

// setting is what a column of a run's row is set to.
type setting struct {
	column string
	value  any
	rule   rule
}

// rule says what becomes of the value that is there already.
type rule int

const (
	replaces rule = iota
	larger        // it stays where it is the larger one, both int64
	given         // it stays where the new one is NULL
	missing       // it stays unless it is NULL
	empty         // it stays unless it is ''
)

// insertRun writes the row of a new run.
func (w *writer) insertRun(k runKey, all []setting) error {
	var b strings.Builder
	args := k.args()
	b.WriteString("INSERT INTO runs (cluster, job_id, run")
	for _, s := range once(all) {
		args = append(args, s.value)
		b.WriteString(", ")
		b.WriteString(s.column)
	}
	b.WriteString(") VALUES (?")
	b.WriteString(strings.Repeat(", ?", len(args)-1))
	b.WriteString(")")
	return w.exec(b.String(), args...)
}

// updateRun writes into the row of a run that is there.
func (w *writer) updateRun(k runKey, all []setting) error {
	var b strings.Builder
	var args []any
	b.WriteString("UPDATE runs SET ")
	for i, s := range once(all) {
		if i > 0 {
			b.WriteString(", ")
		}
		args = append(args, s.value)
		b.WriteString(s.column)
		switch c := s.column; s.rule {
		case larger:
			args = append(args, s.value)
			b.WriteString(" = CASE WHEN " + c + " > ? THEN " + c + " ELSE ? END")
		case given:
			b.WriteString(" = COALESCE(?, " + c + ")")
		case missing:
			b.WriteString(" = COALESCE(" + c + ", ?)")
		case empty:
			b.WriteString(" = CASE " + c + " WHEN '' THEN ? ELSE " + c + " END")
		default:
			b.WriteString(" = ?")
		}
	}
	b.WriteString(" WHERE cluster = ? AND job_id = ? AND run = ?")
	return w.exec(b.String(), append(args, k.args()...)...)
}

// once joins settings of one column: what the second makes of the first's value.
func once(all []setting) []setting {
	at := make(map[string]int, len(all))
	out := make([]setting, 0, len(all))
	for _, s := range all {
		i, twice := at[s.column]
		switch {
		case !twice:
			at[s.column] = len(out)
			out = append(out, s)
		case s.takes(out[i].value):
			out[i].value = s.value
		}
	}
	return out
}

// takes tells whether the setting takes the place of a value.
func (s setting) takes(old any) bool {
	switch s.rule {
	case larger:
		return s.value.(int64) > old.(int64)
	case given:
		return s.value != nil
	case missing:
		return old == nil
	case empty:
		return old == ""
	}
	return true
}
