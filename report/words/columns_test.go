package words

import (
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	names := map[string]bool{}
	for _, c := range columns {
		if c.Doc == "" || names[strings.ToLower(c.Name)] || otherNames[strings.ToLower(c.Name)] != "" {
			t.Errorf("field %s: no text, or its name is taken", c.Name)
		}
		names[strings.ToLower(c.Name)] = true
	}
	for other, name := range otherNames {
		if !names[name] {
			t.Errorf("%s stands for %s, which is no field", other, name)
		}
	}
	shown(listColumns + wideColumns)
	for _, bad := range []string{"", "jobid,", "nosuch", "pe%", "pe%0", "pe%x", "pe%1001", "pe%-1001", "pe%20%3", "\x1b"} {
		if _, err := ParseColumns(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
