package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"

	"jobeff/ingest/listing"
)

// cursor is a place in a list: behind what was listed last. Unlike an offset it stays where it is while
// jobs arrive. Clients get it as a word. A made-up word only leads to another place in a list that its
// client may see anyway.
type cursor struct {
	List    string   `json:"l"`           // sum of its filters
	Value   *float64 `json:"v,omitempty"` // what a list of jobs is sorted by before their start; nil: not known
	Start   *int64   `json:"s,omitempty"` // us, of a job or of a workload's newest run; nil: not known
	Cluster string   `json:"c,omitempty"`
	JobID   uint32   `json:"j,omitempty"`
	Attempt int64    `json:"a,omitempty"`
	Key     string   `json:"k,omitempty"` // of a workload; the name of jobs without a program
	UID     uint32   `json:"u,omitempty"` // of the user of these
}

// word is what clients get.
func (c *cursor) word() string {
	text, _ := json.Marshal(c) // cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// readCursor reads the word of a query, nil if there is none. It must be of a list with the same filters.
func readCursor(word string, query url.Values) (c cursor, at *cursor, err error) {
	for _, other := range []string{"after", "limit", "offset", "detail", "stored"} {
		query.Del(other)
	}
	sum := fnv.New64a()
	io.WriteString(sum, query.Encode())
	c.List = fmt.Sprintf("%x", sum.Sum64())
	if word == "" {
		return c, nil, nil
	}
	at = new(cursor)
	text, err := base64.RawURLEncoding.DecodeString(word)
	if err == nil {
		err = json.Unmarshal(text, at)
	}
	if err != nil || at.List != c.List {
		return c, nil, &SelectionError{errors.New("after is no place in this list: take it from the answer before, with the same filters")}
	}
	return c, at, nil
}

// sortedBy takes the order of a list apart: the value before newestFirst, "" if there is none, and how one
// that comes later compares with it.
func sortedBy(order string) (value, later string) {
	value = strings.TrimSuffix(strings.TrimSuffix(order, newestFirst), " NULLS LAST, ")
	value, most := strings.CutSuffix(value, " DESC")
	if most {
		return value, "<"
	}
	return value, ">"
}

// mostLooked bounds the jobs that a list looks through at once for those that it selects. Then it
// answers what it has found, and where to go on. Tests look at fewer.
var mostLooked = 25_000

// lookedUntil is the place at which a list of the newest jobs stops looking for now; nil: it looks to
// its end. That is not far then, or the list selects all that it looks at.
func (s *Store) lookedUntil(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32, at *cursor) (*cursor, error) {
	span := listing.JobQuery{Start: q.Start, End: q.End, User: q.User}
	if selectedBy(q) == span && (v.All && v.cluster() == "" || v.onlyOwn()) || q.Jobs != "" || q.Offset > 0 || at != nil && at.Start == nil {
		return nil, nil
	}
	from, to := spanOf(q)
	if at != nil {
		to = min(to, *at.Start+1)
	}
	c := conditions{[]string{"r.start_us >= ? AND r.start_us < ?"}, []any{max(from, 0), to}} // the index has all it asks for
	switch {
	case len(uids) == 1:
		c.add("r.uid = ?", uids[0])
	case v.onlyOwn():
		c.add("r.uid = ?", v.UID)
	}
	var start int64
	query := "SELECT r.start_us FROM attempts r WHERE " + strings.Join(c.where, " AND ") + " ORDER BY r.start_us DESC LIMIT 1 OFFSET ?"
	err := s.read.QueryRowContext(ctx, query, append(slices.Clone(c.args), mostLooked)...).Scan(&start)
	if err == nil && at != nil && start == *at.Start { // more jobs began at that moment: it looks at all of them
		c.args[1] = start
		err = s.read.QueryRowContext(ctx, query, append(c.args, 0)...).Scan(&start)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &cursor{Start: &start, JobID: math.MaxUint32, Attempt: math.MaxInt64}, err // before all that began then
}

// behind requires jobs that come after the cursor in an order.
func (c *cursor) behind(all *conditions, order string) {
	where, args := "(r.cluster > ? OR r.cluster = ? AND (r.job_id < ? OR r.job_id = ? AND r.attempt < ?))",
		[]any{c.Cluster, c.Cluster, c.JobID, c.JobID, c.Attempt}
	where, args = past("r.start_us", "< ?", c.Start, where, args)
	if value, later := sortedBy(order); value != "" {
		where, args = past(value, later+" CAST(? AS DOUBLE PRECISION)", c.Value, where, args)
	}
	all.add(where, args...)
}

// past selects the rows with a later value in a column, or NULL, and of those with the same value the
// ones that tie selects.
func past[T any](column, later string, value *T, tie string, args []any) (string, []any) {
	if value == nil {
		return "(" + column + " IS NULL AND " + tie + ")", args
	}
	return fmt.Sprintf("(%[1]s %[2]s OR %[1]s IS NULL OR %[1]s = %[3]s AND %[4]s)", column, later, later[2:], tie), append([]any{*value, *value}, args...)
}

// newer compares two places in the order newestFirst.
func newer(a, b *cursor) int {
	return cmp.Or(cmp.Compare(started(b), started(a)), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(b.JobID, a.JobID), cmp.Compare(b.Attempt, a.Attempt))
}

// started is a cursor's start, us; what is not known comes last.
func started(c *cursor) int64 {
	if c.Start == nil {
		return math.MinInt64
	}
	return *c.Start
}
