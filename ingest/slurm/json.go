package slurm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"
)

// ParseJSON reads the output of sacct --json, as 22.05 (openapi/dbv0.0.38) and later versions
// (data_parser/v0.0.39 to 0.0.42) write it. The output holds no uids, so the caller's uid finds them.
// unsure are raw ids of jobs about which it says too little: their owner is not found, or they failed
// with exit code 0, which 22.05 writes for any. bad counts entries that are no job. Attempts that have
// not started are left out, and are not bad.
func ParseJSON(out []byte, uid func(name string) (uint32, bool)) (jobs []Job, unsure []uint32, bad int, err error) {
	var answer struct {
		Jobs   []json.RawMessage `json:"jobs"`
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&answer); err != nil {
		return nil, nil, 0, fmt.Errorf("slurm: sacct --json: %w: %w", errForm, err)
	}
	if len(answer.Jobs) == 0 && len(answer.Errors) > 0 { // some versions list "nothing found" as one
		return nil, nil, 0, fmt.Errorf("slurm: sacct --json: %.300s", answer.Errors[0])
	}
	if answer.Jobs == nil {
		return nil, nil, 0, fmt.Errorf("slurm: %w: sacct --json printed no list of jobs", errForm)
	}
	for _, text := range answer.Jobs {
		var said jsonJob
		if json.Unmarshal(text, &said) != nil {
			bad++
			continue
		}
		j, ok := said.job()
		if !ok {
			bad++
			continue
		}
		if !j.ran() {
			continue
		}
		if j.UID, ok = uid(j.User); !ok || j.ExitCode == "0:0" && (j.State == "FAILED" || j.State == "OUT_OF_MEMORY") {
			unsure = append(unsure, j.RawID)
			continue
		}
		if by, ok := uid(said.KilledBy); ok && j.State == "CANCELLED" {
			j.CancelledBy = &by
		}
		j.setUsage(said.steps())
		jobs = append(jobs, j)
	}
	return jobs, unsure, bad, nil
}

// number is a JSON number, null, or {"set": …, "number": …} since v0.0.40.
type number struct {
	is bool
	n  int64
}

// UnmarshalJSON reads any of these; an infinite number is unknown.
func (n *number) UnmarshalJSON(b []byte) error {
	var wrapped struct {
		Set      bool         `json:"set"`
		Infinite bool         `json:"infinite"`
		Number   *json.Number `json:"number"`
	}
	if len(b) > 0 && b[0] == '{' {
		if err := json.Unmarshal(b, &wrapped); err != nil || !wrapped.Set || wrapped.Infinite || wrapped.Number == nil {
			return err
		}
		b = []byte(*wrapped.Number)
	}
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || !(v >= 0 && v < 1<<62) {
		return nil // null, or an odd sentinel: unknown
	}
	n.is, n.n = true, int64(v)
	return nil
}

// noTime is Slurm's NO_VAL. sacct may write it for a start that its database lacks.
const noTime = 1<<32 - 2

func (n number) time() time.Time {
	if n.n == 0 || n.n == noTime {
		return time.Time{}
	}
	return time.Unix(n.n, 0).UTC()
}

// word is a text, or the first of a list of texts (since v0.0.40); "" if there is none.
type word string

// UnmarshalJSON reads either form.
func (w *word) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*w = word(strings.Join(list[:min(len(list), 1)], ""))
		return nil
	}
	return json.Unmarshal(b, (*string)(w))
}

type jsonTRES struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Count number `json:"count"`
}

// jsonJob holds the fields of a job that are used.
type jsonJob struct {
	Account     string `json:"account"`
	Nodes       string `json:"nodes"`
	Cluster     string `json:"cluster"`
	JobID       number `json:"job_id"`
	Name        string `json:"name"`
	Partition   string `json:"partition"`
	QOS         string `json:"qos"`
	User        string `json:"user"`
	KilledBy    string `json:"kill_request_user"`
	NodeCount   number `json:"allocation_nodes"`
	Association struct {
		User string `json:"user"`
	} `json:"association"`
	Array struct {
		JobID  number `json:"job_id"`
		TaskID number `json:"task_id"`
	} `json:"array"`
	Het struct {
		JobID  number `json:"job_id"`
		Offset number `json:"job_offset"`
	} `json:"het"`
	ExitCode struct {
		ReturnCode number `json:"return_code"`
		Signal     struct {
			ID  number `json:"id"`
			Old number `json:"signal_id"` // 22.05
		} `json:"signal"`
	} `json:"exit_code"`
	State struct {
		Current word `json:"current"`
	} `json:"state"`
	Time struct {
		Elapsed    number `json:"elapsed"`
		Submission number `json:"submission"`
		Eligible   number `json:"eligible"`
		Limit      number `json:"limit"` // minutes
		Start      number `json:"start"`
		End        number `json:"end"`
	} `json:"time"`
	TRES struct {
		Allocated []jsonTRES `json:"allocated"`
	} `json:"tres"`
	Steps []jsonStep `json:"steps"`
}

type jsonStep struct {
	Step struct {
		ID json.RawMessage `json:"id"` // 0, "batch"; since v0.0.40 "123.batch"
	} `json:"step"`
	State word `json:"state"`
	Nodes struct {
		Count number `json:"count"`
		Range string `json:"range"`
	} `json:"nodes"`
	Time struct {
		Start number `json:"start"`
		End   number `json:"end"`
		Total struct {
			Seconds      number `json:"seconds"`
			Microseconds number `json:"microseconds"`
		} `json:"total"`
	} `json:"time"`
	TRES struct {
		Requested struct { // what sacct calls TRESUsageIn
			Max   []jsonTRES `json:"max"`
			Total []jsonTRES `json:"total"`
		} `json:"requested"`
	} `json:"tres"`
}

// job is the job without its uid and its steps.
func (s *jsonJob) job() (Job, bool) {
	j := Job{Cluster: s.Cluster, RawID: uint32(s.JobID.n), User: cmp.Or(s.User, s.Association.User), NodeList: s.Nodes,
		Account: s.Account, QOS: s.QOS, Partition: s.Partition, Name: s.Name, State: string(s.State.Current),
		Submit: s.Time.Submission.time(), Eligible: s.Time.Eligible.time(), Start: s.Time.Start.time(), End: s.Time.End.time(),
		Elapsed: time.Duration(s.Time.Elapsed.n) * time.Second, Nodes: int(s.NodeCount.n), CPUs: int(count(s.TRES.Allocated, "cpu")),
		TRES: tresText(s.TRES.Allocated)}
	j.TimeLimit = limitOf(s.Time.Limit.n)
	j.GPUs = gpus(j.TRES)
	signal := max(s.ExitCode.Signal.ID.n, s.ExitCode.Signal.Old.n)
	j.ExitCode = fmt.Sprintf("%d:%d", s.ExitCode.ReturnCode.n%128, signal) // as sacct itself prints 128 and more
	j.ID = strconv.FormatUint(uint64(j.RawID), 10)
	switch {
	case s.Array.JobID.n > 0 && s.Array.TaskID.is:
		j.ID = fmt.Sprintf("%d_%d", s.Array.JobID.n, s.Array.TaskID.n)
	case s.Het.JobID.n > 0:
		j.ID = fmt.Sprintf("%d+%d", s.Het.JobID.n, s.Het.Offset.n)
	}
	if !j.setID() {
		return Job{}, false
	}
	if j.Nodes == 0 { // slurmdbd learns of a job in pieces, at first only its first node; a later look has all
		j.Start = time.Time{}
	}
	j.setEnd()
	fits := s.JobID.n < 1<<32 && s.Time.Elapsed.n < 1<<32 && s.NodeCount.n < 1<<31 && j.CPUs < 1<<31 && s.ExitCode.ReturnCode.n < 1<<16
	return j, fits && j.RawID != 0 && j.Cluster != "" && j.State != ""
}

// steps are the job's steps.
func (s *jsonJob) steps() []step {
	var all []step
	for i := range s.Steps {
		from := &s.Steps[i]
		id := strings.Trim(string(from.Step.ID), `"`)
		if _, after, is := strings.Cut(id, "."); is {
			id = after
		}
		cpu := time.Duration(min(from.Time.Total.Seconds.n, 1<<32))*time.Second + time.Duration(min(from.Time.Total.Microseconds.n, 1<<32))*time.Microsecond
		all = append(all, step{id: id, state: string(from.State), start: from.Time.Start.time(), end: from.Time.End.time(), nodes: int(from.Nodes.Count.n),
			nodeList: from.Nodes.Range, cpu: cpu, largest: count(from.TRES.Requested.Max, "mem"), memory: count(from.TRES.Requested.Total, "mem"),
			counted: len(from.TRES.Requested.Total) > 0})
	}
	return all
}

// count is the amount of one type of TRES.
func count(all []jsonTRES, kind string) int64 {
	for _, t := range all {
		if t.Type == kind {
			return t.Count.n
		}
	}
	return 0
}

// tresText writes TRES as sacct's AllocTRES does, with memory in MiB.
func tresText(all []jsonTRES) string {
	var items []string
	for _, t := range all {
		if !t.Count.is {
			continue
		}
		name, unit := t.Type, ""
		if t.Name != "" {
			name += "/" + t.Name
		}
		if name == "mem" {
			unit = "M"
		}
		items = append(items, fmt.Sprintf("%s=%d%s", name, t.Count.n, unit))
	}
	return strings.Join(items, ",")
}

// userIDs looks up uids and remembers them during one call.
func userIDs() func(name string) (uint32, bool) {
	type found struct {
		uid uint32
		ok  bool
	}
	seen := map[string]found{}
	return func(name string) (uint32, bool) {
		if name == "" {
			return 0, false
		}
		f, known := seen[name]
		if !known {
			if u, err := user.Lookup(name); err == nil {
				f.uid, f.ok = parse32(u.Uid)
			}
			seen[name] = f
		}
		return f.uid, f.ok
	}
}
