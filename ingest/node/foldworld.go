package node

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// world is this node's part of one MPI_COMM_WORLD.
type world struct {
	key, from string
	size      int
	spawned   bool
	start     uint64 // of the first rank, ns
	lastSign  uint64
	ppid      int
	ranks     map[int]bool
	procs     []*process
}

// worldKey names the world of p, the same text on every node.
func worldKey(p *process) (key, from string) {
	s := p.slot
	names := map[record.WorldFrom]string{record.WorldPMIX: "pmix", record.WorldHydra: "hydra", record.WorldPMI: "pmi"}
	if name := names[s.WorldFrom]; name != "" && s.World != "" {
		return name + ":" + s.World, name
	}
	return fmt.Sprintf("%s:%s:%d", job.StartKey, p.step, s.Size), job.StartKey
}

// groupWorlds sorts processes into worlds. Within one key, a rank that comes a second time, or
// that started much later, belongs to a later world.
func groupWorlds(procs []*process) []*world {
	slices.SortStableFunc(procs, func(a, b *process) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.slot.Rank, b.slot.Rank), cmp.Compare(a.slot.Index, b.slot.Index))
	})
	byKey := map[string][]*world{}
	var all []*world
	for _, p := range procs {
		key, from := worldKey(p)
		id := key + "\x00" + strconv.Itoa(p.slot.Size) + strconv.FormatBool(p.slot.Spawned)
		w := pickWorld(byKey[id], p, job.WindowOf(from))
		if w == nil {
			w = &world{key: key, from: from, size: p.slot.Size, spawned: p.slot.Spawned,
				start: p.start, ppid: p.slot.PPID, ranks: map[int]bool{}}
			byKey[id] = append(byKey[id], w)
			all = append(all, w)
		}
		w.ranks[p.slot.Rank] = true
		w.lastSign = max(w.lastSign, p.lastSign)
		w.procs = append(w.procs, p)
	}
	return all
}

// pickWorld is the latest world that p can belong to, preferably one with the same parent.
func pickWorld(worlds []*world, p *process, window time.Duration) *world {
	var found *world
	for _, w := range slices.Backward(worlds) {
		if p.start-w.start > uint64(window) {
			break
		}
		if w.ranks[p.slot.Rank] {
			continue
		}
		if w.ppid == p.slot.PPID {
			return w
		}
		if found == nil {
			found = w
		}
	}
	return found
}
