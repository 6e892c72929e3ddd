package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/view"
	"jobeff/report/words"
)

// watch keeps what each node of a job said last. All nodes speak at the same moments. A silent one is waited for
// a while, and then named.
type watch struct {
	of     *job.Job // as Slurm knows it
	pieces node.LivePieces
	said   map[int]*said // by task
	graced bool          // some have said something new, and others are waited for
}

// said is what one node said.
type said struct {
	node        string
	at          time.Time
	fresh       bool // it was not shown yet
	why         string
	soFar, last *job.NodeReport // nil: none
	cpu, before time.Duration   // CPU time that reading took: so far, and up to the last showing
}

func newWatch(j *job.Job) *watch {
	return &watch{of: j, pieces: node.LivePieces{}, said: map[int]*said{}}
}

// add takes a line of srun. any reports that it completed a node's line, whole that all nodes have said
// something new.
func (w *watch) add(text []byte, now time.Time) (any, whole bool) {
	task, line, err := w.pieces.Add(text, w.of.Nodes)
	if err != nil || line == nil {
		return false, false
	}
	s := w.said[task]
	if s == nil {
		s = new(said)
		w.said[task] = s
	}
	s.at, s.fresh, s.why, s.last, s.node = now, true, wire.CleanText(line.Why, 200), nil, wire.CleanText(line.Node, 200)
	s.cpu = max(line.CPU, s.cpu)
	if r := reportOf(line.SoFar, w.of); r != nil {
		s.soFar, s.last = r, reportOf(line.Last, w.of)
	}
	return true, len(w.said) == w.of.Nodes && !w.waits()
}

// reportOf reads a report of a job as jobeffd reads one; nil: it is none.
func reportOf(text []byte, j *job.Job) *job.NodeReport {
	if len(text) == 0 {
		return nil
	}
	r, err := wire.DecodeReport(text)
	if err != nil || r.JobID != j.JobID {
		return nil
	}
	return r
}

// waits reports whether a node that spoke before has said nothing new.
func (w *watch) waits() bool {
	for _, s := range w.said {
		if !s.fresh {
			return true
		}
	}
	return false
}

// show returns what is known now, and marks it as shown.
func (w *watch) show(now time.Time) words.Watched {
	var soFar, last assemble.Merger
	v := words.Watched{}
	var none []string
	for _, task := range w.tasks() {
		s := w.said[task]
		if s.soFar != nil {
			soFar.Add(s.soFar)
		}
		if s.fresh && s.last != nil {
			last.Add(s.last)
			v.Span = max(v.Span, s.last.AsOf.Sub(s.last.Start))
		}
		switch {
		case !s.fresh:
			v.Quiet = append(v.Quiet, fmt.Sprintf("%s has not answered since %s.", s.node, figure.Beside(s.at, now)))
		case s.why != "":
			none = append(none, fmt.Sprintf("%s: %s.", s.node, s.why))
		}
		v.CPU += s.cpu - s.before
		s.fresh, s.before = false, s.cpu
	}
	if missing := w.of.Nodes - len(w.said); missing > 0 {
		v.Quiet = append(v.Quiet, fmt.Sprintf("%s of %s have not answered.", figure.Count(missing), figure.Counted(w.of.Nodes, "node")))
	}
	v.Quiet = append(v.Quiet, none[:min(len(none), mostQuiet)]...)
	v.SoFar, v.Last = w.identified(soFar.Job(), now), last.Job()
	return v
}

// mostQuiet bounds the nodes whose reason for having no report is shown.
const mostQuiet = 5

func (w *watch) tasks() (all []int) {
	for task := range w.said {
		all = append(all, task)
	}
	slices.Sort(all)
	return all
}

// identified fills in what Slurm knows of a merged job.
func (w *watch) identified(j *job.Job, now time.Time) *job.Job {
	of := w.of
	j.DisplayID, j.JobID, j.State, j.UID, j.User, j.Account = of.DisplayID, of.JobID, of.State, of.UID, of.User, of.Account
	j.Partition, j.QOS, j.Name, j.Nodes, j.CPUs, j.Start, j.End = of.Partition, of.QOS, of.Name, of.Nodes, of.CPUs, of.Start, time.Time{}
	if j.AsOf.IsZero() {
		j.AsOf = now.UTC()
	}
	if j.Elapsed = 0; !j.Start.IsZero() {
		j.Elapsed = max(j.AsOf.Sub(j.Start), 0)
	}
	if len(j.Executions) == 0 {
		j.NoData = doubt.Warning{Code: doubt.WhyNoMPI}
	}
	return j
}

// errDone ends a watch with --once.
var errDone = errors.New("it was shown")

// screen is where a watched job is shown.
type screen struct {
	program *program
	flags   liveFlags
	shown   bool
}

// follow shows a job each time all of its nodes have said something new. If some are silent, it shows the others
// after a while. It returns nil when the lines end, or the reason why nothing more comes.
func (s *screen) follow(ctx context.Context, w *watch, lines <-chan []byte) error {
	start := time.NewTimer(startPatience)
	defer start.Stop()
	grace := time.NewTimer(time.Hour)
	grace.Stop()
	for {
		show := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-start.C:
			return errors.New("its nodes do not answer")
		case text, more := <-lines:
			if !more {
				return nil
			}
			any, whole := w.add(text, time.Now())
			if any && !whole && !w.graced {
				grace.Reset(min(s.flags.every/2, mostGrace))
				w.graced = true
			}
			show = whole
		case <-grace.C:
			show = true
		}
		if !show {
			continue
		}
		start.Stop()
		grace.Stop()
		w.graced = false
		if err := s.draw(w.show(time.Now())); err != nil {
			return err
		}
		if s.flags.once {
			return errDone
		}
	}
}

// mostGrace bounds the wait for silent nodes after another one has spoken.
const mostGrace = 5 * time.Second

// draw shows a job: anew on a terminal, else below what was shown before.
func (s *screen) draw(of words.Watched) error {
	p := s.program
	opts := p.options()
	v := view.NewLive(of, opts.Unicode)
	again := s.shown
	s.shown = true
	if s.flags.json {
		return view.Write(p.stdout, v)
	}
	var page bytes.Buffer
	if err := report.TextOfLive(&page, v, opts); err != nil {
		return err
	}
	text := page.Bytes()
	f, terminal := p.stdout.(*os.File)
	switch {
	case s.flags.once:
	case terminal && opts.Width > 0 && !opts.Plain && p.getenv("TERM") != "dumb":
		_, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			rows = 24
		}
		text = append([]byte("\x1b[H\x1b[J"), firstLines(text, rows-1)...)
	case again:
		text = append([]byte("\n"), text...)
	}
	_, err := p.stdout.Write(text)
	return err
}

// firstLines are at most n lines.
func firstLines(text []byte, n int) []byte {
	end := 0
	for range max(n, 1) {
		i := bytes.IndexByte(text[end:], '\n')
		if i < 0 {
			return text
		}
		end += i + 1
	}
	return text[:end]
}
