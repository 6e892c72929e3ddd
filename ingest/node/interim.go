package node

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/when"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
)

// An interim report describes a running job, whose ranks go on writing. So the fold ends each rank at
// an edge of its timeline, the same one on all nodes, and takes what the rank noted there under a
// guard. A rank that called MPI after the edge has noted it. Any other rank changes nothing until its
// next call: its open call and its sums show what it did up to the edge. Calls, sections, windows and
// the kernel's counts are of other moments, and wait for the job's end.

// whileRunning says why ranks that run have no figures of threads.
const whileRunning = "what OpenMP's threads do is added up when the program ends"

// FoldLive makes the report of a job that runs, as of the last edges before a moment. Its error is
// record.ErrTorn if ranks changed the record again and again while it was read. If it returns
// neither report nor error, there are no figures yet.
func (d *RunDir) FoldLive(m Machine, moment time.Time) (r *job.NodeReport, err error) {
	for range tornTries {
		r, err = d.fold(m, moment)
		if !errors.Is(err, record.ErrTorn) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil || len(r.Executions) == 0 && (r.Progress == nil || len(r.Progress.Calls) == 0) {
		return nil, err
	}
	return r, nil
}

// tornTries is how often a record that keeps changing is folded.
const tornTries = 4

func (f *folder) isLive() bool { return f.facts != nil && !f.facts.moment.IsZero() }

// cut ends the running ranks of a world at the last edge before the moment; false: they began after
// it.
func (f *folder) cut(running []*process) (any bool) {
	shift := 0
	for _, p := range running {
		if line := p.slot.Timeline; line != nil {
			shift = max(shift, line.Shift)
		}
	}
	if f.facts.live != nil {
		return f.upToNow(running)
	}
	first := running[0]
	now := f.clocks.now[record.ClockMonotonic]
	moment := now.Mono - uint64(max(int64(now.Real)-f.facts.moment.UnixNano(), 0))
	number := job.BucketOf(first.realNs(moment), shift)
	for _, p := range running {
		at, mpi, files, noted := p.edge(number, shift)
		at = min(at, f.now) // the ranks of a record need not agree on the time
		switch {
		case at <= p.start:
			mpi, files = 0, 0
		case !noted:
			mpi, files = p.sinceLast(at)
			f.torn = f.torn || !p.slot.Still
		}
		p.live = true
		p.endAt(at, job.EndingRunning, false)
		p.spend(mpi, files)
		p.slot.Kernel, p.slot.Counted = record.Kernel{}, false
		any = any || p.elapsed > 0
	}
	if any {
		f.asOf = when.Last(f.asOf, time.Unix(0, job.BucketBegin(number, shift)).UTC())
	}
	return any
}

// RunningJobs are the ids of a node's jobs that have a run directory: one of each user, in any order,
// then a second one of each, and so on. There may not be enough time for all of them. So a user's
// slow records delay nobody else's, and the order is random, so that not always the same jobs wait.
func RunningJobs(runDir string) []string {
	ids := jobsIn(runDir)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	jobs, before := map[uint32]int{}, map[string]int{}
	for _, id := range ids {
		var st unix.Stat_t
		unix.Lstat(filepath.Join(runDir, id, recordName), &st)
		before[id] = jobs[st.Uid]
		jobs[st.Uid]++
	}
	slices.SortStableFunc(ids, func(a, b string) int { return before[a] - before[b] })
	return ids
}

// What the fold of a job that runs may take. An honest record of 128 ranks takes 2 ms.
const (
	foldSeconds = 5 // of CPU
	foldMemory  = 256 << 20
)

// FoldRunning opens, as root, the run directory of a job that runs, becomes nobody for good, and
// writes its interim report as JSON; nothing if there is none. The process is for this job only: what its user
// wrote may end it, and it holds no other job's record open.
func FoldRunning(runDir, id string, moment time.Time, to io.Writer) error {
	d, err := OpenDir(filepath.Join(runDir, id))
	if err != nil || d.rank == nil {
		return nil
	}
	runtime.GOMAXPROCS(1) // the other CPUs are for the jobs, and each thread's stack counts as memory
	debug.SetMemoryLimit(foldMemory / 2)
	for what, most := range map[int]uint64{unix.RLIMIT_CPU: foldSeconds, unix.RLIMIT_DATA: foldMemory} {
		unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}) // it fails where the site allows less
	}
	See(ThisHost, d)
	if err := BecomeNobody(); err != nil {
		return err
	}
	r, err := d.FoldLive(ThisMachine(), moment)
	d.Close() // the job may end
	if err != nil || r == nil {
		return err
	}
	return json.NewEncoder(to).Encode(r)
}

// KeepInterim writes an interim report that FoldRunning made to the outbox. It does so only if the job
// still runs, and if root's own notes agree with the report: it was folded without root's rights, from
// a user's bytes. every is how often the node makes such reports.
func (o Outbox) KeepInterim(runDir string, every time.Duration, r *job.NodeReport) error {
	d, err := OpenDir(filepath.Join(runDir, strconv.FormatUint(uint64(r.JobID), 10)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	own := new(job.NodeReport)
	whole := readJob(d.job, own).whole
	if own.Cluster == "" { // no prolog ran; the epilog learns the rest
		return nil
	}
	if own.Nonce != r.Nonce { // it was requeued meanwhile
		return nil
	}
	if !whole || own.JobID != r.JobID || own.UID != r.UID || r.AsOf.IsZero() || r.Sequence >= job.FinalSequence {
		return fmt.Errorf("ingest: an interim report of job %d is not of that job", r.JobID)
	}
	r.Cluster, r.Node, r.User, r.Account, r.NodeList = own.Cluster, own.Node, own.User, own.Account, own.NodeList
	if r.Progress != nil {
		r.Progress.Every = every
	}
	if err := wire.Validate(r); err != nil {
		return fmt.Errorf("%w: job %d: %w", ErrNoReport, r.JobID, err)
	}
	e, err := outboxEntryOf(r, false)
	if err != nil {
		return err
	}
	e.name = e.name[:len(e.name)-len(PackedExt)] + interimExt + PackedExt
	if used, more := o.usage(ownerOf(e.name)), onDisk(int64(len(e.body))); o.Most > 0 && (used.all+more > o.Most/2 || used.own+more > o.Most/4) {
		return ErrOutboxFull // final reports have the rest
	}
	_, err = e.write(o.Spool)
	return err
}

// interimExt distinguishes an interim report from the final one: the outbox may hold both.
const interimExt = ".interim"

// nobody is the uid that a fold takes before it reads a user's bytes. The number is the kernel's own
// for "no user", whatever the site calls it.
const nobody = 65534

// BecomeNobody gives up root for good, in all threads, as glibc's setuid does.
func BecomeNobody() error {
	err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(nobody, nobody, nobody), syscall.Setresuid(nobody, nobody, nobody))
	if err != nil {
		return fmt.Errorf("ingest: the fold cannot give up root: %w", err)
	}
	if syscall.Setuid(0) == nil {
		return errors.New("ingest: the fold could become root again")
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
