package store

import (
	"encoding/json"
	"strconv"
	"time"

	"jobeff/ingest/job"
)

// schema967a4cf4 is the schema that exports of commit 967a4cf4 name: a hash of its tables.
const schema967a4cf4 = 2788539471

// bridge turns a line of an export of commit 967a4cf4 into one of this version. What a job lost is computed
// when the rules judge it again.
func (l *line) bridge() {
	if a := l.Attempt; a != nil {
		for _, gone := range []string{"run_s", "smt_most_s", "smt_s"} {
			delete(a, gone)
		}
		if used := job.UsedCoreTime(int(whole(a["alloc_cpus"])), time.Duration(whole(a["slurm_elapsed_s"]))*time.Second); used != nil {
			a["used_us"] = json.Number(strconv.FormatInt(int64(*used), 10))
		}
		if whole(a["judged_by"]) > 0 {
			a["judged_by"] = json.Number("0")
		}
	}
	for _, sum := range []string{"used", "judged", "lost"} {
		if ms, is := l.Sum[sum+"_ms"].(json.Number); is {
			delete(l.Sum, sum+"_ms")
			l.Sum[sum+"_us"] = ms + "000"
		}
	}
}

// addGPUTime does for an attempt of an export from before step 5 what that step did.
func (l *line) addGPUTime() {
	a := l.Attempt
	if a == nil || a["gpu_us"] != nil {
		return
	}
	if used, cpus, gpus := whole(a["used_us"]), whole(a["alloc_cpus"]), whole(a["gpus"]); cpus > 0 && gpus > 0 && used/cpus < 1e18/gpus {
		a["gpu_us"] = json.Number(strconv.FormatInt(used/cpus*gpus, 10))
	}
}

// whole is a whole number of a line; 0 for anything else.
func whole(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}
