package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

// DefaultMaxBytes is how much of a file is read unless Options say otherwise.
const DefaultMaxBytes = 64 << 20

// ErrForeign is the error for a record of another job: its nonce is not the one that root
// wrote.
var ErrForeign = errors.New("record: not the record of this job (wrong nonce)")

// ErrTorn is the error of Each for a live record that changed too often while it was read.
var ErrTorn = errors.New("record: it changes too fast to be read")

// Options say how far to trust a file.
type Options struct {
	MaxBytes int64     // 0: DefaultMaxBytes
	Nonce    *[16]byte // nil: any
	// Live: processes still write. Each then reads no slots of sections and windows, and
	// those of threads and of OpenMP as they are at any moment.
	Live bool
}

// File is an open record file.
type File struct {
	Head  Head
	r     io.ReaderAt
	slot  slotBuffer
	again *slotBuffer   // with Options.Live: the second reading; nil: nobody writes any more
	over  map[life]bool // ended processes that were handed out
}

// Open opens the record at path. It must be a regular file and no symbolic link. The caller
// closes it.
func Open(path string, opt Options) (*File, io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("record: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("record: %s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	rec, err := Read(f, st.Size(), opt)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return rec, f, nil
}

// Read reads the head of a record of size bytes.
func Read(r io.ReaderAt, size int64, opt Options) (*File, error) {
	head, err := readHead(r, size)
	if err != nil {
		return nil, err
	}
	if opt.Nonce != nil && head.Nonce != *opt.Nonce {
		return nil, ErrForeign
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	// not by size: at a slot that was cut off Each ends with an error
	room := (opt.MaxBytes - headBytes) / slotBytes
	head.Slots = int(min(int64(head.Slots), max(room, 0)))
	head.Used = min(head.Used, head.Slots)
	f := &File{Head: head, r: r}
	if opt.Live {
		f.again = new(slotBuffer)
	}
	return f, nil
}

// Each calls do with every claimed slot, in the order of the claims, and with every slot that was
// packed into a summary. It stops when do returns an error, and returns that error. It ends with
// io.ErrUnexpectedEOF at a slot that the file no longer holds completely, and with ErrTorn if a
// process kept writing to a slot; do may have had some slots before.
func (f *File) Each(do func(*Slot) error) error {
	if f.again == nil {
		return f.each(do)
	}
	before, err := f.packed()
	if err != nil {
		return err
	}
	if err := f.each(do); err != nil {
		return err
	}
	if after, err := f.packed(); err != nil || after != before {
		return errors.Join(ErrTorn, err) // a slot that was packed meanwhile may have been missed
	}
	return nil
}

// packed returns which slot takes packed ones, and how many bytes of them it has.
func (f *File) packed() (at [2]uint32, err error) {
	var summary [4]byte
	if err := f.fill(summary[:], offsetOfSummary); err != nil {
		return at, err
	}
	at[0] = binary.NativeEndian.Uint32(summary[:])
	if at[0] == 0 || int64(at[0]) > int64(f.Head.Slots) {
		return at, nil
	}
	err = f.fill(f.slot.bytes()[:slotHeadBytes], headBytes+int64(at[0]-1)*slotBytes)
	at[1] = f.slot.packedBytes()
	return at, err
}

func (f *File) each(do func(*Slot) error) error {
	f.over = map[life]bool{}
	packed := 0
	for i := range f.Head.Used {
		s, err := f.read(i)
		if err != nil {
			return err
		}
		switch {
		case s == nil, f.again != nil && !slices.Contains(readLive, s.Kind):
		case s.Kind == KindSummary:
			err = f.slot.eachPacked(func(b *slotBuffer) error {
				if packed++; packed > mostPacked {
					return errManyPacked
				}
				// an index that no slot of the file has
				s := b.decode(f.Head.Slots+packed, f.Head.Slots)
				s.Still = f.again != nil
				return f.once(s, do)
			})
		default:
			err = f.once(s, do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLive are the kinds of slots that are read while processes write.
var readLive = []Kind{KindProcess, KindThread, KindSummary, KindOpenMP}

// life tells processes apart: two of one pid start at different moments. A process has one slot
// of each kind and order.
type life struct {
	pid     int
	claimed uint64
	kind    Kind
	order   int
}

func lifeOf(s *Slot) life {
	if s.OpenMP != nil {
		return life{s.OpenMP.PID, s.OpenMP.Process, s.Kind, s.OpenMP.Order}
	}
	if s.Windows != nil {
		return life{s.Windows.PID, s.Windows.Process, s.Kind, s.Windows.Order}
	}
	return life{s.PID, s.ClaimedAt.Ticks, s.Kind, 0}
}

// once skips a process that was handed out before. A process that dies while it packs slots
// leaves its last slot twice: packed, and as it was.
func (f *File) once(s *Slot, do func(*Slot) error) error {
	if s.State == StateDone {
		l := lifeOf(s)
		if f.over[l] {
			return nil
		}
		f.over[l] = true
	}
	return do(s)
}

// tornTries is how often a slot is read again while its owner changes it.
const tornTries = 4

// read returns slot i, nil if nobody claimed it or it got no memory.
func (f *File) read(i int) (*Slot, error) {
	off := headBytes + int64(i)*slotBytes
	if err := f.fill(f.slot.bytes()[:slotHeadBytes], off); err != nil {
		return nil, err
	}
	if !f.slot.claimed() {
		return nil, nil
	}
	for try := 0; ; try++ {
		last := try == tornTries
		if f.again != nil {
			if s, err := f.readLive(i, off, last); s != nil || err != nil {
				return s, err
			}
			continue
		}
		if err := f.fill(f.slot.bytes(), off); err != nil {
			return nil, err
		}
		if last || !f.slot.torn() {
			return f.slot.decode(i, f.Head.Slots), nil
		}
	}
}

// readLive reads a slot twice; nil: the caller must read it again.
func (f *File) readLive(i int, off int64, last bool) (*Slot, error) {
	clock := Clock(f.slot.c.clock)
	from, _ := Now(clock)
	if err := errors.Join(f.fill(f.slot.bytes(), off), f.fill(f.again.bytes(), off)); err != nil {
		return nil, err
	}
	to, _ := Now(clock)
	still, whole := f.slot.settled(f.again)
	near := still || f.slot.goesOn(f.again, from, to)
	switch {
	case whole && (near || last):
		s := f.slot.decode(i, f.Head.Slots)
		s.Still, s.Nearly, s.ReadAt = still, near, to.Mono
		return s, nil
	case last:
		return nil, ErrTorn
	}
	return nil, nil
}

func (f *File) fill(b []byte, off int64) error {
	n, err := f.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("record: slot at byte %d: %w", off, err)
}
