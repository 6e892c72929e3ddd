package preload

import (
	"os"
	"syscall"
	"testing"
)

// The file system sets 32 KiB aside for each rank. A rank of few calls touches at most 20 KiB of
// them.
func TestMemoryOfARecord(t *testing.T) {
	const ranks, most, headBytes, slotBytes = 4, 20 << 10, 4 << 10, 32 << 10
	eachFamily(t, func(t *testing.T, f family) {
		file := newRecord(t)
		ending(t, f, file, ranks)
		r, err := os.Open(file)
		must(t, err)
		defer r.Close()
		var s syscall.Stat_t
		must(t, syscall.Fstat(int(r.Fd()), &s))
		if held := s.Blocks * 512; held != headBytes+ranks*slotBytes {
			t.Errorf("%d ranks hold %d bytes", ranks, held)
		}
		if got := touched(t, r); got <= headBytes || got > headBytes+ranks*most {
			t.Errorf("%d ranks touched %d bytes", ranks, got)
		}
	})
}

// touched is how many bytes of a tmpfs's file lie in pages that somebody wrote to: the kernel
// calls a page that is only set aside a hole.
func touched(t *testing.T, file *os.File) (bytes int64) {
	const seekData, seekHole = 3, 4
	for end := int64(0); ; {
		begin, err := file.Seek(end, seekData)
		if err != nil { // ENXIO: nothing but a hole follows
			return bytes
		}
		end, err = file.Seek(begin, seekHole)
		must(t, err)
		bytes += end - begin
	}
}
