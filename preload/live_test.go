package preload

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"jobeff/preload/record"
)

// leastReads is how many live reads TestLiveReads makes, of leastRanks; JOBEFF_LIVE_READS asks for more.
const leastReads, leastRanks = 10_000, 40

// TestLiveReads: a rank only calls MPI while its record is read, again and again. Its clock goes on at each
// reading, so half of any time is MPI's, an edge comes every few calls, and every other one is dropped again and
// again. No reading mixes two moments: edges have the times that their numbers say, and their sums are
// those of then.
func TestLiveReads(t *testing.T) {
	program := compile(t, mpich.cc, "manycalls.c") // its singletons start fast
	clock := compile(t, "gcc", "stepclock.c", "-shared", "-fPIC")
	reads, torn, edges, ranks := 0, 0, 0, 0
	least := leastReads
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_LIVE_READS")); err == nil {
		least = n
	}
	for ; (reads < least || ranks < leastRanks) && !t.Failed(); ranks++ {
		file := newRecord(t)
		cmd := exec.Command(program, "50000")
		cmd.Env = append(plainEnvironment(), "LD_PRELOAD="+clocked+":"+clock, "JOBEFF_RECORD="+file)
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for running := true; running; {
			select {
			case err := <-ended:
				must(t, err)
				running = false
			default:
			}
			f, err := os.Open(file)
			if err != nil { // it has not begun
				continue
			}
			rec, err := record.Read(inPieces{f}, 1<<30, record.Options{Live: true})
			if err != nil {
				f.Close()
				continue
			}
			err = rec.Each(func(s *record.Slot) error {
				reads++
				if s.Timeline != nil {
					edges += len(s.Timeline.Edges)
				}
				checkLive(t, s)
				return nil
			})
			if errors.Is(err, record.ErrTorn) {
				torn++
			} else {
				must(t, err)
			}
			f.Close()
		}
	}
	t.Logf("%d reads, of %d edges; %d were torn again and again", reads, edges, torn)
	if edges < reads { // else nothing was tried
		t.Errorf("%d edges in %d reads", edges, reads)
	}
}

// inPieces reads so slowly that edges come meanwhile.
type inPieces struct{ f *os.File }

func (p inPieces) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		piece := 512
		if n > 20<<10 { // the timeline is among the last fields of a slot
			piece = 32
		}
		more, err = p.f.ReadAt(b[n:min(n+piece, len(b))], at+int64(n))
		n += more
	}
	return n, err
}

// checkLive holds a rank's reading against what its program does.
func checkLive(t *testing.T, s *record.Slot) {
	t.Helper()
	var sum uint64
	for _, f := range s.Funcs {
		sum += f.Ticks
	}
	if s.Still && sum != s.MPITicks {
		t.Errorf("%d ticks in calls, %d in MPI", sum, s.MPITicks)
	}
	if s.Timeline == nil {
		return
	}
	bucket := int64(time.Second) / 64 << s.Timeline.Shift
	for i, e := range s.Timeline.Edges {
		real := int64(e.At) - int64(s.ClaimedAt.Ticks) + int64(s.ClaimedAt.Real)
		if want := (s.Timeline.First + int64(i)) * bucket; real != want {
			t.Fatalf("edge %d of %d, shift %d: at %d, want %d", i, len(s.Timeline.Edges), s.Timeline.Shift, real, want)
		}
		at := float64(e.At - s.InitLeft)
		if off := float64(e.MPI) - at/2; off > at/100+50e6 || off < -at/100-50e6 {
			t.Fatalf("edge %d of %d, shift %d: %d ns of %.0f in MPI", i, len(s.Timeline.Edges), s.Timeline.Shift, e.MPI, at)
		}
	}
}

// TestLiveSums: a rank whose calls are very short, but now and then one takes 5 ms. What readings tell of its time in
// MPI never shrinks, and grows no faster than time: no such call is left out or told twice. Where the rank waits for a
// CPU after it has read the clock and before it has written that down, the readings tell of it so much later.
func TestLiveSums(t *testing.T) {
	const most, slack = 300, 2.5e6 // ns; a call is twice as long
	file := newRecord(t)
	cmd := exec.Command(compile(t, mpich.cc, "mixedcalls.c"), "60000")
	cmd.Env = append(plainEnvironment(), "LD_PRELOAD="+library, "JOBEFF_RECORD="+file)
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { cmd.Process.Kill(); <-ended }()
	reads, moved := 0, 0
	var before, at, delayed float64
	for moved < most {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("it ended after %d readings, %d of them near: %v", reads, moved, err)
		default:
		}
		f, err := os.Open(file)
		if err != nil { // it has not begun
			continue
		}
		rec, err := record.Read(inBytes{f}, 1<<30, record.Options{Live: true})
		if err == nil {
			err = rec.Each(func(s *record.Slot) error {
				if reads++; !s.Nearly || s.InitLeft == 0 || s.State != record.StateRunning {
					return nil
				}
				now, _ := record.Now(s.Clock)
				perTick := float64(now.Mono-s.ClaimedAt.Mono) / float64(now.Ticks-s.ClaimedAt.Ticks)
				in := float64(s.MPITicks) * perTick
				if s.OpenCall >= 0 {
					in += float64(s.ReadAt-s.ClaimedAt.Mono) - float64(s.Open-s.ClaimedAt.Ticks)*perTick
				}
				var ran, delay float64
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", cmd.Process.Pid))
				must(t, err)
				_, err = fmt.Sscan(string(stat), &ran, &delay)
				must(t, err)
				off := slack + delay - delayed
				if grown, passed := in-before, float64(s.ReadAt)-at; at > 0 && (grown < -off || grown > passed+off) {
					t.Errorf("%.3f ms in MPI, %.3f ms later it is %.3f ms more", before/1e6, passed/1e6, grown/1e6)
				}
				before, at, delayed = in, float64(s.ReadAt), delay
				moved++
				return nil
			})
		}
		f.Close()
		if err != nil && !errors.Is(err, record.ErrTorn) && reads > 0 {
			t.Fatal(err)
		}
	}
	t.Logf("%d readings, %d of them near", reads, moved)
}

// inBytes reads what a call changes field by field, and waits in between.
type inBytes struct{ f *os.File }

func (p inBytes) ReadAt(b []byte, at int64) (n int, err error) {
	const from, to = 744, 784 // je_slot.open_ticks to mpi_ticks
	for n < len(b) && err == nil {
		piece := from - n
		switch {
		case n >= to:
			piece = len(b)
		case n >= from:
			piece = 8
			for begin := time.Now(); time.Since(begin) < 10*time.Microsecond; {
			}
		}
		var more int
		more, err = p.f.ReadAt(b[n:min(n+piece, len(b))], at+int64(n))
		n += more
	}
	return n, err
}
