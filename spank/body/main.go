// Package main is the plugin's Go body: what root does on a node when a job starts and ends,
// and what would be long in C. It is built as a shared object. Only spank/front.c loads it, in
// forked children of `slurmstepd spank prolog` and `slurmstepd spank epilog`, under limits:
// whatever goes wrong in here ends that child and nothing else.
//
// Before it in the flow comes preload, which fills the record while the job runs. It uses
// ingest/node, whose fold makes the node's report; after it jobeff-ingest send brings the
// report to the server.
package main

// #include <string.h>
import "C"

import (
	"fmt"
	"os"
	"runtime/debug"
)

// memoryLimit is where Go's collector starts to work hard, in bytes. front.c's own limit, which
// ends the process, is higher.
const memoryLimit = 256 << 20

// begin does nothing without the build tag failpoint.
var begin = func(point string, r *request) {}

// run does one entry point's work. It returns the child's exit status; its output goes to
// slurmd's log.
func run(text *C.char, point string, work func(*request) error) C.int {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetTraceback("single")
	r, err := parseRequest(C.GoString(text))
	if err == nil {
		begin(point, r)
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
