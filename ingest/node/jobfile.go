package node

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"

	"jobeff/ingest/job"
)

// readDecision is the first line of the decision file. Without one, measuring is on.
func readDecision(f *os.File) string {
	decision := ""
	eachLine(f, mostJobBytes, func(line string) {
		if decision == "" {
			decision = line
		}
	})
	if word, _, _ := strings.Cut(decision, " "); word != "off" {
		return "on"
	}
	return decision
}

// jobFile is what the fold itself needs of the job file.
type jobFile struct {
	nonce       *[16]byte
	whole       bool  // it identifies the job
	recordBytes int64 // measure.record_mib of the job's start, 0: not known
}

// readJob fills the report from the job file.
func readJob(f *os.File, r *job.NodeReport) jobFile {
	values := map[string]string{}
	eachLine(f, mostJobBytes, func(line string) {
		key, value, _ := strings.Cut(line, " ")
		values[key] = value
	})
	number := func(key string, bits int) uint64 {
		n, err := strconv.ParseUint(values[key], 10, bits)
		if err != nil {
			return 0
		}
		return n
	}
	r.Cluster, r.Node, r.User = values["cluster"], values["node"], values["user"]
	r.Account, r.Partition, r.NodeList = values["account"], values["partition"], values["nodelist"]
	r.SLUID = values["sluid"]
	r.Nonce, r.BootID = hex16(values["run"]), hex16(values["boot_id"])
	r.JobID, r.ArrayJobID, r.HetJobID = uint32(number("job_id", 32)), uint32(number("array_job_id", 32)), uint32(number("het_job_id", 32))
	r.UID, r.GID = uint32(number("uid", 32)), uint32(number("gid", 32))
	r.NNodes = int(number("nnodes", 31))
	r.Prolog = number("prolog", 8) == 1
	r.Start = realTime(number("start_real_ns", 64))
	if id, err := strconv.ParseUint(values["array_task_id"], 10, 32); err == nil {
		task := uint32(id)
		r.ArrayTaskID = &task
	}
	own := jobFile{whole: r.JobID != 0 && r.Nonce != "" && values["uid"] != "", recordBytes: int64(number("record_bytes", 63))}
	if b, err := hex.DecodeString(values["nonce"]); err == nil && len(b) == 16 {
		own.nonce = (*[16]byte)(b)
	} else {
		own.whole = false
	}
	return own
}
