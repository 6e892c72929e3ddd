package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var histories = flag.Int("histories", 40, "how many random histories TestRandomHistories looks at; make scan takes 1,500")

// history is a workload with random needs, whose jobs may end in any way.
type history struct {
	*rand.Rand
	situation
	ran []ranRandom // its jobs, the oldest first
}

// ranRandom is what a job needed.
type ranRandom struct {
	cores   int
	needed  float64 // GiB of its node; 0: not known
	given   float64 // GiB of its node
	elapsed time.Duration
	state   string
	input   string
}

// newHistory makes the lines of one.
func newHistory(seed uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 51))}
	h.name, h.weekly = fmt.Sprint("history ", seed), true
	if h.IntN(2) == 0 {
		h.rooms = wideRooms
	}
	var lines []string
	if h.IntN(2) == 0 {
		lines = h.serial()
	} else {
		lines = h.parallel()
	}
	h.jobs = strings.Join(lines, "\n")
	return h
}

// one is a line of one job: how it ends follows from what it needs and is given.
func (h *history) one(cores int, input string, elapsed, limit, needed, given float64, rest string) string {
	r := ranRandom{cores: cores, input: input, needed: needed, given: given, state: "COMPLETED"}
	memory := fmt.Sprintf("given=%.0f kept=%.2f", given, needed)
	switch {
	case h.IntN(12) == 0:
		r.state = []string{"FAILED", "CANCELLED", "NODE_FAIL"}[h.IntN(3)]
		elapsed *= h.Float64()
	case needed >= given:
		r.state, r.needed, memory = "OUT_OF_MEMORY", 0, fmt.Sprintf("given=%.0f kept=%.0f", given, given)
		elapsed *= h.Float64()
	case elapsed > limit-30 || h.IntN(30) == 0:
		r.state, elapsed = "TIMEOUT", limit-25
	case h.IntN(10) == 0:
		r.needed, memory = 0, fmt.Sprintf("given=%.0f", given)
	}
	elapsed = math.Max(math.Round(elapsed), 2)
	r.elapsed = seconds(elapsed)
	h.ran = append(h.ran, r)
	return fmt.Sprintf("%s t=%.0f limit=%.0f state=%s day=%.3f %s", rest, elapsed, limit, r.state, 6.8-6.5*float64(len(h.ran))/45, memory)
}

// need is what a job of one of two kinds needs, at most so much.
func (h *history) need(kinds [2]float64) float64 {
	return kinds[h.IntN(2)] * (1 + .2*h.Float64())
}

// sizes are the needs of two kinds of inputs, which often are one.
func (h *history) sizes(least, most float64) (kinds [2]float64) {
	kinds[0] = least + (most-least)*h.Float64()*h.Float64()
	kinds[1] = kinds[0]
	if h.IntN(3) == 0 {
		kinds[1] = least + (most-least)*h.Float64()
	}
	return kinds
}

// given is what a user who knows little asks for: memory, GiB, and time, s.
func (h *history) given() (memory, limit float64) {
	return float64(int(4) << h.IntN(6)), float64(int(3600) << h.IntN(6))
}

// serial are jobs without MPI: scripts, tasks of an array, or sessions.
func (h *history) serial() (lines []string) {
	alloc, kinds, lasts := 1<<h.IntN(6), h.sizes(1, 100), h.sizes(60, 40_000)
	busy, rest := (.3+.65*h.Float64())/float64(1+h.IntN(alloc)), ""
	switch h.IntN(6) {
	case 0:
		rest = " task=1"
	case 1:
		rest = " session=1"
	case 2:
		rest = " gpus=3 kernels=" + []string{"none,none,none", ".1,none,.2", ".5,?,none"}[h.IntN(3)]
	}
	given, limit := h.given()
	for range 1 + h.IntN(30) {
		if h.IntN(8) == 0 {
			given, limit = h.given()
		}
		lines = append(lines, h.one(alloc, "a", h.need(lasts), limit, h.need(kinds), given, fmt.Sprintf("1 bare=1 alloc=%d totalcpu=%.3f%s", alloc, busy, rest)))
	}
	return lines
}

// parallel are jobs with MPI on some core counts: work that scales to a point, beyond which overhead grows.
func (h *history) parallel() (lines []string) {
	counts := []int{8, 16, 32, 64, 128, 256}[h.IntN(4):]
	work, overhead := (20+200*h.Float64())*3600, 3600*h.Float64()*h.Float64()/64
	kinds, several, memory := h.sizes(.5, 1.5), h.IntN(4) == 0, 4+150*h.Float64()*h.Float64()
	given, limit := h.given()
	cores := counts[h.IntN(len(counts))]
	for range 1 + h.IntN(30) {
		if h.IntN(4) == 0 {
			cores = counts[h.IntN(len(counts))]
		}
		if h.IntN(8) == 0 {
			given, limit = h.given()
		}
		size := h.need(kinds)
		useful := size * work / float64(cores)
		elapsed := (useful + overhead*float64(cores)) * (1 + .02*h.NormFloat64())
		input := "a"
		if several && size > 1 {
			input = "b"
		}
		rest := fmt.Sprintf("%d pe=%.3f lb=.98 input=%s", cores, min(useful/elapsed, .97), input)
		nodes := math.Ceil(float64(cores) / coresPerNode)
		lines = append(lines, h.one(cores, input, elapsed, limit, size*memory/nodes, given, rest))
	}
	return lines
}

// figureOf returns the number that a line gives an option, 0 if it gives none.
func figureOf(line, option string) int {
	if found := regexp.MustCompile(option + `=(\d+)`).FindStringSubmatch(line); found != nil {
		return atoi(found[1])
	}
	return 0
}

// timeOf is the time that a line asks for, 0 for none.
func timeOf(line string) time.Duration {
	found := regexp.MustCompile(`--time=(?:(\d+)-)?(\d\d):(\d\d):(\d\d)`).FindStringSubmatch(line)
	if found == nil {
		return 0
	}
	return time.Duration(atoi(found[1])*24+atoi(found[2]))*time.Hour + time.Duration(atoi(found[3]))*time.Minute + time.Duration(atoi(found[4]))*time.Second
}

// coresOf are the cores that a line asks for, 0 for those that the job had.
func coresOf(line string) int {
	return figureOf(line, "--ntasks") * max(figureOf(line, "--cpus-per-task"), 1)
}

// contradicts lists what is wrong with a printed line. It may not exceed a node. Nor may it ask for less than a completed job
// needed on as many cores with the newest job's input.
func (h *history) contradicts(line string) (wrong []string) {
	memory, limit, cores := float64(figureOf(line, "--mem"))/1024, timeOf(line), coresOf(line)
	most, longest := 256.0, time.Duration(math.MaxInt64)
	if h.rooms != nil {
		most, longest = 1024, 24*time.Hour
	}
	if memory > most || limit > longest || cores > 0 && figureOf(line, "--nodes")*coresPerNode < cores {
		wrong = append(wrong, "there is not so much: "+line)
	}
	for _, r := range h.ran {
		if cores != r.cores || r.input != h.ran[len(h.ran)-1].input {
			continue
		}
		stopped := r.state == "TIMEOUT" || r.state == "NODE_FAIL"
		if (r.state == "COMPLETED" || stopped) && memory > 0 && r.needed > memory || r.state == "COMPLETED" && limit > 0 && limit < longest && r.elapsed > limit {
			wrong = append(wrong, fmt.Sprintf("%s is less than %+v needed", line, r))
		}
	}
	return wrong
}

// TestRandomHistories: whatever a workload's jobs did, all that is printed of it asks for one thing: the job's text, whole and in
// short, its page, the workload's, the line for scripts, the mail and the digest. It exceeds no node, and no completed job on as
// many cores needed more.
func TestRandomHistories(t *testing.T) {
	program := builtJobeff(t)
	many := *histories
	if testing.Short() {
		many = min(many, 8)
	}
	var counts struct{ lines, mails, digests int }
	for seed := range uint64(many) {
		h := newHistory(seed)
		got := h.happen(t, program)
		wrong := slices.Concat(got.requests(), got.outside())
		for _, line := range request.FindAllString(strings.Join(slices.Concat(got["job"], got["workload now"]), " "), -1) {
			wrong = append(wrong, h.contradicts(line)...)
			counts.lines++
		}
		counts.digests += len(got["digested"])
		counts.mails += len(got["mail"])
		if len(wrong) > 0 {
			t.Errorf("%s:\n%s\n%s", h.name, strings.Join(slices.Compact(wrong), "\n"), h.jobs)
		}
	}
	t.Logf("%d histories: %+v", many, counts)
	if counts.lines < many || counts.mails < many/40 || counts.digests < many/40 {
		t.Error("the histories have hardly a request, a mail or a saving: the test is empty")
	}
}
