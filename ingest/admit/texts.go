package admit

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"jobeff/ingest/job"
)

// texts bounds the reports that are read, unpacked and kept at once, by the bytes of their text:
// a few bytes may unpack to a large one. Each has a part only. So no node keeps out
// the others with reports that it sends slowly, or that take long to read.
type texts struct {
	all *semaphore.Weighted // bytes
	mu  sync.Mutex
	of  map[string]int64 // by share
	sum int64
}

const (
	aroundText = 64 << 10                        // what a report takes besides its text, bytes
	mostOfOne  = aroundText + job.MaxReportBytes // bytes of one part: its largest report
	mostOfAll  = 4 * mostOfOne
)

func newTexts() *texts {
	return &texts{all: semaphore.NewWeighted(mostOfAll), of: map[string]int64{}}
}

// take waits until there is room for a text of so many bytes; release gives it back. Who has their
// part is refused at once.
func (t *texts) take(ctx context.Context, p part, size int64) (release func(), e *Refusal) {
	size += aroundText
	busy := &Refusal{Status: http.StatusTooManyRequests, Reason: "memory", Message: "jobeffd reads too many reports at once", Hint: "try again"}
	if !t.charge(p, size) {
		busy.Retry = time.Second
		return nil, busy
	}
	if err := t.all.Acquire(ctx, size); err != nil {
		t.charge(p, -size)
		busy.Retry = 10 * time.Second
		return nil, busy
	}
	return func() {
		t.all.Release(size)
		t.charge(p, -size)
	}, nil
}

// taken is how many bytes are taken or waited for.
func (t *texts) taken() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return float64(t.sum)
}

// charge adds bytes to a part, unless it would be too large.
func (t *texts) charge(p part, size int64) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range p.shares() {
		if t.of[s.name]+size > mostOfOne*int64(s.times) {
			return false
		}
	}
	t.sum += size
	for _, s := range p.shares() {
		if t.of[s.name] += size; t.of[s.name] == 0 {
			delete(t.of, s.name)
		}
	}
	return true
}
