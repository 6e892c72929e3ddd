package etc

import "testing"

// TestPlaces: where keys of the elements of an array of tables are set, however the file writes them.
func TestPlaces(t *testing.T) {
	const text = "\ufeff[other]\nname = 1\n\n[[rule]] # the first\nname = \"\"\"\n[[rule]]\nname\n\"\"\"\ntext = [\n 1, # ]\n 2,\n]\n" +
		"  [[rule.part]]\n  x = 1\n  [[rule.part]]\n  y = 2\n[[ 'rule' ]]\nname = 3\n"
	const inline = "# two\nrule = [{name = 1},\n {name = 2, text = 3}]\n"
	for _, c := range []struct {
		text  string
		index int
		key   []string
		want  string
	}{
		{text, 0, nil, "f:4"}, {text, 0, []string{"name"}, "f:5"}, {text, 0, []string{"text"}, "f:9"}, {text, 0, []string{"link"}, "f:4"},
		{text, 0, []string{"part"}, "f:13"}, {text, 0, []string{"part", "x"}, "f:14"}, {text, 0, []string{"part", "y"}, "f:16"},
		{text, 1, nil, "f:17"}, {text, 1, []string{"name"}, "f:18"}, {text, 1, []string{"text"}, "f:17"}, {text, 2, []string{"name"}, "f:4"},
		{inline, 0, []string{"name"}, "f:2"}, {inline, 1, []string{"text"}, "f:2"}, {inline, 1, []string{"link"}, "f:2"},
		{"[rule]\r\nname = 1\r\ntext.x = 2\r\n", 0, []string{"text", "x"}, "f:3"}, {"\nrule = 7\n", 0, []string{"name"}, "f:2"}, {"x = 1\n", 0, nil, "f:1"},
	} {
		p := Place{File: NewFile("f", []byte(c.text)), Table: "rule", Index: c.index}
		if got := p.At(c.key...); got != c.want {
			t.Errorf("%q: rule %d, %q is at %s, want %s", c.text, c.index, c.key, got, c.want)
		}
	}
	if n := len(statementsOf([]byte(text))); n != 11 {
		t.Errorf("%d statements", n)
	}
}
