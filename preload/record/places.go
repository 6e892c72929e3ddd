package record

/*
#include "record.h"
*/
import "C"

import (
	"bytes"
	"encoding/hex"
)

// Places are where in the code a thread called MPI. A nil Places has none.
type Places struct {
	Every   uint64 // ticks for which a sample stands
	List    []Place
	Modules []Module

	Open *Frame // the call that is open; nil: none, or it is not known whose code it is

	DroppedTicks uint64 // of places that had no room
}

// Place is where outermost calls of one function were made, those of files left out.
type Place struct {
	Function   int     // row of mpi_calls.def
	Frames     []Frame // the call itself, then what may be its callers; none: not known
	Calls      uint64  // that took long
	Ticks      uint64  // … of these
	Samples    uint64  // of the time in shorter ones
	ShortCalls uint64  // calls that the samples stand for
	Longest    uint64  // ticks, of those that were seen
}

// Frame is an instruction: the last byte of a call.
type Frame struct {
	Module int    // in Places.Modules
	Offset uint64 // address in its file
}

// Module is a file with code.
type Module struct {
	Program bool   // it is the executable, Slot.Exe
	Path    string // as the loader knows it; "": not known, or the Program
	BuildID string // hex; "": not known
	Bias    uint64 // what was added to the addresses in the file
}

// At is the instruction at a site; false: it is not known whose code that is.
func (p *Places) At(s Site) (Frame, bool) {
	if p == nil || s.Module < 0 || s.Module >= len(p.Modules) {
		return Frame{}, false
	}
	offset := s.Address - p.Modules[s.Module].Bias
	return Frame{s.Module, offset}, s.Address != 0 && offset < mostAddress
}

const (
	mostAddress = 1 << 48
	perCall     = 256 // je_place.short_calls is in parts of a call
)

// decodePlaces returns nil if their owner was changing them when it died.
func (s *slotBuffer) decodePlaces(k *checker) *Places {
	c := &s.c.places
	if c.changes&1 == 1 || c.every_ticks == 0 && c.modules == 0 {
		return nil
	}
	every := k.ticks(c.every_ticks)
	out := &Places{Every: every, DroppedTicks: k.ticks(C.uint64_t(k.ticks(c.dropped_ticks) + k.samples(c.dropped_samples, every)*every))}
	for i := range k.within(int64(c.modules), 0, C.JE_PLACE_MODULES, 0) {
		out.Modules = append(out.Modules, s.decodeModule(&c.module[i], k))
	}
	out.Open = s.openFrame(len(out.Modules))
	for i := range c.places {
		p := &c.places[i]
		if p.function == 0 {
			continue
		}
		out.List = append(out.List, Place{
			Function: k.within(int64(p.function), 1, C.JE_FUNCS, 1) - 1, Frames: s.decodeFrames(p, len(out.Modules), k),
			Calls: k.most(p.calls, mostCount), Ticks: k.ticks(p.ticks),
			Samples: k.samples(p.samples, every), ShortCalls: k.most(p.short_calls/perCall, mostCount), Longest: k.ticks(p.longest_ticks),
		})
	}
	return out
}

// samples bounds a number of samples, so that their time stays possible.
func (k *checker) samples(v C.uint64_t, every uint64) uint64 {
	return k.most(v, mostTicks/max(every, 1))
}

func (s *slotBuffer) decodeModule(m *C.struct_je_place_module, k *checker) Module {
	n := k.within(int64(m.build_id_bytes), 0, C.JE_PLACE_BUILD_ID, 0)
	out := Module{Program: m.path == C.JE_PLACE_PROGRAM, Bias: uint64(m.bias), BuildID: hex.EncodeToString(bytesOf(m.build_id[:])[:n])}
	if paths := bytesOf(s.c.places.paths[:]); !out.Program && m.path != 0 && int(m.path) <= len(paths) {
		path, _, _ := bytes.Cut(paths[m.path-1:], []byte{0})
		out.Path = Text(path)
	}
	return out
}

// openFrame finds the open call in the modules known so far. A call's own module is looked up only when it
// ends.
func (s *slotBuffer) openFrame(modules int) *Frame {
	returns := uint64(s.c.open_call) >> C.JE_OPEN_ADDRESS
	for i := range modules {
		m := &s.c.places.module[i]
		at, from, to := returns-1, uint64(m.from), uint64(m.to)
		if offset := at - uint64(m.bias); returns > 0 && at >= from && at < to && offset < mostAddress {
			return &Frame{i, offset}
		}
	}
	return nil
}

// decodeFrames ends at the first frame that is in no known module.
func (s *slotBuffer) decodeFrames(p *C.struct_je_place, modules int, k *checker) (out []Frame) {
	for i, address := range p.frames {
		m := int(p.modules[i])
		if m == 0 || m > modules {
			break
		}
		offset := uint64(address - s.c.places.module[m-1].bias)
		if offset >= mostAddress {
			k.odd = true
			break
		}
		out = append(out, Frame{m - 1, offset})
	}
	return out
}
