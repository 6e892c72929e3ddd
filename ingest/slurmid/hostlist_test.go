package slurmid

import (
	"fmt"
	"strings"
	"testing"
)

func TestHostlistHolds(t *testing.T) {
	for _, c := range []struct{ list, in, out string }{
		{"n1", "n1", "n2 n11 n N1 xn1"},
		{"n[1-3]", "n1 n2 n3 n1.site.example", "n0 n4 n01 n n13 n1x"},
		{"n[8-12]", "n8 n9 n10 n12", "n7 n13 n08 n1 n012"},
		{"n[08-12,20],login", "n08 n09 n12 n20 login", "n8 n13 n020 n login1"},
		{"gpu[01-02]x[1,3]", "gpu01x1 gpu02x3", "gpu01x2 gpu03x1 gpu01 gpu1x1"},
		{"r[1-2][3-4]", "r13 r24", "r15 r3 r134"},
		{"n[1-100]-ib.site", "n7-ib.site n100-ib.site", "n7 n101-ib.site"},
		{"n[99999999999999999999-100000000000000000001]", "n100000000000000000000", "n1 n100000000000000000002"},
	} {
		for i, hosts := range []string{c.in, c.out} {
			for _, host := range strings.Fields(hosts) {
				if holds, known := HostlistHolds(c.list, host); holds != (i == 0) || !known {
					t.Errorf("%s, %s: %v, %v", c.list, host, holds, known)
				}
			}
		}
	}
	for _, list := range []string{"", "None assigned", "(null)", "n[1", "n[]", "n[a-b]", "n1]", "n[1-3]]", "n1,,n2", strings.Repeat("n", 1024)} {
		if holds, known := HostlistHolds(list, "n1"); known {
			t.Errorf("%.20q: %v, known", list, holds)
		}
	}
}

// An expression that matches in very many ways is decided quickly. Trying all of them, 20 to
// the power of 25, would never end.
func TestHostlistHostile(t *testing.T) {
	list := strings.Repeat("["+strings.Repeat("1,", 19)+"1]", 25)
	if holds, known := HostlistHolds(list, strings.Repeat("1", 24)+"2"); holds || known {
		t.Errorf("%v, %v", holds, known)
	}
}

func FuzzHostlistHolds(f *testing.F) {
	f.Add("n[1-3,08],gpu[01-04]x[2],a", 2)
	f.Fuzz(func(t *testing.T, list string, n int) {
		holds, known := HostlistHolds(list, fmt.Sprint("n", n))
		if holds && !known {
			t.Error("held, and not known")
		}
	})
}
