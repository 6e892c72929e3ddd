package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"jobeff/ingest/job"
)

// texts bounds the reports that are read, unpacked and kept at once, by the bytes of their text:
// a few bytes may unpack to a large one. One address may take a part only. So no node keeps out
// the others with reports that it sends slowly, or that take long to read.
type texts struct {
	all *semaphore.Weighted // bytes
	mu  sync.Mutex
	of  map[string]int64 // by address
}

const (
	aroundText = 64 << 10                        // what a report takes besides its text, bytes
	mostOfOne  = aroundText + job.MaxReportBytes // bytes of one address: its largest report
	mostOfAll  = 4 * mostOfOne
)

func newTexts() *texts {
	return &texts{all: semaphore.NewWeighted(mostOfAll), of: map[string]int64{}}
}

// take waits until there is room for a text of so many bytes; release gives it back. An address
// that has its part is refused at once. "" is this machine, which has no part.
func (t *texts) take(ctx context.Context, address string, size int64) (release func(), e *refusal) {
	size += aroundText
	busy := &refusal{status: http.StatusTooManyRequests, reason: "memory", message: "jobeffd reads too many reports at once", hint: "try again"}
	if !t.charge(address, size) {
		busy.retry = time.Second
		return nil, busy
	}
	if err := t.all.Acquire(ctx, size); err != nil {
		t.charge(address, -size)
		busy.retry = 10 * time.Second
		return nil, busy
	}
	return func() {
		t.all.Release(size)
		t.charge(address, -size)
	}, nil
}

// charge adds bytes to an address's part, unless it would be too large.
func (t *texts) charge(address string, size int64) (ok bool) {
	if address == "" {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.of[address] + size
	if sum > mostOfOne {
		return false
	}
	if t.of[address] = sum; sum == 0 {
		delete(t.of, address)
	}
	return true
}
