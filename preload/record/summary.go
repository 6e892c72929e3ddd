package record

/*
#include "names.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

const (
	wordBytes   = 8
	leastPacked = 64     // bytes; the fields that say whose a slot is take more
	mostPacked  = 32_768 // slots of one record; more would cost the epilog its memory
)

var errManyPacked = errors.New("record: more finished processes than can be read")

// eachPacked unpacks the slots of a summary, and calls do with each. It stops at a damaged one:
// nothing behind it can be found.
func (s *slotBuffer) eachPacked(do func(*slotBuffer) error) error {
	c := (*C.struct_je_summary)(unsafe.Pointer(&s.c))
	data := bytesOf(c.data[:])[:min(int(c.used), C.JE_SUMMARY_BYTES)]
	for len(data) >= wordBytes {
		length := binary.LittleEndian.Uint64(data)
		if length < leastPacked || length > uint64(len(data)) || length%wordBytes != 0 {
			return nil
		}
		var slot slotBuffer
		if slot.unpack(data[wordBytes:length]) && slot.claimed() && slot.packable() {
			if err := do(&slot); err != nil {
				return err
			}
		}
		data = data[length:]
	}
	return nil
}

// packedBytes is how many bytes a summary says it holds.
func (s *slotBuffer) packedBytes() uint32 {
	return uint32((*C.struct_je_summary)(unsafe.Pointer(&s.c)).used)
}

// packable reports whether the library packs slots of this kind.
func (s *slotBuffer) packable() bool {
	return s.c.kind == C.JE_KIND_PROCESS || s.c.kind == C.JE_KIND_OPENMP
}

// unpack fills an empty slot with the words of a packed one; false: they do not fit.
func (s *slotBuffer) unpack(runs []byte) bool {
	to := s.bytes()
	for len(runs) > 0 {
		head := binary.LittleEndian.Uint64(runs)
		at, bytes := head>>32*wordBytes, head&0xffffffff*wordBytes
		runs = runs[wordBytes:]
		if bytes == 0 || bytes > uint64(len(runs)) || at+bytes > uint64(len(to)) {
			return false
		}
		copy(to[at:], runs[:bytes])
		runs = runs[bytes:]
	}
	return true
}
