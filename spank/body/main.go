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
	"fmt"
	"os"
	"runtime/debug"
)

// memoryLimit is where Go's collector starts to work hard; front.c's own limit,
// which ends the process, lies above it. Bytes.
const memoryLimit = 256 << 20

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
