package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sys/unix"

	"jobeff/etc"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
)

// ship runs as root. It takes the report of fold, which runs as nobody, and delivers it.
func ship(r *request) error {
	return deliver(r, func() (m message, err error) {
		from := io.LimitReader(os.NewFile(uintptr(r.pipe), "fold"), maxMessage)
		return m, json.NewDecoder(from).Decode(&m)
	})
}

// light runs as root. It is fold and ship in one, for a directory with an empty record, which it
// does not read. Starting a second process would be most of what such a job costs.
func light(r *request) error {
	return deliver(r, func() (message, error) {
		dir, err := node.OpenDir(filepath.Join(r.runDir, r.dir))
		if err == nil {
			dir.LeaveRecord()
		}
		return messageOf(dir, err), nil
	})
}

// deliver writes the report durably into the outbox and removes its directory. It starts the
// sender, unless another sender waits for its turn.
func deliver(r *request, take func() (message, error)) error {
	cfg, notRead := etc.LoadNode(r.config)
	if notRead != nil {
		// a mistake in the configuration must not lose reports
		fmt.Fprintln(os.Stderr, notRead)
		cfg = etc.DefaultNode()
	}
	node.RemoveGone(r.runDir)
	m, err := take()
	if errors.Is(err, io.EOF) { // fold has said why
		return notRead
	}
	if err != nil {
		return errors.Join(notRead, fmt.Errorf("spank: from the fold: %w", err))
	}
	askGPUs(r, &m)
	outbox := node.Outbox{Spool: cfg.Report.Spool, Most: int64(cfg.Report.SpoolMiB) << 20}
	err = keep(r, outbox, &m)
	if err == nil && !node.SenderWaits(outbox.Spool) {
		err = startSender(r.sender, r.config, jitter(max(m.Report.NNodes, 1), m.Report.Measured()))
	}
	return errors.Join(notRead, err)
}

// maxMessage bounds what ship reads from fold, bytes.
const maxMessage = 8 * wire.MaxReportBytes

// keep writes a report into the outbox, and removes its directory.
func keep(r *request, outbox node.Outbox, m *message) error {
	if m.Error != "" || m.Report == nil {
		return fmt.Errorf("spank: %s: %s", clean(r.dir), clean(m.Error))
	}
	if want := fmt.Sprintf(".done-%d-%s", m.Report.JobID, m.Report.Nonce); r.dir != want {
		return fmt.Errorf("spank: %s holds a report for %s", clean(r.dir), clean(want))
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
	return errors.Join(dropped, node.RemoveRunDir(r.runDir, r.dir))
}

// gather is the longest time that a report without measurements waits for others of its kind.
// With a hundred such jobs a second, a sender for each would cost more than all else.
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
