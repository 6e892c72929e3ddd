package words

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
)

// TestTroubledOutboxes: what nodes could not deliver is said with where it lies.
func TestTroubledOutboxes(t *testing.T) {
	t.Parallel()
	box := func(node string, s wire.OutboxState) listing.NodeOutbox {
		return listing.NodeOutbox{Node: node, OutboxState: s}
	}
	boxes := []listing.NodeOutbox{box("n1", wire.OutboxState{Refused: 1200, Lost: 1}), box("n2", wire.OutboxState{Refused: 1, Waiting: 3, Oldest: 50 * time.Hour}),
		box("n3", wire.OutboxState{Waiting: 1, Oldest: 20 * time.Minute, Cut: 2})}
	got := fmt.Sprint(outboxes(boxes))
	for _, want := range []string{"1,201 reports refused by jobeffd for good", "n1 (1,200), n2 (1).", "1 report lost", "2 reports dropped, and their owners told", "Reports wait to be sent on 2 nodes, the oldest for 2 days: n2, n3."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for i := range 20 {
		boxes = append(boxes, box(fmt.Sprint("m", i), wire.OutboxState{Refused: 1}))
	}
	if got := outboxes(boxes)[0].Text; !strings.HasSuffix(got, "m7 (1) and 12 more.") {
		t.Error(got)
	}
	if got := outboxes(nil); got != nil {
		t.Error(got)
	}
}
