package gpu

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -Werror
// #cgo LDFLAGS: -ldl
// #include "je_nvml.h"
import "C"

import (
	"cmp"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// Read is the main of the reader: it writes its answer, and returns the exit code. Its arguments are the job's start in
// us and the names of GPUs. It leaves NVML to the kernel, since closing it may hang.
func Read(args []string, out io.Writer) int {
	time.AfterFunc(2*mostTime, func() { os.Exit(1) }) // whoever started it may be dead
	runtime.LockOSThread()                            // no setuid program gives this thread rights
	giveUpRights := node.BecomeNobody
	if os.Geteuid() != 0 { // a person looks, and sees what the epilog would
		giveUpRights = func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }
	}
	if err := giveUpRights(); err != nil || len(args) != 2 {
		return 1
	}
	from, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return 1
	}
	unlimited := unix.Rlimit{}
	if unix.Getrlimit(unix.RLIMIT_AS, &unlimited) == nil {
		unlimited.Cur = unlimited.Max
		unix.Setrlimit(unix.RLIMIT_AS, &unlimited) // NVML maps far more than it uses
	}
	var names []string
	if args[1] != "" {
		names = strings.Split(args[1], ",")
	}
	if json.NewEncoder(out).Encode(read(names, from)) != nil {
		return 1
	}
	return 0
}

// read asks the driver.
func read(names []string, from int64) (a answer) {
	if C.je_nvml_load() != nil {
		return answer{Why: job.GPUNoDriver}
	}
	var n C.uint
	if code := C.je_nvml_init(&n); code != 0 {
		return answer{Why: whyOf(code)}
	}
	all := make([]found, min(int(n), job.MostGPUs))
	for i := range all {
		f := &all[i]
		f.code = C.je_gpu_open(C.uint(i), &f.gpu)
		f.uuid = C.GoString(&f.gpu.uuid[0])
		f.minor, f.place, f.isMIG = int(f.gpu.minor), uint64(f.gpu.place), f.gpu.is_mig != 0
	}
	chosen, why := choose(all, names)
	if why != "" {
		return answer{Why: why}
	}
	for _, f := range chosen {
		a.GPUs = append(a.GPUs, f.account(from))
	}
	return a
}

// found is a GPU of this machine.
type found struct {
	gpu   C.struct_je_gpu
	code  C.uint // why it could not be looked at; 0: it was
	uuid  string
	minor int    // of /dev/nvidiaN
	place uint64 // among the PCI buses
	isMIG bool
}

// choose finds the GPUs of these names, in their order; without names, all of them.
//
// A UUID names one GPU. Slurm's number does not: it is the place in gres.conf, which for AutoDetect=nvml is the order on
// the PCI buses, and where a person wrote it mostly the order of device files (gres.conf(5), and Slurm's
// gres_common_prep_set_env). On some machines these orders differ. The numbers serve if both orders make of them the
// same set of GPUs, as is always so of a job that had all.
func choose(all []found, names []string) (chosen []*found, why string) {
	order := make([]*found, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	if len(names) == 0 {
		return order, ""
	}
	for _, f := range order {
		if f.isMIG { // Slurm numbers its parts
			return nil, job.GPUMIG
		}
	}
	slices.SortStableFunc(order, func(a, b *found) int { return cmp.Compare(a.place, b.place) })
	var byFile []*found
	for _, name := range names {
		i := slices.IndexFunc(order, func(f *found) bool { return f.uuid == name })
		k := i
		if number, err := strconv.Atoi(name); err == nil {
			if slices.ContainsFunc(order, func(f *found) bool { return f.code != 0 }) {
				return nil, job.GPUFailed // one without a place shifts the others
			}
			i, k = number, slices.IndexFunc(order, func(f *found) bool { return f.minor == number })
		}
		if i < 0 || i >= len(order) || k < 0 || slices.Contains(chosen, order[i]) {
			return nil, job.GPUUnnumbered
		}
		chosen, byFile = append(chosen, order[i]), append(byFile, order[k])
	}
	for _, f := range byFile {
		if !slices.Contains(chosen, f) {
			return nil, job.GPUUnnumbered
		}
	}
	return chosen, ""
}

// account reads the accounts of a GPU since a moment, in us.
func (f *found) account(from int64) device {
	d := device{UUID: f.uuid}
	if f.code != 0 {
		d.Why = whyOf(f.code)
		return d
	}
	var accounts C.struct_je_gpu_accounts
	switch code := C.je_gpu_accounts(&f.gpu, &accounts); {
	case code != 0:
		d.Why = whyOf(code)
	case accounts.is_persistent == 0:
		d.Why = job.GPUNoPersistence
	case accounts.is_on == 0:
		d.Why = job.GPUNoAccounting
	}
	if f.isMIG { // for all else accounting is just off
		d.Why = job.GPUMIG
	}
	if d.Why != "" {
		return d
	}
	pids, code := f.pids()
	if code != 0 {
		d.Why = whyOf(code)
		return d
	}
	d.Full = len(pids) >= int(accounts.room)
	for _, pid := range pids {
		var p C.struct_je_gpu_process
		switch code := C.je_gpu_process(&f.gpu, pid, &p); {
		case code == C.JE_NVML_NOT_FOUND: // overwritten just now
			continue
		case code != 0:
			return device{UUID: f.uuid, Why: whyOf(code)}
		}
		isRunning := p.is_running != 0
		switch {
		case int64(p.start_us) >= from:
			d.Processes = append(d.Processes, process{PID: int64(pid), Start: int64(p.start_us), Life: int64(p.life_ms), Samples: int64(p.samples),
				Busy: int64(p.busy), Memory: int64(p.memory), Running: isRunning})
		case isRunning || int64(p.start_us)+1000*int64(p.life_ms) >= from:
			d.Before = d.Before || p.memory != 0
		default:
			d.Older = true
		}
	}
	return d
}

// mostPIDs bounds what the driver may say that it keeps.
const mostPIDs = 1 << 16

// pids are the processes that the driver keeps. More may come between the two calls.
func (f *found) pids() ([]C.uint, C.uint) {
	n := C.uint(0)
	code := C.je_gpu_pids(&f.gpu, &n, nil)
	if code != 0 && code != C.JE_NVML_INSUFFICIENT_SIZE || n == 0 {
		return nil, code
	}
	n = min(n, mostPIDs) + 64
	pids := make([]C.uint, n)
	code = C.je_gpu_pids(&f.gpu, &n, &pids[0])
	return pids[:min(int(n), len(pids))], code
}

// whyOf is a code of NVML's as a reason.
func whyOf(code C.uint) string {
	switch code {
	case C.JE_NVML_NOT_SUPPORTED:
		return job.GPUUnsupported
	case C.JE_NVML_NO_PERMISSION:
		return job.GPUForbidden
	case C.JE_NVML_NO_DRIVER:
		return job.GPUNoDriver
	}
	return job.GPUFailed
}
