package inert

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, wide, ascii string }{
		{"lj-melt 4", "lj-melt 4", "lj-melt 4"},
		{"Müller", "Müller", `M\u00fcller`},
		{"計算", "計算", `\u8a08\u7b97`},
		{"a\tb", "a b", "a b"},
		{"a\r\nb\x1b[31m", `a\x0d\x0ab\x1b[31m`, `a\x0d\x0ab\x1b[31m`},
		{"\u202egnp", `\u202egnp`, `\u202egnp`},
		{"\xff\u0085\u2028", `\xff\u0085\u2028`, `\xff\u0085\u2028`},
		{"e\u0301\u200b", `e\u0301\u200b`, `e\u0301\u200b`},
		{"\x7f", `\x7f`, `\x7f`},
		{"\U000e0041", `\ue0041`, `\ue0041`},
	} {
		if got := Text(c.in, true); got != c.wide {
			t.Errorf("Text(%q, wide) = %q, want %q", c.in, got, c.wide)
		}
		if got := Text(c.in, false); got != c.ascii {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.ascii)
		}
	}
	if got := Text(strings.Repeat("x", 1<<20), true); len(got) != longestMessage+3 {
		t.Errorf("a long text has %d bytes", len(got))
	}
}
