// Command site shows a made-up site in a browser, on this machine alone (make site). It needs neither root nor Slurm. Its
// database lies in a folder that goes with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"jobeff/test/trial"
)

// jobs is how many jobs the year has: enough for curves, and made in some seconds.
const jobs = "20000"

// share is the part of the jobs that is measured: the others show what measuring costs.
const share = "0.9"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := show(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// show makes the site, prints where it is and what to try, and stays until it is told to end.
func show(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "jobeff-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, socket, database := filepath.Join(dir, "jobeff.toml"), filepath.Join(dir, "s"), filepath.Join(dir, "site.db")
	text := fmt.Sprintf("[measure]\nshare = %s\n[report]\nto = \"unix:%s\"\n[server]\nsocket = %q\ndatabase = %q\nsacct_interval = \"0s\"\n", share, socket, socket, database)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	os.Setenv("JOBEFF_CONFIG", config)
	fmt.Println("Making a site of", jobs, "jobs …")
	data := exec.CommandContext(ctx, "build/jobeff", "admin", "demo-data", database, "--jobs", jobs, "--share", share)
	data.Stderr = os.Stderr
	if err := data.Run(); err != nil {
		return fmt.Errorf("jobeff admin demo-data: %w", err)
	}
	daemon := exec.Command("build/jobeffd", "--config", config)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // Ctrl-C is for this program, which ends it
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	daemon.Stderr = log
	if err := daemon.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	defer func() { daemon.Process.Signal(syscall.SIGTERM); <-ended }()
	for !isThere(socket) {
		select {
		case err := <-ended:
			ended <- err
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("jobeffd: %w\n%s", err, said)
		case <-time.After(50 * time.Millisecond):
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: trial.ProxyTo(socket), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	defer server.Close()
	id, err := worthLook()
	if err != nil {
		return err
	}
	fmt.Printf(`The site is in a browser at http://%s/jobs

In another terminal, in this folder:

  export JOBEFF_CONFIG=%s PATH=$PWD/build:$PATH
  jobeff -a -S -7days --sort lost --limit 10    # the week's jobs that lost most
  jobeff %-10s                             # one of them: what happened, and what to ask for
  jobeff workload %-10s                    # how its program scales
  jobeff explain %-10s                     # what each rule says of it
  jobeff digest                                 # what those who run the site read
  jobeff admin status                           # what needs a hand: a slow node, a silent one
  jobeff admin coverage                         # of which jobs something is known, and where data are missing
  jobeff admin cost                             # what measuring costs the jobs

Ctrl-C ends it and removes it.
`, l.Addr(), config, id, id, id)
	<-ctx.Done()
	return nil
}

func isThere(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// worthLook finds the job that lost most among last week's whose curve advises fewer cores.
func worthLook() (id string, err error) {
	list, err := exec.Command("build/jobeff", "-a", "-S", "-7days", "--sort", "lost", "-nP", "-o", "jobid").Output()
	if err != nil {
		return "", fmt.Errorf("jobeff: %w", err)
	}
	ids := strings.Fields(string(list))
	if len(ids) == 0 {
		return "", errors.New("the site has no jobs")
	}
	for _, id := range ids[:min(50, len(ids))] {
		if text, err := exec.Command("build/jobeff", id).Output(); err == nil && strings.Contains(string(text), "would have taken") {
			return id, nil
		}
	}
	return ids[0], nil
}
