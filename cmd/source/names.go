package source

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"slices"

	"github.com/ianlancetaylor/demangle"
)

// module holds what was read of one file with code.
type module struct {
	code    *elf.File   // nil: it was not opened
	names   []*elf.File // files with symbols or lines, code among them
	symbols []symbol    // functions, by address
	lines   *dwarf.Data // nil: none
	why     string      // why there is no code, or no line
	links   map[uint64]string
}

type symbol struct {
	at, end uint64
	name    string
}

// Bounds of what is read of one module.
const (
	mostSymbols = 4 << 20
	mostEntries = 2 << 20 // of a unit's DWARF
	noLines     = "it was built without -g"
	wrongLines  = "its DWARF cannot be read"
)

// read reads symbols and DWARF of the files.
func (m *module) read() {
	for _, e := range m.names {
		for _, list := range []func() ([]elf.Symbol, error){e.Symbols, e.DynamicSymbols} {
			all, _ := list()
			for _, s := range all[:min(len(all), mostSymbols)] {
				if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Section != elf.SHN_UNDEF && s.Value+s.Size > s.Value {
					m.symbols = append(m.symbols, symbol{s.Value, s.Value + s.Size, s.Name})
				}
			}
		}
		if m.lines == nil && hasLines(e) {
			lines, err := e.DWARF()
			if m.lines = lines; err != nil {
				m.lines, m.why = nil, cmp.Or(m.why, wrongLines)
			}
		}
	}
	slices.SortFunc(m.symbols, func(a, b symbol) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name)) })
	m.symbols = slices.Compact(m.symbols)
}

// function returns the symbol of the function that holds an address; false if none is known.
func (m *module) function(at uint64) (symbol, bool) {
	i, _ := slices.BinarySearchFunc(m.symbols, at, func(s symbol, at uint64) int { return cmp.Compare(s.at, at+1) })
	for ; i > 0; i-- {
		if s := m.symbols[i-1]; at < s.end {
			return s, true
		} else if at-s.at > 1<<30 {
			break
		}
	}
	return symbol{}, false
}

// name names an address. If it finds no line, Why says what is wrong with the file.
func (m *module) name(at uint64) (f found) {
	defer func() {
		if recover() != nil {
			f.Why = wrongLines
		}
	}()
	if s, is := m.function(at); is { // decoded, a C++ name may double its length again and again
		f.Symbol = demangle.Filter(s.name[:min(len(s.name), 4*mostName)], demangle.NoParams, demangle.MaxLength(8))
	}
	if m.lines == nil {
		f.Why = cmp.Or(m.why, noLines)
		return f
	}
	r := m.lines.Reader()
	unit, err := r.SeekPC(at)
	if err != nil {
		f.Why = noLines
		return f
	}
	f.File, f.Line = m.line(unit, at)
	if f.Line == 0 {
		f.Why = noLines
	}
	f.Symbol = cmp.Or(m.inlined(r, at), f.Symbol)
	return f
}

func (m *module) line(unit *dwarf.Entry, at uint64) (file string, line int) {
	lr, err := m.lines.LineReader(unit)
	if err != nil || lr == nil {
		return "", 0
	}
	// LineReader.SeekPC expects a sorted table, and that of a unit with several sections is not sorted.
	var last, e dwarf.LineEntry
	last.EndSequence = true
	for range mostEntries {
		if err := lr.Next(&e); err != nil {
			break
		}
		if !last.EndSequence && last.Address <= at && at < e.Address && last.File != nil {
			return last.File.Name, last.Line
		}
		last = e
	}
	return "", 0
}

// inlined returns the name of the innermost function that holds an address, inlined or not. The line belongs to
// that function, too. r must be behind the unit's own entry.
func (m *module) inlined(r *dwarf.Reader, at uint64) (name string) {
	depth := 1
	for range mostEntries {
		e, err := r.Next()
		if err != nil || e == nil {
			return name
		}
		if e.Tag == 0 {
			if depth--; depth == 0 {
				return name
			}
			continue
		}
		inside := true
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
			if inside = m.covers(e, at); inside && e.Tag != dwarf.TagLexDwarfBlock {
				name = cmp.Or(m.nameOf(e), name)
			}
		}
		if !e.Children {
			continue
		}
		if inside {
			depth++
		} else {
			r.SkipChildren()
		}
	}
	return name
}

func (m *module) covers(e *dwarf.Entry, at uint64) bool {
	ranges, err := m.lines.Ranges(e)
	return err == nil && slices.ContainsFunc(ranges, func(r [2]uint64) bool { return at >= r[0] && at < r[1] })
}

// nameOf returns an entry's name, or that of the entry that it refers to.
func (m *module) nameOf(e *dwarf.Entry) string {
	for range 4 {
		if name, is := e.Val(dwarf.AttrName).(string); is {
			return name
		}
		to, is := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !is {
			if to, is = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !is {
				return ""
			}
		}
		r := m.lines.Reader()
		r.Seek(to)
		next, err := r.Next()
		if err != nil || next == nil {
			return ""
		}
		e = next
	}
	return ""
}
