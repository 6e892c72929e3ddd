package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"syscall"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sys/unix"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// ship runs as root. It takes the reports of fold, which runs as nobody, and delivers them.
func ship(r *request) error {
	return deliver(r, func(yield func(message, error) bool) {
		messages := json.NewDecoder(io.LimitReader(os.NewFile(uintptr(r.pipe), "fold"), maxMessages))
		for {
			var m message
			err := messages.Decode(&m)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	})
}

// light runs as root. It is fold and ship in one, for directories with empty records, which it
// does not read. Starting a second process would be most of what such a job costs.
func light(r *request) error {
	return deliver(r, func(yield func(message, error) bool) {
		machine := node.ThisMachine()
		for _, name := range r.fold {
			o := open(r.runDir, name, false)
			if o.err == nil {
				o.dir.LeaveRecord()
			}
			if !yield(o.message(machine), nil) {
				return
			}
		}
	})
}

// deliver writes reports durably into the outbox and removes their directories. It starts the
// sender, unless one waits for its turn.
func deliver(r *request, messages iter.Seq2[message, error]) error {
	cfg, err := etc.LoadNode(r.config)
	if err != nil {
		// a mistake in the configuration must not lose reports
		fmt.Fprintln(os.Stderr, err)
		cfg = etc.DefaultNode()
	}
	node.RemoveGone(r.runDir)
	outbox := node.Outbox{Spool: cfg.Report.Spool, Most: int64(cfg.Report.SpoolMiB) << 20}
	written, nodes, measured, errs := 0, 1, false, []error{err}
	for m, err := range messages {
		if err != nil {
			errs = append(errs, fmt.Errorf("spank: from the fold: %w", err))
			continue
		}
		if err := shipOne(r, outbox, &m); err != nil {
			errs = append(errs, err)
			continue
		}
		written++
		nodes = max(nodes, m.Report.NNodes)
		measured = measured || m.Report.Measured()
	}
	if written > 0 && !node.SenderWaits(outbox.Spool) {
		errs = append(errs, startSender(r.sender, r.config, jitter(nodes, measured)))
	}
	return errors.Join(errs...)
}

// maxMessages bounds what ship reads from fold, bytes.
const maxMessages = 8 * job.MaxReportBytes

func shipOne(r *request, outbox node.Outbox, m *message) error {
	if m.Error != "" || m.Report == nil {
		return fmt.Errorf("spank: %s: %s", clean(m.Dir), clean(m.Error))
	}
	if !slices.Contains(r.fold, m.Dir) && !slices.Contains(r.giveUp, m.Dir) {
		return fmt.Errorf("spank: %s was not asked for", clean(m.Dir))
	}
	if want := fmt.Sprintf(".done-%d-%s", m.Report.JobID, m.Report.Nonce); m.Dir != want {
		return fmt.Errorf("spank: %s holds a report for %s", clean(m.Dir), clean(want))
	}
	m.Report.Cluster = cmp.Or(m.Report.Cluster, os.Getenv("SLURM_CLUSTER_NAME"))
	m.Report.Node = cmp.Or(m.Report.Node, os.Getenv("SLURMD_NODENAME"))
	_, dropped := outbox.Write(m.Report)
	if dropped != nil && !errors.Is(dropped, node.ErrOutboxFull) && !errors.Is(dropped, node.ErrNoReport) {
		return dropped
	}
	if dropped == nil {
		dropped = outbox.WriteLogs(m.Report, m.Logs)
	}
	return errors.Join(dropped, node.RemoveRunDir(r.runDir, m.Dir))
}

// gather is the longest that a report in which nothing was measured waits for others of its
// kind. With a hundred such jobs a second, a sender for each would cost more than all else.
const gather = 2 * time.Second

// jitter spreads the nodes of a large job, which all end at once: about 100 of them send in a
// second.
func jitter(nodes int, measured bool) (most time.Duration) {
	if nodes > 1 {
		most = min(time.Duration(nodes)*10*time.Millisecond, time.Minute)
	}
	if !measured {
		most = max(most, gather)
	}
	return most
}

// startSender starts `jobeff-ingest send` and does not wait for it. Its lock lets one sender
// work at a time. A timer starts it again for reports that it could not send.
func startSender(path, config string, jitter time.Duration) error {
	if path == "" {
		return nil // the timer sends
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	liftLimits()
	p, err := os.StartProcess(path, []string{path, "send", "--quiet", "--config", config, "--jitter", jitter.String()}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: []*os.File{null, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("spank: sender: %w", err)
	}
	return p.Release()
}

// liftLimits restores the soft limits that front.c lowered.
func liftLimits() {
	for _, what := range []int{unix.RLIMIT_CPU, unix.RLIMIT_AS, unix.RLIMIT_CORE, unix.RLIMIT_DATA} {
		var l unix.Rlimit
		if unix.Getrlimit(what, &l) == nil {
			l.Cur = l.Max
			unix.Setrlimit(what, &l)
		}
	}
}
