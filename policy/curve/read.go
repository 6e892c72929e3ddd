package curve

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"jobeff/report/figure"
)

const (
	// longestFile and mostRuns bound what a curve's file may hold.
	longestFile = 16 << 20
	mostRuns    = 100_000
	// MostCores is more than any machine has.
	MostCores = 1 << 30
)

// LineError says what is wrong with a line of a curve's file.
type LineError struct {
	Line int
	Text string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

func lineErrorf(line int, format string, args ...any) error {
	return &LineError{line, fmt.Sprintf(format, args...)}
}

// columns are the positions of a file's columns; tau is -1 if the file has none.
type columns struct{ n, t, tau int }

// Read reads runs from a table with the columns n (cores), t_n (seconds) and optionally tau_n (seconds, empty
// if not known). They may stand in any order and among others, separated by commas. # starts a comment line.
// Several lines may have one n.
func Read(r io.Reader) ([]Point, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > longestFile {
		return nil, fmt.Errorf("more than %d MiB: a curve's file holds one line per run", longestFile>>20)
	}
	table := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	table.Comment, table.FieldsPerRecord, table.TrimLeadingSpace, table.ReuseRecord = '#', -1, true, true
	var at *columns
	var points []Point
	for {
		row, err := table.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, syntaxError(err)
		}
		line, _ := table.FieldPos(0)
		if at == nil {
			if at, err = header(line, row); err != nil {
				return nil, err
			}
			continue
		}
		p, err := point(line, row, *at)
		if err != nil {
			return nil, err
		}
		if points = append(points, p); len(points) > mostRuns {
			return nil, lineErrorf(line, "more than %d runs", mostRuns)
		}
	}
	switch {
	case at == nil:
		return nil, errors.New("empty: the first line names the columns: n,t_n or n,t_n,tau_n")
	case len(points) == 0:
		return nil, errors.New("no runs below the line that names the columns")
	}
	return points, nil
}

func syntaxError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return lineErrorf(parse.Line, "%v", parse.Err)
	}
	return err
}

// header finds the columns in the first line.
func header(line int, row []string) (*columns, error) {
	at := columns{-1, -1, -1}
	for i, name := range row {
		var to *int
		switch strings.TrimSpace(name) {
		case "n":
			to = &at.n
		case "t_n":
			to = &at.t
		case "tau_n":
			to = &at.tau
		default:
			continue
		}
		if *to >= 0 {
			return nil, lineErrorf(line, "the column %s stands there twice", strings.TrimSpace(name))
		}
		*to = i
	}
	for name, i := range map[string]int{"n": at.n, "t_n": at.t} {
		if i < 0 {
			return nil, lineErrorf(line, "no column %s: the first line names the columns, n (cores), t_n (seconds) and perhaps tau_n", name)
		}
	}
	return &at, nil
}

// point reads one run.
func point(line int, row []string, at columns) (Point, error) {
	field := func(i int) (string, bool) {
		if i < 0 || i >= len(row) {
			return "", false
		}
		return strings.TrimSpace(row[i]), true
	}
	var p Point
	cores, ok := field(at.n)
	seconds, also := field(at.t)
	if !ok || !also {
		return p, lineErrorf(line, "%s where the first line names more columns", figure.Counted(len(row), "column"))
	}
	if cores == "n" && seconds == "t_n" {
		return p, lineErrorf(line, "the names of the columns stand there again")
	}
	n, err := number(line, "n", cores)
	if err == nil && (n < 1 || n > MostCores || n != math.Trunc(n)) {
		err = lineErrorf(line, "n is %s, but cores are counted in whole numbers from 1", short(cores))
	}
	if err != nil {
		return p, err
	}
	p.N = int(n)
	if p.T, err = number(line, "t_n", seconds); err == nil && p.T <= 0 {
		err = lineErrorf(line, "t_n is %s, but a run time is a positive number of seconds", short(seconds))
	}
	if err != nil {
		return p, err
	}
	if overhead, ok := field(at.tau); ok && overhead != "" {
		p.Tau, err = readTau(line, overhead, p.T)
	}
	return p, err
}

func readTau(line int, text string, t float64) (*float64, error) {
	tau, err := number(line, "tau_n", text)
	switch {
	case err != nil:
		return nil, err
	case tau < 0:
		return nil, lineErrorf(line, "tau_n is %s, but an overhead is not negative (leave it empty where it is not known)", short(text))
	case tau > t:
		return nil, lineErrorf(line, "tau_n is %s, longer than the run of %s that it is a part of", short(text), figure.Seconds(t))
	}
	return &tau, nil
}

// number reads a finite number whose square is finite, too.
func number(line int, column, text string) (float64, error) {
	if text == "" {
		return 0, lineErrorf(line, "%s is empty", column)
	}
	v, err := strconv.ParseFloat(text, 64)
	if math.IsNaN(v) || math.IsInf(v, 0) || err != nil {
		return 0, lineErrorf(line, "%s is %s, not a number", column, short(text))
	}
	if v != 0 && (math.Abs(v) > 1e100 || math.Abs(v) < 1e-100) {
		return 0, lineErrorf(line, "%s is %s, out of any range", column, short(text))
	}
	return v, nil
}

// short quotes a text of the file.
func short(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "..."
	}
	return strconv.QuoteToASCII(text)
}
