package recordtest

/*
#include "../record.h"
*/
import "C"

import (
	"encoding/binary"
	"unsafe"

	"jobeff/preload/record"
)

// Summary returns a slot that holds other slots, packed.
func Summary(slots ...record.Slot) []byte {
	c := &C.struct_je_summary{magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_SUMMARY, bytes: C.JE_SLOT_BYTES, state: C.JE_STATE_RUNNING}
	var data []byte
	for i := range slots {
		data = append(data, pack(slot(&slots[i]))...)
	}
	c.used = C.uint32_t(copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.data[0])), len(c.data)), data))
	return raw(c)
}

// pack leaves out every zero word. (The library keeps single ones.)
func pack(slot []byte) []byte {
	const word = 8
	out := make([]byte, word)
	for at := 0; at < len(slot); at += word {
		end := at
		for end < len(slot) && binary.LittleEndian.Uint64(slot[end:]) != 0 {
			end += word
		}
		if end > at {
			out = binary.LittleEndian.AppendUint64(out, uint64(at/word)<<32|uint64((end-at)/word))
			out = append(out, slot[at:end]...)
			at = end - word
		}
	}
	binary.LittleEndian.PutUint64(out, uint64(len(out)))
	return out
}
