package shell

import (
	"os/exec"
	"testing"
	"time"

	"jobeff/policy"
)

// TestLine: a line holds numbers and fixed words. A name in it is one word to a shell, or left out.
func TestLine(t *testing.T) {
	r := &policy.Request{Kind: policy.AskAsItRan, Nodes: 2, Tasks: 8, CPUsPerTask: 4, Memory: 1536 << 20, Time: 26*time.Hour + 5*time.Minute}
	const line = "sbatch --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=4 --mem=1536M --time=1-02:05:00"
	for name, word := range map[string]string{
		"":               "",
		"fit":            " --job-name=fit",
		"my fit":         " --job-name='my fit'",
		"$(rm x)'; `w`":  ` --job-name='$(rm x)'\''; ` + "`w`'",
		"-x --wrap=w":    " --job-name='-x --wrap=w'",
		"two\nlines":     "",
		"\x1b[31mred":    "",
		"\u202egnp.exe":  "",
		`inert \x1b[31m`: "",
	} {
		r.JobName = name
		if got, want := Request(r), line+word+" YOUR-SCRIPT"; got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
		if word == "" {
			continue
		}
		out, err := exec.Command("sh", "-c", "sbatch() { printf '%s' \"$7\"; }; "+Request(r)).Output()
		if err != nil || string(out) != "--job-name="+name {
			t.Errorf("a shell reads %q of %q: %v", out, name, err)
		}
	}
	if got := Request(&policy.Request{Why: "no job"}); got != "" {
		t.Errorf("%s, though there is none", got)
	}
}
