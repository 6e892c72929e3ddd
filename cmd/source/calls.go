package source

import (
	"debug/elf"
	"encoding/binary"
)

// calls reports whether the instruction of `outer` whose last byte is at call surely calls the function of `inner`
// that holds the address at. It may call it directly, or through a name that the loader binds. A chain of frames
// skips functions without frame pointers, so without such a call the next frame may be no caller.
func calls(outer *module, call uint64, inner *module, at uint64) bool {
	function, is := inner.function(at)
	if !is || outer.code == nil {
		return false
	}
	target, slot, is := outer.callAt(call)
	if is && outer == inner && target == function.at {
		return true
	}
	if target != 0 && slot == 0 {
		slot = outer.jumpAt(target)
	}
	return slot != 0 && inner.isNamed(function.at, outer.linked()[slot])
}

// callAt decodes the call whose last byte is at `last`. It goes to target, or to the address that slot holds.
func (m *module) callAt(last uint64) (target, slot uint64, is bool) {
	next := last + 1
	switch m.code.Machine {
	case elf.EM_X86_64:
		if b := m.bytes(next-5, 5); b != nil && b[0] == 0xe8 {
			return next + signed(b[1:]), 0, true
		}
		if b := m.bytes(next-6, 6); b != nil && b[0] == 0xff && b[1] == 0x15 { // call *x(%rip)
			return 0, next + signed(b[2:]), true
		}
	case elf.EM_AARCH64:
		if b := m.bytes(next-4, 4); b != nil {
			if word := binary.LittleEndian.Uint32(b); word>>26 == 0x25 { // bl
				return next - 4 + uint64(int64(int32(word<<6))>>4), 0, true
			}
		}
	}
	return 0, 0, false
}

// jumpAt returns the slot through which the linker's code at an address jumps; 0 if there is no such code.
func (m *module) jumpAt(at uint64) uint64 {
	b := m.bytes(at, 12)
	if b == nil || m.code.Machine != elf.EM_X86_64 {
		return 0
	}
	from := 0
	if binary.LittleEndian.Uint32(b) == 0xfa1e0ff3 { // endbr64
		from = 4
	}
	if b[from] == 0xf2 { // bnd
		from++
	}
	if b[from] != 0xff || b[from+1] != 0x25 { // jmp *x(%rip)
		return 0
	}
	return at + uint64(from) + 6 + signed(b[from+2:])
}

func signed(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// bytes returns n bytes of code from an address on; nil if they are not all there.
func (m *module) bytes(at uint64, n int) []byte {
	for _, p := range m.code.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && at >= p.Vaddr && at-p.Vaddr < p.Filesz && uint64(n) <= p.Filesz-(at-p.Vaddr) {
			b := make([]byte, n)
			if _, err := p.ReadAt(b, int64(at-p.Vaddr)); err == nil {
				return b
			}
		}
	}
	return nil
}

// linked returns, by slot, the name of the function to which the loader binds it.
func (m *module) linked() map[uint64]string {
	if m.links != nil {
		return m.links
	}
	m.links = map[uint64]string{}
	symbols, err := m.code.DynamicSymbols()
	if err != nil {
		return m.links
	}
	for _, s := range m.code.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_COMPRESSED != 0 || s.FileSize > mostRelocations {
			continue
		}
		data, err := s.Data()
		for ; err == nil && len(data) >= 24; data = data[24:] {
			at, of := m.code.ByteOrder.Uint64(data), m.code.ByteOrder.Uint64(data[8:])>>32
			if of > 0 && of <= uint64(len(symbols)) && m.code.ByteOrder.Uint64(data[16:]) == 0 {
				m.links[at] = symbols[of-1].Name
			}
		}
	}
	return m.links
}

const mostRelocations = 64 << 20 // bytes

// isNamed reports whether the function that begins at an address has this name.
func (m *module) isNamed(at uint64, name string) bool {
	for _, s := range m.symbols {
		if s.at == at && s.name == name && name != "" {
			return true
		}
	}
	return false
}
