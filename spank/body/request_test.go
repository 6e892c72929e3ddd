package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRequest(t *testing.T) {
	got, err := parseRequest("run_dir /run/jobeff\nconfig /etc/a b.toml\nsender \njob_id 12\nuid 1001\nasked off\npipe 4\nfold .done-12-ab\nlater thing\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &request{runDir: "/run/jobeff", config: "/etc/a b.toml", jobID: 12, uid: 1001, asked: "off", pipe: 4, dir: ".done-12-ab"}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(request{})); d != "" {
		t.Error(d)
	}
	if got, err = parseRequest("give_up .done-1-ef\n"); err != nil || !got.giveUp || got.dir != ".done-1-ef" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseRequest("job_id 99999999999\n"); err == nil {
		t.Error("a job id beyond 32 bits was taken")
	}
}

func TestClean(t *testing.T) {
	if got := clean("a\nuid 0\x1b[31m\x7fü"); got != "a?uid 0?[31m?ü" {
		t.Errorf("%q", got)
	}
}
