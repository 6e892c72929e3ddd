package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// request is what front.c asks for, in lines `key value`. All of it comes from root.
type request struct {
	runDir string // /run/jobeff/notes
	config string // path of jobeff.toml
	sender string // path of jobeff-ingest; "": not installed
	jobID  uint32
	uid    uint32
	asked  string // "off": --jobeff=off
	pipe   int    // descriptor between fold and ship
	dir    string // name in runDir to be folded
	// deadline is when front.c ends this process.
	deadline time.Time
	giveUp   bool // … without its record: its fold failed too often
}

func parseRequest(text string) (*request, error) {
	r := &request{pipe: -1}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), " ")
		if err := r.set(key, value); err != nil {
			return nil, fmt.Errorf("spank: request %q: %w", lines.Text(), err)
		}
	}
	return r, lines.Err()
}

func (r *request) set(key, value string) (err error) {
	var n uint64
	switch key {
	case "run_dir":
		r.runDir = value
	case "config":
		r.config = value
	case "sender":
		r.sender = value
	case "job_id":
		n, err = strconv.ParseUint(value, 10, 32)
		r.jobID = uint32(n)
	case "uid":
		n, err = strconv.ParseUint(value, 10, 32)
		r.uid = uint32(n)
	case "asked":
		r.asked = value
	case "pipe":
		r.pipe, err = strconv.Atoi(value)
	case "most_ms":
		n, err = strconv.ParseUint(value, 10, 31)
		r.deadline = time.Now().Add(time.Duration(n) * time.Millisecond)
	case "fold", "give_up":
		r.dir, r.giveUp = value, key == "give_up"
	}
	return err
}

// clean replaces control characters, so that a value stays on its line.
func clean(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c == 0x7f {
			b[i] = '?'
		}
	}
	return string(b)
}
