package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/etc"
	"jobeff/ingest/node"
)

// prolog decides whether a job is measured on this node, and makes its directory. If the
// directory exists, it does nothing: a prolog may run twice.
func prolog(r *request) error {
	dir := filepath.Join(r.runDir, strconv.FormatUint(uint64(r.jobID), 10))
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	if err := node.HideStale(r.runDir, r.jobID); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	version := versionOf(r.config) // first: it may change meanwhile
	cfg, cfgErr := etc.LoadNode(r.config)
	if cfgErr != nil {
		cfg = etc.DefaultNode()
	}
	_, switchErr := os.Lstat(etc.KillSwitch)
	decision := decide(cfg.Measure, asked{
		killed:    switchErr == nil,
		configErr: cfgErr,
		optedOut:  r.asked == "off",
		alarm:     node.Alarm(cfg.Report.Spool),
		jobID:     r.jobID,
		partition: os.Getenv("SLURM_JOB_PARTITION"),
	})
	text, err := jobText(r, cfg)
	if err != nil {
		return err
	}
	return errors.Join(makeJobDir(dir, decision, text), noteShared(r), noteSite(r, version, cfg, cfgErr == nil))
}

// noteSite leaves the site's settings for a job whose prolog fails or does not run (jobdir.c), as
// lines of its `job` file. If the site measures only some jobs, there is no such note: C does not
// decide which. The first line says which version of the configuration they are from.
func noteSite(r *request, version string, cfg *etc.Config, known bool) error {
	path := filepath.Join(r.runDir, "site")
	m := cfg.Measure
	if !known || !m.Enabled || m.Share < 1 || len(m.Partitions)+len(m.ExcludePartitions) > 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text := version + settingsText(cfg)
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return nil
	}
	fresh := filepath.Join(r.runDir, ".site-"+randomHex()[:16])
	err := errors.Join(writeFile(fresh, text, 0o600), os.Rename(fresh, path))
	if err != nil {
		os.Remove(fresh)
	}
	return err
}

// versionOf is a line that changes whenever the configuration does. jobdir.c makes the same.
func versionOf(config string) string {
	var st unix.Stat_t
	unix.Stat(config, &st) // without a file all of it is 0
	return fmt.Sprintf("config %d.%09d %d\n", st.Ctim.Sec, st.Ctim.Nsec, st.Ino)
}

// settingsText are the lines of the site's settings.
func settingsText(cfg *etc.Config) string {
	text := fmt.Sprintf("record_bytes %d\n", int64(cfg.Measure.RecordMiB)<<20)
	if cfg.Measure.WindowsMiB > 0 {
		text += fmt.Sprintf("windows %d\n", cfg.Measure.WindowsMiB)
	}
	for _, s := range []struct {
		key string
		on  bool
	}{{"counters", cfg.Measure.Counters}, {"arguments", cfg.Workload.Arguments}} {
		if s.on {
			text += s.key + " 1\n"
		}
	}
	return text
}

// jobText is the job's `job` file: what root knows about the job. It comes from the environment
// that slurmd gives a prolog, which no user can write.
func jobText(r *request, cfg *etc.Config) (string, error) {
	mono, err := monotonicNS()
	if err != nil {
		return "", err
	}
	boot, err := node.BootID()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s %s\n", key, clean(value))
		}
	}
	line("version", "1")
	line("run", randomHex())
	line("nonce", randomHex())
	line("boot_id", boot)
	line("job_id", strconv.FormatUint(uint64(r.jobID), 10))
	line("uid", strconv.FormatUint(uint64(r.uid), 10))
	b.WriteString(settingsText(cfg))
	line("prolog", "1")
	line("start_mono_ns", strconv.FormatInt(mono, 10))
	line("start_real_ns", strconv.FormatInt(time.Now().UnixNano(), 10))
	for _, k := range environmentKeys {
		line(k.key, os.Getenv(k.variable))
	}
	return b.String(), nil
}

// environmentKeys are the keys that come from slurmd's environment. jobdir.c adds most of them in the
// epilog if no prolog ran. The C code reads only the first 4 KiB of the file (JE_TEXT). The nodelist
// comes last: that of a thousand scattered nodes is longer.
var environmentKeys = []struct{ key, variable string }{
	{"gid", "SLURM_JOB_GID"},
	{"user", "SLURM_JOB_USER"},
	{"cluster", "SLURM_CLUSTER_NAME"},
	{"node", "SLURMD_NODENAME"},
	{"account", "SLURM_JOB_ACCOUNT"},
	{"partition", "SLURM_JOB_PARTITION"},
	{"nnodes", "SLURM_JOB_NUM_NODES"},
	{"het_job_id", "SLURM_HET_JOB_ID"},
	{"sluid", "SLURM_JOB_SLUID"},
	{"restart", "SLURM_JOB_RESTART_COUNT"},
	{"gpus", "SLURM_JOB_GPUS"},
	{"gpu_ids", "CUDA_VISIBLE_DEVICES"}, // numbers, or UUIDs where Slurm tells them (gpuNames of ingest/node)
	{"nodelist", "SLURM_NODELIST"},
}

// makeJobDir builds the directory under another name and renames it into place, so that nobody
// sees it half made. It is no error if another process made it meanwhile.
func makeJobDir(dir, decision, job string) (err error) {
	fresh := filepath.Join(filepath.Dir(dir), ".new-"+filepath.Base(dir)+"-"+randomHex()[:16])
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("spank: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(fresh)
		}
	}()
	if err := errors.Join(
		writeFile(filepath.Join(fresh, "decision"), decision+"\n", 0o644),
		writeFile(filepath.Join(fresh, "job"), job, 0o600)); err != nil {
		return fmt.Errorf("spank: %w", err)
	}
	err = os.Rename(fresh, dir)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		os.RemoveAll(fresh)
		return nil
	}
	return err
}

// writeFile is os.WriteFile, but the mode does not depend on the umask.
func writeFile(path, text string, mode os.FileMode) error {
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// randomHex is 128 random bits in hex.
func randomHex() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

func monotonicNS() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("spank: clock: %w", err)
	}
	return t.Nano(), nil
}
