// Package source finds the function, the file and the line of the places at which ranks called MPI. It reads the
// files of the machine on which somebody looks, with the rights of that person. In the flow, package job comes before
// it: its Places hold modules and offsets. After it, cmd/jobeff shows the names through package report.
//
// The paths come from a job, and so may the files: both may be hostile. Only regular files of root or of that person
// are opened, and a file with another build-id is not used. A process of its own, the reader, parses them within
// limits. If it dies, the names that it found until then count, and the other places show why they have none.
package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// Reader is argument 0 of the process that parses. A program that uses Find must call Read if it is started with it.
const Reader = "jobeff-source"

// These bound one look, over all its files. A look at large files ends by mostCPU. mostWait is long, so that
// other work on the machine does not end one.
const (
	mostWait   = 15 * time.Second
	mostBytes  = 512 << 20 // of files
	mostAnswer = 4 << 20
	mostName   = 256 // bytes of a function, a file
)

// question is what Find asks the reader.
type question struct {
	Modules []job.Module
	Frames  [][]frame // of each place, as job.Place.Frames
	Began   time.Time // of the execution
	Users   bool      // root may open users' files
}

type frame struct {
	Module int
	Offset uint64
}

// found is the reader's answer for one frame of a place. The frames of a place come in their order, and end where
// the chain is not sure.
type found struct {
	Place        int
	Symbol, File string
	Line         int
	Why          string
}

// Find fills in the names of a job's places, and of the waits that make its ranks late. It cuts off callers that are
// not sure. With users, root opens users' files, too. Only one execution's places are ever shown, so only these get
// names.
func Find(ctx context.Context, j *job.Job, users bool) {
	told := job.PlacedExecution(j.Executions)
	for i := range j.Executions {
		find(ctx, &j.Executions[i], &j.Executions[i] == told, users)
	}
}

// find is Find for one execution, with or without its places.
func find(ctx context.Context, e *job.Execution, placed, users bool) {
	q := question{Began: e.Start, Users: users}
	var places []*[]job.Frame
	add := func(modules []job.Module, at *[]job.Frame) {
		var frames []frame
		for _, f := range *at {
			frames = append(frames, frame{job.ModuleIn(&q.Modules, modules[f.Module]), f.Offset})
		}
		places, q.Frames = append(places, at), append(q.Frames, frames)
	}
	if placed {
		e.Places.Looked = true
		for i := range e.Places.List {
			add(e.Places.Modules, &e.Places.List[i].Frames)
		}
	}
	if e.Windows != nil && e.Windows.Path != nil {
		p := e.Windows.Path
		p.Looked = true
		for i := range p.Links {
			add(p.Modules, &p.Links[i].Waits.Frames)
			add(p.Modules, &p.Links[i].For.Frames)
		}
	}
	if len(places) > 0 {
		fillIn(places, ask(ctx, &q))
	}
}

// fillIn writes the answer into the frames of places.
func fillIn(places []*[]job.Frame, answer [][]found) {
	for i, frames := range places {
		if len(*frames) == 0 {
			continue
		}
		if len(answer[i]) == 0 {
			*frames = (*frames)[:1]
			(*frames)[0].Why = "its names were not found within the bounds of time and memory: try again"
			continue
		}
		*frames = (*frames)[:min(len(*frames), len(answer[i]))]
		for k := range *frames {
			a, to := answer[i][k], &(*frames)[k]
			to.Symbol, to.File = wire.CleanText(a.Symbol, mostName), wire.CleanText(a.File, mostName)
			to.Line, to.Why = max(a.Line, 0), wire.CleanText(a.Why, mostName)
		}
	}
}

// ask starts a reader. It takes the reader's answers until it ends or its time is over. The reader may hang in
// a file system for ever, so ask does not wait for its end.
func ask(ctx context.Context, q *question) [][]found {
	if os.Args[0] == Reader { // else each reader would start one more
		panic("source: this program's main does not call Read")
	}
	answer := make([][]found, len(q.Frames))
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	text, err := json.Marshal(q)
	if err != nil {
		return answer
	}
	out, in, err := os.Pipe()
	if err != nil {
		return answer
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{Reader}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return len(v) > 2 && v[:2] == "GO" })
	cmd.Stdin, cmd.Stdout = bytes.NewReader(text), in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return answer
	}
	go cmd.Wait()
	if deadline, is := ctx.Deadline(); is && out.SetReadDeadline(deadline) != nil {
		return answer
	}
	for told := json.NewDecoder(io.LimitReader(out, mostAnswer)); ; {
		var f found
		if told.Decode(&f) != nil || f.Place < 0 || f.Place >= len(answer) {
			return answer
		}
		answer[f.Place] = append(answer[f.Place], f)
	}
}

// Read is the main of the reader: it answers a question of Find and returns the exit code.
func Read(in io.Reader, out io.Writer) int {
	var q question
	if err := errors.Join(limit(), json.NewDecoder(in).Decode(&q)); err != nil {
		return 1
	}
	told := json.NewEncoder(out)
	for f := range named(&q, opener{uid: os.Getuid(), users: q.Users, left: mostBytes}) {
		if told.Encode(f) != nil {
			return 1
		}
	}
	return 0
}

// named names all frames: first the call itself of every place, then their callers, one level after the other. So the
// C library, which is a program's first caller and may have large files of names, comes last.
func named(q *question, o opener) iter.Seq[found] {
	modules := make([]*module, len(q.Modules))
	at := func(i int) *module {
		if i < 0 || i >= len(modules) {
			return &module{why: "its file is not known"}
		}
		if modules[i] == nil {
			modules[i] = safely(func() *module { return o.module(q.Modules[i], q.Began) })
		}
		return modules[i]
	}
	return func(yield func(found) bool) {
		chains := slices.Clone(q.Frames)
		for k, deeper := 0, true; deeper; k++ {
			deeper = false
			for i, frames := range chains {
				if k >= len(frames) {
					continue
				}
				f := frames[k]
				if k > 0 && !calls(at(f.Module), f.Offset, at(frames[k-1].Module), frames[k-1].Offset) {
					chains[i] = nil
					continue
				}
				name := at(f.Module).name(f.Offset)
				if name.Place, deeper = i, true; !yield(name) {
					return
				}
			}
		}
	}
}

// safely reads a module, and survives a panic of the parsers over a wrong file.
func safely(read func() *module) (m *module) {
	defer func() {
		if r := recover(); r != nil {
			m = &module{why: fmt.Sprintf("its file cannot be read: %v", r)}
		}
	}()
	return read()
}
