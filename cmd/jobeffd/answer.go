package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

// The second process of jobeffd answers people (server.Answer). It is the same program with
// --answer=LISTENERS, the kind of each listener. On its standard input comes JSON: the
// configuration, so that both have one whatever becomes of the file, then what Slurm says of who
// may see whose jobs, as often as that changes; when it ends, so does the process. On its standard
// output it says that it is ready, and then the reason of each refusal, a line each, for the metrics.
const (
	handoverFile  = 3 // where connections are handed over
	firstListener = 4

	answerReady = "ready"
)

// answers runs the second process for as long as the first one lives.
type answers struct {
	cfg       *etc.Config
	debug     bool
	stderr    io.Writer
	log       zerolog.Logger
	refused   func(reason string)
	handover  *os.File // the second process's end
	listeners []*os.File
	kinds     string

	mu     sync.Mutex
	access *slurm.Access // what was said last
	stdin  io.Writer     // of the process; nil: there is none
}

// prepare takes the listeners over; connections that are handed over come to the returned one.
func (a *answers) prepare(listeners []net.Listener) (handed net.Listener, err error) {
	for _, l := range listeners {
		f, kind, err := server.ListenerFile(l)
		if err != nil {
			return nil, err
		}
		a.listeners = append(a.listeners, f)
		a.kinds += string(kind)
	}
	keeps, handover, err := server.HandoverPair()
	if err != nil {
		return nil, err
	}
	a.handover = handover
	return server.Handed(keeps), nil
}

// start runs the process until the background ends, and returns when it answers, or ctx ends.
func (a *answers) start(ctx, background context.Context, wg *sync.WaitGroup) error {
	answering, failed := make(chan struct{}), make(chan error, 1)
	wg.Go(func() {
		if err := a.run(background, sync.OnceFunc(func() { close(answering) })); err != nil {
			failed <- err
		}
	})
	select {
	case <-answering:
	case <-ctx.Done():
	case err := <-failed:
		return fmt.Errorf("the process that answers people did not start: %w", err)
	}
	return nil
}

// againAfter is how long it takes until a process is started anew that did not even begin.
const againAfter = time.Second

// run starts the process, calls ready when it answers, and starts it again whenever it ends
// before the context does. An error is that it did not answer the first time.
func (a *answers) run(ctx context.Context, ready func()) error {
	runtime.LockOSThread() // until it ends: the process dies with the thread that made it (Pdeathsig)
	promptly()
	for first := true; ; first = false {
		begun, err := a.once(ctx, ready)
		if ctx.Err() != nil {
			return nil
		}
		if first && !begun {
			return err
		}
		a.log.Error().AnErr("why", err).Msg("the process that answers people ended: it is started again")
		if !begun {
			select {
			case <-ctx.Done():
			case <-time.After(againAfter):
			}
		}
	}
}

// promptly gives the calling thread, and with it the processes that it makes, the usual priority
// where jobeffd.service took it away (Nice=) and lets it have it (LimitNICE=): who asks for a job
// does not wait until all reports are taken.
func promptly() {
	const usual = 20 // nice 0, as the kernel counts
	if own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil && own < usual {
		syscall.Setpriority(syscall.PRIO_PROCESS, 0, 0)
	}
}

// once runs the process until it ends, which it does after the context; begun says whether
// it answered.
func (a *answers) once(ctx context.Context, ready func()) (begun bool, err error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "--answer="+a.kinds, fmt.Sprintf("--debug=%t", a.debug))
	cmd.Args[0] = os.Args[0]
	cmd.Stderr, cmd.ExtraFiles = a.stderr, append([]*os.File{a.handover}, a.listeners...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	cmd.Cancel, cmd.WaitDelay = stdin.Close, answerEnd
	if err := cmd.Start(); err != nil {
		return false, err
	}
	json.NewEncoder(stdin).Encode(a.cfg) // where it ends already, Wait says why
	for said := bufio.NewScanner(stdout); said.Scan(); {
		if line := said.Text(); line != answerReady {
			a.refused(line)
			continue
		}
		begun = true
		a.attach(stdin)
		ready()
	}
	a.attach(nil)
	return begun, cmd.Wait()
}

// answerEnd is how long the process may take to end before it is killed: it lets what it has
// begun finish.
const answerEnd = 15 * time.Second

// attach says where to tell what Slurm grants, and tells what is known.
func (a *answers) attach(stdin io.Writer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stdin = stdin
	a.tell()
}

// setAccess tells the process who may see whose jobs.
func (a *answers) setAccess(access *slurm.Access) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.access = access
	a.tell()
}

// tell writes; a process that ended is told when there is another.
func (a *answers) tell() {
	if a.stdin != nil && a.access != nil {
		json.NewEncoder(a.stdin).Encode(a.access)
	}
}

// answer is the second process: it answers people until its standard input ends.
func answer(stdin io.Reader, kinds string, log zerolog.Logger) (err error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT) // a terminal and systemd send them to both: the first process ends this one
	to, listeners, err := inherited(kinds)
	if err != nil {
		return fmt.Errorf("--answer is for jobeffd itself, start it without: %w", err)
	}
	os.WriteFile("/proc/self/comm", []byte("jobeffd"), 0) // for ps, where it would be exe
	said := json.NewDecoder(stdin)
	cfg := new(etc.Config)
	if err := said.Decode(cfg); err != nil {
		return err
	}
	o, err := options(cfg, log)
	if err != nil {
		return err
	}
	if o.Store, err = store.OpenBeside(cfg.Server.Database); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Store.Close()) }()
	if o.Pages, err = pages(cfg, o.Store); err != nil {
		return err
	}
	o.Refused = func(reason string) { fmt.Println(reason) }
	srv := server.New(o)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		defer end()
		for {
			var access slurm.Access
			if said.Decode(&access) != nil {
				return
			}
			srv.SetAccess(&access)
		}
	}()
	fmt.Println(answerReady)
	return srv.Answer(ctx, to, listeners...)
}

// inherited is what the first process gave to the second.
func inherited(kinds string) (to *net.UnixConn, listeners []net.Listener, err error) {
	if to, err = server.HandoverConn(os.NewFile(handoverFile, "handover")); err != nil {
		return nil, nil, err
	}
	for i, kind := range kinds {
		l, err := server.FileListener(os.NewFile(uintptr(firstListener+i), "listener"), kind)
		if err != nil {
			return nil, nil, err
		}
		listeners = append(listeners, l)
	}
	return to, listeners, nil
}
