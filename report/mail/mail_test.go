package mail

import "testing"

func TestOwnTemplates(t *testing.T) {
	ts, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"digest.txt", "notice.txt"} {
		s, _ := ts.execute(n, sampleFor(n))
		t.Log("\n" + s)
	}
}
