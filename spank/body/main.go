// Package main is the plugin's Go body: what root does at a job's start and end
// on a node, where C would be too long-winded. It is built as a shared object and
// loaded only by spank/front.c, in forked children of `slurmstepd spank prolog`
// and `slurmstepd spank epilog`, under limits: whatever goes wrong in here ends
// that child and nothing else.
//
// Before it in the flow stands preload, which fills the record of a job while it
// runs; after it ingest, whose fold makes the node's report and whose sender
// (jobeff-ingest send) brings it to the server.
package main

// #include <string.h>
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryLimit is where Go's collector starts to work hard; front.c's own limit,
// which ends the process, lies above it. Bytes.
const memoryLimit = 256 << 20

// request is what the C front says, in lines `key value`; every source of it is
// root's.
type request struct {
	runDir string // /run/jobeff
	config string // path of jobeff.toml
	sender string // path of jobeff-ingest; "": not installed
	jobID  uint32
	uid    uint32
	asked  string   // "off": --jobeff=off
	pipe   int      // descriptor between fold and ship
	fold   []string // names in runDir to be folded
	giveUp []string // likewise, of which the fold failed too often
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
	case "fold":
		r.fold = append(r.fold, value)
	case "give_up":
		r.giveUp = append(r.giveUp, value)
	}
	return err
}

// run does one entry point's work; what it returns is the child's exit status,
// what it prints goes to slurmd's log.
func run(text *C.char, point string, work func(*request) error) C.int {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetTraceback("single")
	hitFailpoint(point)
	r, err := parseRequest(C.GoString(text))
	if err == nil {
		err = work(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

//export jobeff_body_prolog
func jobeff_body_prolog(text *C.char) C.int { return run(text, "prolog", prolog) }

//export jobeff_body_fold
func jobeff_body_fold(text *C.char) C.int { return run(text, "epilog", fold) }

//export jobeff_body_light
func jobeff_body_light(text *C.char) C.int { return run(text, "epilog", light) }

//export jobeff_body_ship
func jobeff_body_ship(text *C.char) C.int { return run(text, "ship", ship) }

func main() {}
