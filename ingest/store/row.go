package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// column is one column of a table, with the field of T that it holds. A T is a row.
type column[T any] struct {
	name  string
	field func(*T) any // points to the field
}

// table is a table of rows of one kind.
type table[T any] struct {
	columns []column[T]
	into    string // its name and columns, for insertRows
}

func newTable[T any](name string, columns []column[T]) *table[T] {
	return &table[T]{columns, name + " (" + names(columns) + ")"}
}

// columnsOf are the columns of the rows T: its fields with a tag `db:"NAME"`. A struct that is embedded, or that has
// the tag, stands for its own columns, with NAME before each, and with the name that `renamed:"FROM TO"` changes.
// `known:"FIELD"` names another field: unless that one is true, the numbers are NULL.
func columnsOf[T any]() (all []column[T]) {
	for _, f := range taggedFields(reflect.TypeFor[T]()) {
		all = append(all, column[T]{f.name, func(row *T) any {
			v := reflect.ValueOf(row).Elem()
			if f.known == nil {
				return pointTo(v.FieldByIndex(f.index))
			}
			return unknown{pointTo(v.FieldByIndex(f.index)), pointTo(v.FieldByIndex(f.known)).(*bool)}
		}})
	}
	return all
}

// pointTo points to a field, also to one that is not exported.
func pointTo(field reflect.Value) any {
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Interface()
}

// taggedField is a field that has a column, with its index in the row as reflect counts.
type taggedField struct {
	name         string
	index, known []int
	number       bool
}

func taggedFields(t reflect.Type) (all []taggedField) {
	for f := range t.Fields() {
		name, tagged := f.Tag.Lookup("db")
		if !tagged && !f.Anonymous {
			continue
		}
		of := f.Type
		if f.Anonymous && of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		columns := []taggedField{{number: of.Kind() != reflect.String && of.Kind() != reflect.Bool}}
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[time.Time]() {
			columns = taggedFields(of)
		}
		flag, _ := t.FieldByName(f.Tag.Get("known"))
		from, to, _ := strings.Cut(f.Tag.Get("renamed"), " ")
		for _, c := range columns {
			c.name, c.index = name+c.name, slices.Concat(f.Index, c.index)
			if c.name == from {
				c.name = to
			}
			if c.number {
				c.known = flag.Index
			}
			all = append(all, c)
		}
	}
	return all
}

// only are the columns of these names; except are the others.
func only[T any](columns []column[T], names ...string) []column[T] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[T]) bool { return !slices.Contains(names, c.name) })
}

func except[T any](columns []column[T], names ...string) []column[T] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[T]) bool { return slices.Contains(names, c.name) })
}

// names lists the columns.
func names[T any](columns []column[T]) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.name
	}
	return strings.Join(all, ", ")
}

// of puts the alias of a table in front of the names of its columns.
func of[T any](alias string, columns []column[T]) []column[T] {
	all := slices.Clone(columns)
	for i := range all {
		all[i].name = alias + "." + all[i].name
	}
	return all
}

// appendValues appends the values that a row writes into the columns.
func appendValues[T any](values []any, columns []column[T], row *T) []any {
	for _, c := range columns {
		values = append(values, sqlValue(c.field(row)))
	}
	return values
}

// unknown is a field of a part that may be unknown as a whole. Its columns are then NULL.
type unknown struct {
	field any
	known *bool
}

// sqlValue is what a field writes into its column: a time in microseconds (NULL for the
// zero time), a bool as 0 or 1.
func sqlValue(field any) any {
	switch f := field.(type) {
	case unknown:
		if *f.known {
			return sqlValue(f.field)
		}
		return nil
	case *string:
		return *f
	case *[]byte:
		return *f
	case *int:
		return int64(*f)
	case *int64:
		return *f
	case *uint32:
		return int64(*f)
	case *uint64:
		return bigint(*f)
	case *float64:
		return *f
	case *bool:
		return int64(bit(*f))
	case *time.Time:
		return micro(*f)
	case *time.Duration:
		return int64(*f)
	case **uint32:
		return optional(*f)
	case *job.CoreTime:
		return int64(*f)
	case **job.CoreTime:
		return optional(*f)
	}
	panic(fmt.Sprintf("store: a column cannot hold a %T", field))
}

// reader reads the rows of a query that selects these columns. One reader serves all rows.
type reader[T any] struct {
	row  T
	into []any
}

func newReader[T any](columns []column[T]) *reader[T] {
	r := new(reader[T])
	r.into = cells(columns, &r.row)
	return r
}

// cells are what the columns are scanned into.
func cells[T any](columns []column[T], row *T) (all []any) {
	for _, c := range columns {
		all = append(all, cell{c.field(row)})
	}
	return all
}

// read returns the next row. NULL becomes the zero value.
func (r *reader[T]) read(rows *sql.Rows) (*T, error) {
	row := new(T)
	r.row = *row // the pointers into it stay valid
	err := rows.Scan(r.into...)
	*row = r.row
	return row, err
}

// cell reads what sqlValue wrote.
type cell struct{ field any }

// Scan implements sql.Scanner.
func (c cell) Scan(v any) error {
	switch f := c.field.(type) {
	case unknown:
		*f.known = *f.known || v != nil
		return cell{f.field}.Scan(v)
	case *string:
		return scan(f, v)
	case *[]byte:
		b, _ := v.([]byte)
		*f = bytes.Clone(b) // the driver reuses its bytes
		return nil
	case *float64:
		return scan(f, v)
	}
	n := sql.NullInt64{Valid: v != nil}
	if err := scan(&n.Int64, v); err != nil {
		return err
	}
	switch f := c.field.(type) {
	case *time.Time:
		*f = fromMicro(n)
	case **uint32:
		*f = pointer(n)
	case *int:
		*f = int(n.Int64)
	case *int64:
		*f = n.Int64
	case *uint32:
		*f = uint32(n.Int64)
	case *bool:
		*f = n.Int64 != 0
	default:
		return fmt.Errorf("store: no column is read into a %T", c.field)
	}
	return nil
}

// scan sets a field unless the column is NULL.
func scan[T any](field *T, v any) error {
	if v == nil {
		return nil
	}
	if known, is := v.(T); is { // nearly always; the rest is slow
		*field = known
		return nil
	}
	var n sql.Null[T]
	err := n.Scan(v)
	*field = n.V
	return err
}

// micro is a time as an _us column holds it; the zero time is NULL.
func micro(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// fromMicro reads an _us column.
func fromMicro(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return time.UnixMicro(us.Int64).UTC()
}

// optional is the number that a pointer points to, or NULL.
func optional[T uint32 | job.CoreTime](n *T) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}

func pointer(n sql.NullInt64) *uint32 {
	if !n.Valid {
		return nil
	}
	v := uint32(n.Int64)
	return &v
}

// bit is a bool as a BIGINT holds it.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bigint is a count as SQL holds it: at most its largest number.
func bigint(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// clean makes sacct's text harmless.
func clean(s string) string { return wire.CleanText(s, 1024) }

// row is a row of a table by its columns: int64, float64, string, []byte or nil.
type row map[string]any

// tablesOfAttempt hold the rows of an attempt besides that in attempts.
var tablesOfAttempt = []string{"reports", "executions", "workload_runs", "node_times"}

// computed are the columns that the database computes.
var computed = map[string]bool{"attempts.start_us": true, "attempts.end_us": true}

// ofAttempt selects a table's rows of one attempt. Windows belong to one through their report.
func ofAttempt(table string) string {
	if table == "windows" {
		return `SELECT w.* FROM reports r JOIN windows w ON w.cluster = r.cluster AND w.job_id = r.job_id AND w.node = r.node AND w.nonce = r.nonce
			WHERE r.cluster = ? AND r.job_id = ? AND r.attempt = ?`
	}
	return "SELECT * FROM " + table + " WHERE cluster = ? AND job_id = ? AND attempt = ?"
}

// eachOf reads the rows that a query answered.
func eachOf(rows *sql.Rows, err error, do func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// onlyColumn reads all rows of a query for one column.
func onlyColumn[T any](rows *sql.Rows, err error) (all []T, e error) {
	e = eachOf(rows, err, func(rows *sql.Rows) error {
		var one T
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	})
	return all, e
}

// readRows reads all rows of a query.
func readRows(rows *sql.Rows, err error) (all []row, e error) {
	e = eachOf(rows, err, func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		r := row{}
		err = rows.Scan(into...)
		for i, c := range columns {
			r[c] = values[i]
		}
		all = append(all, r)
		return err
	})
	return all, e
}

// places are the ? of n arguments.
func places(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// insert writes a row, unless its key exists.
func (w *writer) insert(table string, r row) error {
	var columns []string
	var args []any
	for _, c := range slices.Sorted(maps.Keys(r)) {
		if !computed[table+"."+c] {
			columns, args = append(columns, c), append(args, r[c])
		}
	}
	return w.exec("INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+") ON CONFLICT DO NOTHING", args...)
}

// forget deletes a table's rows of one attempt.
func (w *writer) forget(table string, k attemptKey) error {
	return w.exec("DELETE FROM "+table+" WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
}

// rowsAtOnce bounds the rows of one statement.
const rowsAtOnce = 64

// insertRows writes rows into a table's columns; existing rows stay. args holds the rows'
// values, one row after another. Each statement takes a power of two of them, so that there
// are few statements, and few kinds of them to prepare.
func (w *writer) insertRows(columns string, args []any) error {
	width := strings.Count(columns, ",") + 1
	row := "(?" + strings.Repeat(", ?", width-1) + ")"
	for rows := len(args) / width; rows > 0; rows = len(args) / width {
		n := 1 << (bits.Len(uint(min(rows, rowsAtOnce))) - 1)
		err := w.exec("INSERT INTO "+columns+" VALUES "+row+strings.Repeat(", "+row, n-1)+" ON CONFLICT DO NOTHING", args[:n*width]...)
		if err != nil {
			return err
		}
		args = args[n*width:]
	}
	return nil
}

// oneOf is the list behind an IN, with its arguments. It repeats the last value up to a power
// of two, so that there are few kinds of statements.
func oneOf(all []string) (list string, args []any) {
	n := 1 << bits.Len(uint(len(all)-1))
	for i := range n {
		args = append(args, all[min(i, len(all)-1)])
	}
	return "(?" + strings.Repeat(", ?", n-1) + ")", args
}

// pack is the form of the BLOB columns: JSON, compressed.
func pack(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return wire.Compress(text), nil
}

// unpack reads what pack wrote.
func unpack(blob []byte, v any) error {
	text, err := wire.Decompress(blob)
	if err != nil {
		return fmt.Errorf("store: a packed column is damaged: %v", err) // an io.EOF would be taken for the connection's
	}
	return wire.UnmarshalFast(text, v)
}

// unpackReport decodes a report as it came.
func unpackReport(blob []byte) (*job.NodeReport, error) { return decodeReport(blob, wire.DecodeReport) }

// unpackHead is unpackReport without the report's lists, which may be large.
func unpackHead(blob []byte) (*job.NodeReport, error) { return decodeReport(blob, wire.DecodeHead) }

func decodeReport(blob []byte, decode func([]byte) (*job.NodeReport, error)) (*job.NodeReport, error) {
	text, err := wire.DecompressReport(nil, blob)
	if err != nil {
		return nil, fmt.Errorf("store: a report is damaged: %v", err) // as in unpack
	}
	return decode(text)
}
