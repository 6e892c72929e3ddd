// Package gpu asks NVIDIA's driver what the GPUs of a job did. The driver's accounts tell it after the job's processes
// are dead, so nothing is needed in the job.
//
//  1. Ask, in the epilog, starts a reader. It does not trust what that answers, and waits for it no longer than the
//     job's end can.
//  2. Read is that reader: a process without rights, which holds nothing but its answer's pipe and a lock. It loads
//     libnvidia-ml.so.1, which may hang in the kernel for ever, where no signal reaches it. While a reader lives, its
//     lock keeps others from being started.
//
// Before this package stands ingest/node, which says which GPUs a job had. After it the report goes to the outbox.
package gpu

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// Name is argument 0 of the reader. A program that is named in Reader.Program must call Read if it is started so.
const Name = "jobeff-gpus"

// Driver is there while NVIDIA's driver is loaded. Without it no reader is started.
const Driver = "/proc/driver/nvidia/version"

// Reader says how a reader is started.
type Reader struct {
	Program string        // its path
	Lock    string        // a file in a folder that only root can write; "": none, for a person who looks
	Most    time.Duration // that the answer may take; mostTime if it is longer
	Driver  string        // where the file Driver is, if it is elsewhere
	env     []string      // a test's environment
}

// An answer takes less than leastTime only if the driver is well and has little to tell.
const (
	mostTime  = 2 * time.Second
	leastTime = 200 * time.Millisecond
)

// mostAnswer bounds an answer, bytes. The processes of eight GPUs, 4,000 each, take half of it.
const mostAnswer = 8 << 20

// Ask fills in the report's GPUs, in the order of the question.
func Ask(r *job.NodeReport, q *node.GPUQuestion, reader Reader) {
	told, why := reader.ask(q.GPUs, r.Start)
	r.GPUs = make([]job.GPU, len(q.GPUs))
	for i := range r.GPUs {
		if r.GPUs[i].Why = why; why == "" {
			r.GPUs[i] = told[i].sum(r, q)
		}
	}
}

// Look says what the driver knows of all GPUs of this machine, for a person: why nothing would be known of each.
func (r Reader) Look() (gpus []job.GPU, why string) {
	told, why := r.ask(nil, time.Now())
	for i := range told {
		gpus = append(gpus, job.GPU{UUID: told[i].UUID, Why: told[i].Why})
	}
	return gpus, why
}

// device is what a reader answers of one GPU.
type device struct {
	UUID string `json:"uuid"`
	Why  string `json:"why"`
	// Full: the driver keeps no more processes. Older: it keeps one that ended before the job began, and so all that
	// came after that one, since it drops the oldest first; and it kept accounts when the job began.
	// Before: a process that held memory began before the job did, and was there after. It may be MPS's server, in which
	// the job's kernels run.
	Full      bool      `json:"full"`
	Older     bool      `json:"older"`
	Before    bool      `json:"before"`
	Processes []process `json:"processes"` // that started after the job
}

// process is one process that the driver kept accounts of. Numbers of -1 are not known.
type process struct {
	PID     int64 `json:"pid"`
	Start   int64 `json:"start"`   // us, CLOCK_REALTIME
	Life    int64 `json:"life"`    // ms
	Samples int64 `json:"samples"` // behind Busy
	Busy    int64 `json:"busy"`    // part of its life in which a kernel ran, 1/10000
	Memory  int64 `json:"memory"`  // most, bytes
	Running bool  `json:"running"`
}

// answer is what a reader writes.
type answer struct {
	Why  string   `json:"why"`
	GPUs []device `json:"gpus"`
}

// ask starts a reader for the GPUs of these names, all GPUs if there are none, and takes its answer. The reader is
// killed at the end, and nobody waits for it: neither ends one that hangs in the kernel.
func (r Reader) ask(names []string, from time.Time) ([]device, string) {
	if _, err := os.Stat(cmp.Or(r.Driver, Driver)); err != nil {
		return nil, job.GPUNoDriver
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "MIG-") }) {
		return nil, job.GPUMIG
	}
	if r.Most = min(r.Most, mostTime); r.Most < leastTime {
		return nil, job.GPUNotAsked
	}
	deadline := time.Now().Add(r.Most)
	lock, why := r.lock(deadline)
	if why != "" {
		return nil, why
	}
	defer lock.Close() // the reader holds it on
	out, stop, err := r.start(lock, fmt.Sprint(from.UnixMicro()), strings.Join(names, ","))
	if err != nil {
		return nil, job.GPUNotAsked
	}
	defer stop()
	defer out.Close()
	if out.SetReadDeadline(deadline) != nil {
		return nil, job.GPUFailed
	}
	return take(out, names)
}

// lock takes the lock of readers. Another epilog's may be at work, and is waited for. One that should have been killed
// hangs: nobody waits for that one.
func (r Reader) lock(deadline time.Time) (*os.File, string) {
	f, err := os.OpenFile(cmp.Or(r.Lock, os.DevNull), os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, job.GPUNotAsked
	}
	if r.Lock == "" {
		return f, ""
	}
	for {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			if os.Chtimes(r.Lock, time.Time{}, time.Now()) == nil {
				return f, ""
			}
			break
		}
		st, err := f.Stat()
		if err != nil || time.Since(st.ModTime()) > mostTime || time.Until(deadline) < leastTime {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.Close()
	return nil, job.GPUHangs
}

// start starts a reader. stop kills it.
func (r Reader) start(lock *os.File, args ...string) (out *os.File, stop func(), err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		defer null.Close()
		var p *os.Process
		env := append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, r.env...)
		p, err = os.StartProcess(r.Program, append([]string{Name}, args...), &os.ProcAttr{Dir: "/", Env: env, Files: []*os.File{null, in, null, lock}})
		if err == nil {
			return out, func() { p.Kill(); p.Release() }, nil
		}
	}
	out.Close()
	return nil, nil, err
}

// take reads an answer about the GPUs of these names. Its sender had hostile bytes of a driver's to read, and may be
// anybody.
func take(from io.Reader, names []string) ([]device, string) {
	var a answer
	all := io.LimitReader(from, mostAnswer)
	if err := json.NewDecoder(all).Decode(&a); err != nil {
		if os.IsTimeout(err) {
			return nil, job.GPUHangs
		}
		return nil, job.GPUFailed
	}
	switch {
	case a.Why != "":
		return nil, known(a.Why)
	case len(names) > 0 && len(a.GPUs) != len(names) || len(a.GPUs) > job.MostGPUs:
		return nil, job.GPUFailed
	}
	for i := range a.GPUs {
		d := &a.GPUs[i]
		if d.Why = known(d.Why); !job.IsGPU(d.UUID) || slices.ContainsFunc(d.Processes, process.isWrong) {
			*d = device{Why: job.GPUFailed}
		}
	}
	return a.GPUs, ""
}

// reasons are those that a reader gives.
var reasons = []string{job.GPUNoDriver, job.GPUFailed, job.GPUForbidden, job.GPUUnsupported, job.GPUMIG, job.GPUNoPersistence, job.GPUNoAccounting, job.GPUUnnumbered}

// known is a reader's reason.
func known(why string) string {
	if why != "" && !slices.Contains(reasons, why) {
		return job.GPUFailed
	}
	return why
}

// A process's numbers are below these: a year, and 2100.
const (
	mostLife  = 366 * 24 * 3600 * 1000
	mostStart = 4_102_444_800_000_000
)

func (p process) isWrong() bool {
	return p.PID < 0 || p.Start < 0 || p.Start > mostStart || p.Life < 0 || p.Life > mostLife || p.Busy < -1 || p.Busy > 10000 || p.Memory < -1 || p.Samples < -1
}
