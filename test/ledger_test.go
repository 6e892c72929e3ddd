package test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/doubt"
	"jobeff/report/view"
)

// unmeasured is a job without figures, and why it has none.
type unmeasured struct {
	code, kind string
	script     string
	args       []string
}

// TestLedgerAsSacct: of jobs without figures for every reason that users and admins can make, and of measured ones,
// the site's ledger has exactly the core time that sacct has, and each part of it under its own reason.
func TestLedgerAsSacct(t *testing.T) {
	t.Parallel()
	c, err := newCluster("-ledger", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.down()
	want := map[listing.LedgerLine]int64{} // core-seconds, of lines with class, reason, kind alone
	ids := map[string]unmeasured{}
	for _, j := range unmeasuredJobs(t, c) {
		ids[c.submit(t, "alice", j.script, append(j.args, "-w", "n1")...)] = j
	}
	measured := c.submit(t, "alice", srun(t, usual)+rounds(t, c, usual)+" 20 5", "-n2", "-w", "n1")
	c.as(t, "alice", "salloc", "--quiet", "-n1", "-w", "n1", "--job-name=nostep", "sleep", "1")
	ids[strings.TrimSpace(c.exec(t, "ctl", "squeue", "-hn", "nostep", "-t", "all", "-o", "%i"))] = unmeasured{code: doubt.WhyNoStep}
	silent := switchedOff(t, c, ids)

	c.wait(t, measured)
	d := c.jobeff(t, "alice", measured)
	if d.ParallelEfficiency == nil {
		t.Fatalf("job %s has no figures: %s", measured, d.NoData)
	}
	used := func(id string) int64 {
		var elapsed, cpus int64
		if n, err := fmt.Sscanf(c.sacct(t, id, "ElapsedRaw,AllocCPUS"), "%d|%d", &elapsed, &cpus); n != 2 {
			t.Errorf("sacct of job %s: %v", id, err)
		}
		return elapsed * cpus
	}
	for id, j := range ids {
		c.wait(t, id)
		if !slices.Contains(silent, id) {
			if d := c.jobeff(t, "alice", id); d.NoDataIs != j.code {
				t.Errorf("job %s has no data because of %q, want %q: %s", id, d.NoDataIs, j.code, d.NoData)
			}
		}
		want[listing.LedgerLine{Reason: j.code, Kind: j.kind}] += used(id)
	}
	want[listing.LedgerLine{}] += used(measured)

	var ledger view.Coverage
	until(t, "the ledger with all jobs", func() bool {
		ledger = view.Coverage{}
		out := c.exec(t, "ctl", "jobeff", "admin", "coverage", "--json")
		if err := json.Unmarshal([]byte(out), &ledger); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var n int64
		for _, l := range ledger.Lines {
			n += l.Jobs
		}
		return n == int64(len(ids)+1)
	})
	got, sum := map[listing.LedgerLine]int64{}, int64(0)
	for _, l := range ledger.Lines {
		got[listing.LedgerLine{Reason: l.Reason, Kind: l.Kind}] += int64(l.Used)
		sum += int64(l.Used)
	}
	for why, seconds := range want {
		if got[why] != seconds*1e6 {
			t.Errorf("%q %s: %d us in the ledger, %d s in sacct", why.Reason, why.Kind, got[why], seconds)
		}
		delete(got, why)
	}
	if len(got) > 0 {
		t.Errorf("the ledger has reasons that no job has: %v", got)
	}
	var all int64
	for line := range strings.Lines(c.exec(t, "ctl", "sacct", "-aXDnP", "-S", time.Now().Add(-time.Hour).Format("2006-01-02T15:04:05"), "-o", "ElapsedRaw,AllocCPUS")) {
		var elapsed, cpus int64
		fmt.Sscanf(line, "%d|%d", &elapsed, &cpus)
		all += elapsed * cpus
	}
	if sum != all*1e6 || all == 0 {
		t.Errorf("%d us in the ledger, %d s in all of sacct", sum, all)
	}
}

// unmeasuredJobs are the jobs that have no figures by their own doing.
func unmeasuredJobs(t *testing.T, c *cluster) []unmeasured {
	fake, err := filepath.Abs("apps/fakempi.c")
	if err != nil {
		t.Fatal(err)
	}
	run, app := srun(t, usual), rounds(t, c, usual)+" 2 5"
	static := build(t, c, "gcc", "fakeapp.c", fake)
	past := build(t, c, usual.cc, "ending.c", "-DMPI_Init=PMPI_Init", "-DMPI_Finalize=PMPI_Finalize")
	// of record.h's header
	scribble := func(field string, at int) string {
		return fmt.Sprintf(`srun true; printf '%s' | dd of=$JOBEFF_RECORD_FILE conv=notrunc bs=1 seek=%d; `, field, at)
	}
	return []unmeasured{
		{code: doubt.WhyNoMPI, script: "srun sleep 1"},
		{doubt.WhyOff, doubt.KindJob, "srun sleep 1", []string{"--jobeff=off"}},
		{code: doubt.WarnStatic, script: "PMI_RANK=0 " + static},
		{code: doubt.WarnUnseen, script: run + past + " finalize"},
		{code: doubt.WarnPreload, script: "mpirun.openmpi --oversubscribe -x LD_PRELOAD= -np 1 " + rounds(t, c, openmpi) + " 2 5"},
		// one rank waits for the other in MPI_Init
		{code: doubt.WhyInMPIInit, script: run + `sh -c 'test $SLURM_PROCID = 0 || exec sleep 2; timeout -s KILL 1 ` + app + `; sleep 1'`, args: []string{"-n2"}},
		{code: doubt.WhyReplaced, script: run + app + "; " + scribble("another", 24)}, // the nonce
		{code: doubt.WhyNoRoom, script: scribble(`\377\377`, 80) + run + app},         // the next slot
		{code: doubt.WhyNoMemory, script: "srun true; dd if=/dev/zero of=$JOBEFF_RECORD_FILE oflag=append conv=notrunc bs=1M; " + run + app},
		{doubt.WarnUnreadable, doubt.KindEndsEarly, run + app + "; truncate -s 20000 $JOBEFF_RECORD_FILE", nil},
	}
}

// switchedOff runs jobs on the second node while it does not measure, for each way not to, and at last two whose
// reports stay on the node. It adds all to ids, and returns these two.
func switchedOff(t *testing.T, c *cluster, ids map[string]unmeasured) (silent []string) {
	const conf, library = "/etc/jobeff/jobeff.toml", "/usr/lib/jobeff/libjobeff.so"
	for _, one := range []struct{ code, kind, begin, meanwhile, end string }{
		{doubt.WhyOff, doubt.KindNode, "touch /etc/jobeff/off", "", "rm /etc/jobeff/off"},
		{doubt.WhyOff, doubt.KindLibrary, "mv " + library + " " + library + ".away", "", "mv " + library + ".away " + library},
		{doubt.WhyOff, doubt.KindShare, "printf '[measure]\nshare = 0\n' >>" + conf, "", "sed -i '/measure/,$d' " + conf},
		{doubt.WhyOff, doubt.KindSite, `printf '[measure]\npartitions = ["other"]\n' >>` + conf, "", "sed -i '/measure/,$d' " + conf},
		{doubt.WhyOff, doubt.KindFailed, "echo measure >>" + conf, "sed -i '/measure/d' " + conf, ""},
		{doubt.WhyNoReport, "", "sed -i 's/:6822/:1/' " + conf, "", ""},
		{doubt.WhyNoReport, doubt.KindFailed, "", "scontrol update nodename=n2 state=down reason=test", ""},
	} {
		c.exec(t, "n2", "sh", "-c", one.begin)
		id := c.submit(t, "alice", "srun sleep 1\nsleep 1", "-n1", "-w", "n2", "--no-requeue")
		ids[id] = unmeasured{code: one.code, kind: one.kind}
		if one.meanwhile != "" {
			c.waitRunning(t, id)
			c.exec(t, "n2", "sh", "-c", one.meanwhile)
		}
		c.wait(t, id)
		c.exec(t, "n2", "sh", "-c", one.end)
		if one.code == doubt.WhyNoReport {
			silent = append(silent, id)
		}
	}
	return silent
}
