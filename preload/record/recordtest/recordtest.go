// Package recordtest writes record files for tests. It is the inverse of package record, which
// comes before it: both see record.h through cgo, so tests cannot drift from the format. The
// tests of all packages that read records use it.
package recordtest

/*
#include "../record.h"
*/
import "C"

import (
	"encoding/hex"
	"unsafe"

	"jobeff/preload/record"
)

// File returns the bytes of a record that holds slots. Its head has h.Slots and h.Used as they
// are; if both are 0, it has as many as there are slots. h.Version 0 means the current
// version.
func File(h record.Head, slots ...record.Slot) []byte {
	out := make([]byte, C.JE_HEAD_BYTES, C.JE_HEAD_BYTES+len(slots)*C.JE_SLOT_BYTES)
	copy(out, head(h, len(slots)))
	for i := range slots {
		b := slot(&slots[i])
		out = append(append(out, b...), make([]byte, C.JE_SLOT_BYTES-len(b))...)
	}
	return out
}

func head(h record.Head, slots int) []byte {
	c := &C.struct_je_head{
		version: C.JE_VERSION, head_bytes: C.JE_HEAD_BYTES, slot_bytes: C.JE_SLOT_BYTES,
		slots: C.uint32_t(h.Slots), next: C.uint32_t(h.Used), uid: C.uint32_t(h.UID),
		made_mono_ns: C.uint64_t(h.MadeMono), made_real_ns: C.uint64_t(h.MadeReal),
		lost_full: C.uint32_t(h.LostFull), lost_memory: C.uint32_t(h.LostMemory), lost_sections: C.uint32_t(h.LostSections),
		lost_static: C.uint32_t(h.LostStatic), lost_preload: C.uint32_t(h.LostPreload),
		lost_unseen: C.uint32_t(h.LostUnseen), lost_stub: C.uint32_t(h.LostStub),
	}
	if h.Version != 0 {
		c.version = C.uint32_t(h.Version)
	}
	if h.Slots == 0 && h.Used == 0 {
		c.slots, c.next = C.uint32_t(slots), C.uint32_t(slots)
	}
	if h.ByHand {
		c.by_hand = 1
	}
	copy(raw(&c.magic), C.JE_MAGIC)
	copy(raw(&c.nonce), h.Nonce[:])
	copy(raw(&c.boot_id), h.BootID[:])
	return raw(c)
}

func slot(s *record.Slot) []byte {
	switch s.Kind {
	case record.KindSections:
		return sections(s)
	case record.KindOpenMP:
		return openmp(s)
	case record.KindWindows:
		return windows(s)
	}
	c := &C.struct_je_slot{
		magic: C.JE_SLOT_MAGIC, bytes: C.JE_SLOT_BYTES, kind: C.uint16_t(s.Kind),
		parent: C.uint32_t(s.Parent), state: C.uint32_t(s.State),
		ending: C.uint32_t(s.Ending), ending_code: C.int32_t(s.EndingCode),
		clock: C.uint32_t(s.Clock), claimed_at: pair(s.ClaimedAt), finished_at: pair(s.FinishedAt),
		init_enter_ticks: C.uint64_t(s.InitEnter), init_leave_ticks: C.uint64_t(s.InitLeft),
		fini_enter_ticks: C.uint64_t(s.FiniEnter), fini_leave_ticks: C.uint64_t(s.FiniLeft),
		open_ticks: C.uint64_t(s.Open), last_ticks: C.uint64_t(s.Last), open_call: C.uint64_t(s.OpenCall + 1),
		mpi_ticks: C.uint64_t(s.MPITicks), io_ticks: C.uint64_t(s.IOTicks),
		gone_mono_ns: C.uint64_t(s.Gone), began_mono_ns: C.uint64_t(s.Began), useful_instructions: C.uint64_t(s.Instructions), useful_cycles: C.uint64_t(s.Cycles),
	}
	if s.Counted {
		c.counters = 1
	}
	if s.Torn {
		c.seq = 1
	}
	if s.WithoutMPI {
		c.without_mpi = 1
	}
	who(c, s)
	workload(c, s)
	kernel(c, &s.Kernel)
	if s.Timeline != nil {
		timeline(&c.timeline, s.Timeline)
	}
	if s.Places != nil {
		places(&c.places, s.Places)
		if open := s.Places.Open; open != nil {
			c.open_call |= C.uint64_t(open.Offset+1) << C.JE_OPEN_ADDRESS
			m := &c.places.module[open.Module]
			m.from, m.to = C.uint64_t(open.Offset), C.uint64_t(open.Offset+1)
		}
	}
	for _, f := range s.Funcs {
		c.funcs[f.Number] = fn(f)
	}
	for b := range record.Bins {
		c.hist_p2p[b], c.hist_coll[b] = C.uint64_t(s.HistP2P[b]), C.uint64_t(s.HistColl[b])
	}
	return raw(c)
}

func who(c *C.struct_je_slot, s *record.Slot) {
	c.pid, c.ppid, c.tid = C.int32_t(s.PID), C.int32_t(s.PPID), C.int32_t(s.TID)
	c.rank, c.size = C.int32_t(s.Rank), C.int32_t(s.Size)
	c.family = map[string]C.uint32_t{"Open MPI": C.JE_MPI_OPENMPI, "MPICH": C.JE_MPI_MPICH, "MPI-5 ABI": C.JE_MPI_ABI5}[s.Family]
	c.thread_level, c.threads = C.uint32_t(s.ThreadLevel), C.uint32_t(s.Threads)
	c.world_from, c.cpus = C.uint32_t(s.WorldFrom), C.uint32_t(s.CPUs)
	if s.Spawned {
		c.spawned = 1
	}
	id, _ := hex.DecodeString(s.BuildID)
	c.build_id_bytes = C.uint32_t(copy(raw(&c.build_id), id))
	copy(raw(&c.world_text), s.World)
	copy(raw(&c.host), s.Host)
	copy(raw(&c.exe), s.Exe)
	copy(raw(&c.mpi_version), s.MPIVersion)
	c.claimed_step, c.claimed_procid = C.int64_t(s.Claims.Step), C.int32_t(s.Claims.ProcID)
	c.claimed_ntasks, c.claimed_nodeid = C.int32_t(s.Claims.NTasks), C.int32_t(s.Claims.NodeID)
	c.claimed_cpus_per_task, c.claimed_omp_threads = C.int32_t(s.Claims.CPUsPerTask), C.int32_t(s.Claims.OMPThreads)
}

func workload(c *C.struct_je_slot, s *record.Slot) {
	into := func(to []byte, hash string) {
		b, _ := hex.DecodeString(hash)
		copy(to, b)
	}
	into(raw(&c.args_hash), s.ArgsHash)
	into(raw(&c.input_hash), s.InputHash)
	into(raw(&c.exe_hash), s.ExeHash)
	c.input, c.inputs = C.uint32_t(s.Input), C.uint32_t(s.Inputs)
	args := s.Args
	if n := len(args); n > 0 && args[n-1] == "…" {
		args, c.args_cut = args[:n-1], 1
	}
	for _, a := range args {
		c.args_bytes += C.uint32_t(copy(raw(&c.args_text)[c.args_bytes:], a+"\x00"))
	}
	copy(raw(&c.workload), s.Workload)
}

func kernel(c *C.struct_je_slot, k *record.Kernel) {
	c.read_ticks, c.cpu_ns, c.thread_cpu_ns = C.uint64_t(k.At), C.uint64_t(k.Process), C.uint64_t(k.Thread)
	c.queue_ns, c.mpi_threads_ns, c.busiest_ns = C.uint64_t(k.Queue), C.uint64_t(k.MPIThreads), C.uint64_t(k.Busiest)
	c.busiest_tid, c.tasks, c.busy_tasks = C.int32_t(k.BusiestTID), C.uint32_t(k.Tasks), C.uint32_t(k.Busy)
	if k.TasksKnown {
		c.tasks_known = 1
	}
	if k.BusiestOfMPI {
		c.busiest_of_mpi = 1
	}
	copy(raw(&c.busiest_name), k.BusiestName)
	c.gpu = C.uint32_t(k.GPU)
	copy(raw(&c.mask), k.Mask[:])
}

func timeline(c *C.struct_je_timeline, t *record.Timeline) {
	c.shift, c.first, c.used = C.int32_t(t.Shift)+C.JE_EDGE_SHIFT, C.int64_t(t.First), C.uint32_t(len(t.Edges))
	for i, e := range t.Edges {
		c.edges[i] = C.struct_je_edge{ticks: C.uint64_t(e.At), mpi_ticks: C.uint64_t(e.MPI), io_ticks: C.uint64_t(e.IO),
			openmp_ticks: C.uint64_t(e.OpenMP), late_ticks: C.uint64_t(e.Late)}
	}
}

func places(c *C.struct_je_place_table, p *record.Places) {
	c.every_ticks, c.dropped_ticks, c.modules = C.uint64_t(p.Every), C.uint64_t(p.DroppedTicks), C.uint16_t(len(p.Modules))
	at := 0
	for i, m := range p.Modules {
		id, _ := hex.DecodeString(m.BuildID)
		c.module[i].bias = C.uint64_t(m.Bias)
		c.module[i].build_id_bytes = C.uint8_t(copy(raw(&c.module[i].build_id), id))
		switch {
		case m.Program:
			c.module[i].path = C.JE_PLACE_PROGRAM
		case m.Path != "":
			c.module[i].path = C.uint16_t(at + 1)
			at += copy(raw(&c.paths)[at:], m.Path) + 1
		}
	}
	for i, from := range p.List {
		to := &c.places[i]
		*to = C.struct_je_place{calls: C.uint64_t(from.Calls), ticks: C.uint64_t(from.Ticks), samples: C.uint64_t(from.Samples),
			short_calls: C.uint64_t(from.ShortCalls) * 256, longest_ticks: C.uint64_t(from.Longest), function: C.uint16_t(from.Function + 1)}
		for k, f := range from.Frames {
			to.frames[k], to.modules[k] = C.uint64_t(f.Offset)+c.module[f.Module%len(c.module)].bias, C.uint8_t(f.Module+1)
		}
	}
}

func pair(p record.Pair) C.struct_je_pair {
	return C.struct_je_pair{ticks: C.uint64_t(p.Ticks), mono_ns: C.uint64_t(p.Mono), real_ns: C.uint64_t(p.Real)}
}

func fn(f record.Func) C.struct_je_func {
	return C.struct_je_func{count: C.uint64_t(f.Count), ticks: C.uint64_t(f.Ticks),
		sent: C.uint64_t(f.Sent), received: C.uint64_t(f.Received), largest: C.uint64_t(f.Largest)}
}

// sections are the bytes of a slot of sections.
func sections(s *record.Slot) []byte {
	from := s.Sections
	c := &C.struct_je_sections{
		magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_SECTIONS, bytes: C.JE_SLOT_BYTES, state: C.JE_STATE_RUNNING,
		parent: C.uint32_t(s.Parent), pid: C.int32_t(from.PID), order: C.uint32_t(from.Order),
		init_ticks: C.uint64_t(from.Init), used: C.uint32_t(len(from.Entries)), depth: C.uint32_t(len(from.Open)),
		wrong: C.uint64_t(from.Wrong), deep: C.uint64_t(from.Deep), ignored: C.uint64_t(from.Ignored), last_ticks: C.uint64_t(from.Last),
	}
	if s.Torn {
		c.seq = 1
	}
	for i, e := range from.Entries {
		to := &c.entries[i]
		copy(raw(&to.label), e.Label)
		to.count = C.uint64_t(e.Count)
		to.ticks, to.mpi_ticks, to.io_ticks = sectionTicks(e.Whole)
		to.own_ticks, to.own_mpi_ticks, to.own_io_ticks = sectionTicks(e.Own)
		if e.Sampled != nil {
			to.detail = detail(c, &e)
		}
	}
	for i, o := range from.Open {
		to := &c.open[i]
		to.section = C.uint32_t(o.Number)
		to.in_ticks, to.in_mpi_ticks, to.in_io_ticks = sectionTicks(o.In)
		to.inner_ticks, to.inner_mpi_ticks, to.inner_io_ticks = sectionTicks(o.Inner)
	}
	for i, w := range from.Wrongs {
		copy(raw(&c.wrongs[i].open), w.Open)
		copy(raw(&c.wrongs[i].exited), w.Exited)
		c.wrongs[i].count = C.uint64_t(w.Count)
	}
	return raw(c)
}

func sectionTicks(t record.SectionTicks) (all, mpi, io C.uint64_t) {
	return C.uint64_t(t.All), C.uint64_t(t.MPI), C.uint64_t(t.IO)
}

// detail writes the next detail at the end of a slot. It returns its number + 1.
func detail(c *C.struct_je_sections, of *record.Section) C.uint32_t {
	from := of.Sampled
	d := (*C.struct_je_section_detail)(unsafe.Pointer(&c.entries[C.je_detail_at(c.details)]))
	d.k, d.used = C.uint32_t(from.K), C.uint32_t(len(from.Kept))
	for i, one := range from.Kept {
		d.kept[i] = C.struct_je_instance{number: C.uint64_t(one.Number), in_ticks: C.uint64_t(one.In), out_ticks: C.uint64_t(one.Out)}
	}
	if t := of.Threads; t != nil {
		for i, part := range []uint64{t.Region, t.RegionMPI, t.RegionIO, t.Team, t.Useful, t.MPI, t.IO, t.Scheduling, t.Locked, t.UsefulMain, t.UsefulMost} {
			d.parts[i] = C.uint64_t(part)
		}
		if t.Busiest {
			d.busiest = 1
		}
		d.openmp = C.JE_SECTION_OPENMP_KNOWN
		if !t.Whole {
			d.openmp = C.JE_SECTION_OPENMP_INSIDE
		}
	}
	c.details++
	return c.details
}

// openmp are the bytes of a slot of OpenMP threads.
func openmp(s *record.Slot) []byte {
	from := s.OpenMP
	c := &C.struct_je_openmp{
		magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_OPENMP, bytes: C.JE_SLOT_BYTES, state: C.uint32_t(s.State),
		parent: C.uint32_t(s.Parent), pid: C.int32_t(from.PID), order: C.uint32_t(from.Order),
		process_ticks: C.uint64_t(from.Process), used: C.uint32_t(len(from.Threads)),
		runtimes: C.uint32_t(from.Runtimes), why: C.uint32_t(from.Why), untimed: C.uint32_t(from.Untimed), lost: C.uint32_t(from.Lost),
	}
	if s.Torn {
		c.seq = 1
	}
	for i, t := range from.Threads {
		c.threads[i] = openMPThread(t)
	}
	return raw(c)
}

func openMPThread(t record.OpenMPThread) C.struct_je_openmp_thread {
	c := C.struct_je_openmp_thread{
		tid: C.int32_t(t.TID), state: C.uint32_t(t.State), since_ticks: C.uint64_t(t.Since),
		mpi_ticks: C.uint64_t(t.MPI), io_ticks: C.uint64_t(t.IO), mpi_seen: C.uint64_t(t.MPISeen), io_seen: C.uint64_t(t.IOSeen),
		regions: C.uint64_t(t.Regions), nested: C.uint64_t(t.Nested),
		region_ticks: C.uint64_t(t.RegionTicks), team_ticks: C.uint64_t(t.TeamTicks), region_since: C.uint64_t(t.RegionSince),
		team: C.uint32_t(t.Team), team_most: C.uint32_t(t.TeamMost),
		tasks_made: C.uint64_t(t.TasksMade), tasks_run: C.uint64_t(t.TasksRun),
		dispatches: C.uint64_t(t.Dispatches), locks: C.uint64_t(t.Locks), waits: C.uint64_t(t.Waits),
	}
	for state, ticks := range map[record.OpenMPState]uint64{
		record.OpenMPUseful: t.Useful, record.OpenMPWaiting: t.Waiting,
		record.OpenMPScheduling: t.Scheduling, record.OpenMPLocked: t.Locked,
	} {
		c.ticks[state] = C.uint64_t(ticks)
	}
	return c
}

// windows are the bytes of a slot of windows.
func windows(s *record.Slot) []byte {
	from := s.Windows
	c := &C.struct_je_windows{
		magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_WINDOWS, bytes: C.JE_SLOT_BYTES, state: C.uint32_t(s.State),
		parent: C.uint32_t(s.Parent), pid: C.int32_t(from.PID), order: C.uint32_t(from.Order),
		process_ticks: C.uint64_t(from.Process), used: C.uint32_t(len(from.Entries)),
		k: C.uint32_t(from.K), why: C.uint32_t(from.Why), lost: C.uint32_t(from.Lost),
	}
	if s.Torn {
		c.seq = 1
	}
	for i, site := range from.Sites {
		if site.Address == 0 {
			continue
		}
		c.sites[i] = C.uint64_t(uint64(site.Module+1)<<C.JE_SITE_MODULE | site.Address)
	}
	for i, e := range from.Entries {
		c.site[i] = C.uint8_t(e.Site)
		c.entries[i] = C.struct_je_log{enter_ticks: C.uint64_t(e.Enter), leave_ticks: C.uint64_t(e.Leave), bytes: C.uint64_t(e.Bytes),
			request: C.uint64_t(e.Request), peer: C.int32_t(e.Peer), tag: C.int32_t(e.Tag), comm: C.uint32_t(e.Comm),
			call: C.uint16_t(e.Call), op: C.uint8_t(e.Op), flags: C.uint8_t(e.Flags)}
	}
	return raw(c)
}

// raw are the bytes of a C value.
func raw[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
