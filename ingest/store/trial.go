package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// trialSchema is the schema of commit 7955bd9, whose exports are taken, too: it is what was tried
// before the schema was made anew.
const trialSchema = 16

// fromTrial makes a line of such an export one of this version.
func (l *line) fromTrial() (err error) {
	if l.Trial == nil {
		return nil
	}
	l.Attempt, l.Trial = l.Trial, nil
	rename := func(r map[string]any) {
		for old, name := range map[string]string{"run": "attempt", "run_id": "nonce"} {
			if v, is := r[old]; is {
				delete(r, old)
				r[name] = v
			}
		}
	}
	rename(l.Attempt)
	efficienciesFromTrial(l.Attempt)
	text, _ := l.Attempt["warnings_json"].(string)
	l.Attempt["warnings_json"] = string(warningsFromTrial([]byte(text)))
	if why, _ := l.Attempt["no_data"].(string); why != "" {
		text, _ := json.Marshal(doubt.Warning{Code: doubt.KindText, Args: doubt.Arguments{Kind: doubt.KindText, Other: why}}) // strings alone
		l.Attempt["no_data"] = string(text)
	}
	l.Attempt["unmerged"] = json.Number("0")
	if number(l.Attempt["merged"]) < number(l.Attempt["reports"]) {
		l.Attempt["unmerged"] = json.Number("1")
	}
	delete(l.Attempt, "merged")
	delete(l.Rows, "calls")
	for table, rows := range l.Rows {
		list, _ := rows.([]any)
		for _, one := range list {
			r, _ := one.(map[string]any)
			rename(r)
			switch table {
			case "reports":
				r["sequence"] = json.Number("1")
				r["body"], err = fromPacked(r["body"], func(r map[string]json.RawMessage) {
					r["version"], r["sequence"], r["nonce"] = json.RawMessage("1"), json.RawMessage("1"), r["run"]
					delete(r, "run")
				})
			case "workload_runs":
				err = hoursFromTrial(r)
			case "executions":
				if r["threads"] == nil {
					r["threads"] = json.Number("1")
				}
				efficienciesFromTrial(r)
				r["detail"], err = fromPacked(r["detail"], func(x map[string]json.RawMessage) {
					x["warnings"] = warningsFromTrial(x["warnings"])
					delete(x, "metrics") // as its nodes give them
				})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// number is a number of a line; 0 of anything else.
func number(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
}

// hoursFromTrial adds to a run the core-hours that are summed up.
func hoursFromTrial(r map[string]any) error {
	run := job.Run{Ranks: int(number(r["ranks"])), Threads: int(number(r["threads"])), Elapsed: number(r["elapsed_s"]), Useful: number(r["useful_s"]),
		MPITime: number(r["mpi_time_s"]), Collectives: number(r["collectives"]), Coverage: number(r["coverage"])}
	text, _ := r["conditions_json"].(string)
	if err := json.Unmarshal([]byte(text), &run.Conditions); err != nil {
		return err
	}
	used, lost := run.CoreHours()
	r["used_core_hours"], r["lost_core_hours"] = json.Number(fmt.Sprint(used)), json.Number(fmt.Sprint(lost))
	return nil
}

// efficienciesFromTrial gives the efficiencies of a row their names.
func efficienciesFromTrial(r map[string]any) {
	const parallel, communication = "parallel_efficiency", "communication_efficiency"
	r["mpi_"+parallel], r["mpi_"+communication] = r[parallel], r[communication]
	p, threads := r["hybrid_"+parallel].(json.Number)
	if c, _ := r["hybrid_"+communication].(json.Number); threads {
		e := job.Efficiencies{}
		e.Parallel, _ = p.Float64()
		e.Communication, _ = c.Float64()
		e.Balanced()
		r[parallel], r["load_balance"], r[communication] = p, json.Number(fmt.Sprint(e.LoadBalance)), c
	}
	for _, name := range []string{parallel, "load_balance", communication} {
		delete(r, "hybrid_"+name)
	}
}

// warningsFromTrial keeps the texts of warnings, whose arguments are not known.
func warningsFromTrial(text json.RawMessage) json.RawMessage {
	var old []struct {
		Code, Text string
		Count      int
	}
	if json.Unmarshal(text, &old) != nil {
		return json.RawMessage("[]")
	}
	list := []doubt.Warning{}
	for _, w := range old {
		list = append(list, doubt.Warning{Code: w.Code, Args: doubt.Arguments{Kind: doubt.KindText, Other: w.Text}, Count: w.Count})
	}
	text, _ = json.Marshal(list) // strings and numbers
	return text
}

// fromPacked changes packed JSON. What was trimmed is empty.
func fromPacked(value any, change func(map[string]json.RawMessage)) (any, error) {
	text, _ := value.(string)
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed) == 0 {
		return value, err
	}
	if packed, err = wire.DecompressReport(nil, packed); err != nil {
		return nil, err
	}
	r := map[string]json.RawMessage{}
	if err := json.Unmarshal(packed, &r); err != nil {
		return nil, err
	}
	change(r)
	if packed, err = pack(r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(packed), nil
}
