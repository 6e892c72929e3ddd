package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReader(t *testing.T) {
	utf := map[string]string{"LANG": "de_DE.UTF-8"}
	for name, c := range map[string]struct {
		env     map[string]string
		columns int
		want    Options
	}{
		"terminal":             {utf, 100, Options{Width: 100, Color: true, Unicode: true}},
		"pipe":                 {utf, 0, Options{Unicode: true, Plain: true}},
		"no colour":            {map[string]string{"LANG": "C.utf8", "NO_COLOR": "1"}, 90, Options{Width: 90, Unicode: true}},
		"dumb":                 {map[string]string{"LANG": "C.utf8", "TERM": "dumb"}, 90, Options{Width: 90, Unicode: true}},
		"C":                    {map[string]string{"LANG": "C"}, 90, Options{Width: 90, Color: true}},
		"LC_ALL wins":          {map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, 90, Options{Width: 90, Color: true}},
		"LC_CTYPE before LANG": {map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, 90, Options{Width: 90, Color: true, Unicode: true}},
		"nothing set":          {nil, 90, Options{Width: 90, Color: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Reader(func(k string) string { return c.env[k] }, c.columns)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
