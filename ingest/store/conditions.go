package store

import "strings"

// conditions are the conditions of a WHERE that all must hold, with their arguments.
type conditions struct {
	where []string
	args  []any
}

func (c *conditions) add(condition string, args ...any) {
	c.where, c.args = append(c.where, condition), append(c.args, args...)
}

// in requires that a column has one of the values.
func in[T any](c *conditions, column string, values []T) {
	for _, v := range values {
		c.args = append(c.args, v)
	}
	c.where = append(c.where, column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")")
}

// canBe selects jobs whose figures can be. Others, which an earlier jobeff stored, count nowhere
// (see job.Tolerance).
const canBe = `parallel_efficiency BETWEEN 0 AND 1.000001`
