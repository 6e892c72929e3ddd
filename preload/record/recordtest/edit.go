package recordtest

/*
#include "../record.h"
*/
import "C"

import "unsafe"

// editBytes is the size of an edit of Edit: where, and what.
const editBytes = 10

// Edit overwrites words of a record, for fuzzing. An edit has ten bytes: the first two choose
// a word of 8 bytes in the head or the first slots, and the other eight are written there.
// Edit does not reach the counters of rare functions.
func Edit(file, edits []byte) {
	const headWords, countWords, slots = 16, (C.JE_SLOT_HEAD + 1600) / 8, 4
	const workload = unsafe.Offsetof(C.struct_je_slot{}.args_hash)
	const slotWords = countWords + int(C.sizeof_struct_je_slot-workload)/8
	for ; len(edits) >= editBytes; edits = edits[editBytes:] {
		word := (int(edits[0]) + int(edits[1])<<8) % (headWords + slots*slotWords)
		at := word * 8
		if word >= headWords {
			word -= headWords
			in := word % slotWords * 8
			if in >= countWords*8 {
				in += int(workload) - countWords*8
			}
			at = C.JE_HEAD_BYTES + word/slotWords*C.JE_SLOT_BYTES + in
		}
		if at+8 <= len(file) {
			copy(file[at:], edits[2:editBytes])
		}
	}
}

// EditSlot is Edit for all words of slot number i alone.
func EditSlot(file []byte, i int, edits []byte) {
	from := C.JE_HEAD_BYTES + i*C.JE_SLOT_BYTES
	for ; len(edits) >= editBytes; edits = edits[editBytes:] {
		word := (int(edits[0]) + int(edits[1])<<8) % (C.JE_SLOT_BYTES / 8)
		if at := from + word*8; at+8 <= len(file) {
			copy(file[at:], edits[2:editBytes])
		}
	}
}
