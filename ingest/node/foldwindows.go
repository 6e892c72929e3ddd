package node

import (
	"cmp"
	"slices"

	"jobeff/preload/record"
)

// mostWindowSlots bounds what windows take: 16 MiB of a record, as much as the library uses.
const mostWindowSlots = 16 << 20 / (record.LogsPerSlot * 48)

// windowSlots are the slots of windows of a record, by the index of the process's slot.
type windowSlots struct {
	of    map[int][]*record.WindowSlot
	count int
}

// add keeps a slot. What is beyond the bound is lost, and so is one that was being written to.
func (s *windowSlots) add(slot *record.Slot) {
	if s.count++; s.count <= mostWindowSlots && !slot.Torn {
		s.of[slot.Parent] = append(s.of[slot.Parent], slot.Windows)
	}
}

// ofProcess are the slots of a process in their order; nil if one is missing.
func (s *windowSlots) ofProcess(p *process) []*record.WindowSlot {
	var own []*record.WindowSlot
	for _, w := range s.of[p.slot.Index] {
		if w.Process == p.slot.ClaimedAt.Ticks && w.PID == p.slot.PID {
			own = append(own, w)
		}
	}
	slices.SortStableFunc(own, func(a, b *record.WindowSlot) int { return cmp.Compare(a.Order, b.Order) })
	for i := range own {
		if own[i].Order != i {
			return nil
		}
	}
	return own
}
