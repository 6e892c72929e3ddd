package wordstest

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/overhead"
)

// List are most of Jobs as a list, in a fixed order.
func List() []job.Job {
	var jobs []job.Job
	for i, name := range []string{"good", "bad", "killed", "no-mpi", "off", "singletons", "five", "hostile", "big", "threads"} {
		j := *Jobs()[name]
		j.DisplayID = fmt.Sprint(4711 + i)
		jobs = append(jobs, j)
	}
	return jobs
}

// Ranked gives each node of a job the shares of its ranks, and messages their sizes.
func Ranked(j *job.Job) *job.Job {
	for x := range j.Executions {
		e, next := &j.Executions[x], 0
		e.HistP2P, e.HistCol = make([]uint64, 40), make([]uint64, 40)
		for b := range 24 {
			e.HistP2P[b], e.HistCol[b] = uint64(b*b*977), uint64((24-b)*100)
		}
		for i := range e.Nodes {
			n := &e.Nodes[i]
			n.RankIDs = fmt.Sprintf("%d-%d", next, next+n.Ranks-1)
			next += n.Ranks
			n.UsefulShare = nil
			for r := range n.Ranks {
				share := 255 * n.Useful.Seconds() / float64(n.Ranks) / n.ElapsedMax.Seconds()
				n.UsefulShare = append(n.UsefulShare, uint8(min(255, share*(0.8+0.4*float64((r*7+i*3)%11)/10))))
			}
		}
	}
	return j
}

// Huge is a job of 10,240 ranks on 80 nodes.
func Huge() *job.Job {
	j := AJob(Execution(128, Uneven(10240)...))
	j.Nodes, j.Reports, j.CPUs, j.Elapsed = 80, 80, 10240, Sec(4100)
	return Ranked(j)
}

// Tasks are tasks of an array: of two programs, of which one task failed, two ran out of what they were given, and one
// runs.
func Tasks() (all []job.Job) {
	for n := range uint32(12) {
		j := *Jobs()["good"]
		j.JobID, j.ArrayJobID, j.ArrayTaskID, j.DisplayID, j.Name, j.Program = 900+n, 900, &n, fmt.Sprint("900_", n), "sweep", "/opt/solve"
		m := *j.Metrics
		m.Parallel -= 0.02 * float64(n)
		j.Metrics = &m
		j.Elapsed += time.Duration(n*n) * time.Second
		j.Usage = &job.Usage{TotalCPU: 3 * j.Elapsed, Memory: int64(n+1) << 28, Allocated: 8 << 30}
		switch n {
		case 3, 6, 9:
			j.Program, j.Elapsed = "/opt/prepare", j.Elapsed/10
		case 4:
			j.State = "FAILED"
		case 7:
			j.State = "OUT_OF_MEMORY"
		case 8:
			j.State = "TIMEOUT"
		case 11:
			j.State, j.End, j.AsOf, j.Program = "RUNNING", time.Time{}, Began.Add(time.Minute), ""
		}
		Keep(&j)
		j.Executions, j.Steps = nil, nil
		all = append(all, j)
	}
	return all
}

// TasksLine is the line of tasks.
func TasksLine() listing.Line { return listing.Line{Jobs: Tasks(), Sum: listing.Hours{Jobs: 12}} }

// Run is a run on n cores that took t seconds, each of its ranks useful for u.
func Run(id uint32, n, nodes int, t, u float64) job.Run {
	return job.Run{Cluster: "test", JobID: id, Attempt: 1, DisplayID: fmt.Sprint(id), UID: 1000, User: "anna",
		Start: Began.Add(time.Duration(id) * time.Hour), Ranks: n, Threads: 1, Nodes: nodes, Ended: true, Coverage: 1,
		Elapsed: t, Useful: u * float64(n), Conditions: &job.Conditions{UsefulMax: u}, MPITime: (t - u) * float64(n), Collectives: 1000, Executable: "/usr/bin/lmp"}
}

// Workload is one of such runs.
func Workload(name string, runs ...job.Run) *job.Workload {
	return &job.Workload{Key: "3fa2c1aabbccddeeff00", Name: name, Cluster: "test", UID: 1000, User: "anna", Executable: "/usr/bin/lmp", Runs: runs}
}

// Workloads are those that every view is looked at with.
func Workloads() map[string]*job.Workload {
	run := Run
	scales := Workload("lmp-3fa2c1", run(1, 16, 1, 1000, 960), run(2, 32, 1, 515, 483), run(3, 64, 2, 275, 245), run(4, 64, 2, 281, 246),
		run(5, 128, 4, 162, 126), run(6, 256, 8, 115, 67), run(7, 256, 8, 118, 66), run(8, 512, 16, 184, 36), run(9, 512, 16, 186, 37))
	scales.Mute = &job.Mute{Since: Began, Until: Began.Add(240 * time.Hour), Reason: "a benchmark"}
	small := Workload("lmp-small", run(0, 2, 1, 71, 55), run(1, 1, 1, 101, 100), run(2, 2, 1, 70, 55), run(3, 4, 2, 130, 28), run(4, 4, 2, 133, 28))
	weak := Workload("hpcg", run(1, 1, 1, 100, 99), run(2, 2, 1, 103, 99), run(3, 4, 1, 108, 98), run(4, 4, 1, 107, 99))
	one := Workload("lmp-aa0011", run(1, 8, 1, 100, 80), run(2, 8, 1, 109, 81), run(3, 16, 1, 60, 30))
	one.Runs[2].Ended = false
	sections := Workload("convolution", run(1, 4, 1, 100, 95), run(2, 8, 1, 60, 47), run(3, 16, 1, 45, 24), run(4, 32, 1, 43, 12), run(5, 8, 1, 180, 140))
	for i, halo := range []float64{5, 12, 20, 30, 10} {
		r := &sections.Runs[i]
		r.Sections = []job.RunSection{{Label: "HALO", Own: halo}, {Label: "CONVOLVE", Own: r.Elapsed - halo - 1}}
		r.Counters = &job.Counters{Ranks: r.Ranks, Instructions: uint64(1e12 + 1e10*float64(r.Ranks)), Cycles: uint64(2e9 * r.Useful), Useful: Sec(r.Useful)}
	}
	sections.Runs[4].Start, sections.InputNote = Began, "no argument names a file" // another one, long ago
	hostile := Workload(Nasty, run(1, 1, 1, 101, 100), run(2, 2, 1, 70, 55), run(3, 4, 2, 90, 28), run(4, 4, 2, 10, 1))
	hostile.User, hostile.Executable, hostile.InputNote, hostile.Mute = Nasty, Nasty, Nasty, &job.Mute{Until: Began.Add(time.Hour), Reason: Nasty}
	for i := range hostile.Runs {
		r := &hostile.Runs[i]
		r.Useful = 100 * (1 + float64(i)/10)
		r.DisplayID, r.Executable, r.Sections = Nasty, Nasty, []job.RunSection{{Label: Nasty, Own: 10}}
	}
	return map[string]*job.Workload{"scales": scales, "small": small, "weak": weak, "one": one, "sections": sections, "hostile": hostile, "none": Workload("empty")}
}

// HostileHours are sums of names that mean harm.
func HostileHours() (rows []listing.NamedHours) {
	for i, name := range []string{"chem", "", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "a&account=b", "\x1b[31mred", "\u202egnp.exe", "bio"} {
		rows = append(rows, listing.NamedHours{Name: name, Hours: listing.Hours{Jobs: 10 - i, Measured: 5, Used: 100, Judged: float64(50 * (i % 3)), Lost: float64(7 * (i % 3))}})
	}
	return rows
}

// Curve is a curve of three sizes whose availability at 64 KiB is given, in percent. The one of
// 1 MiB is refused.
func Curve(mpi, direction string, day int, avail float64) overhead.Curve {
	small := 12.5
	return overhead.Curve{Cluster: "test", Partition: "normal", MPI: mpi, Direction: direction, Nodes: 2,
		Measured: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC),
		Points: []overhead.Point{
			{Bytes: 8, Iterations: 1000, Overhead: 0.35, OverheadLow: 0.34, OverheadHigh: 0.36, BaseT: 0.4, BaseTLow: 0.39, BaseTHigh: 0.41, Avail: &small, AvailLow: 8, AvailHigh: 15},
			{Bytes: 64 << 10, Iterations: 600, Overhead: 6 - .06*avail, BaseT: 6, BaseTLow: 5.9, BaseTHigh: 6.1, Avail: &avail, AvailLow: avail - 1, AvailHigh: avail + 1},
			{Bytes: 1 << 20, Iterations: 40, Overhead: 90, BaseT: 80, BaseTLow: 80, BaseTHigh: 80, AvailLow: -14, AvailHigh: -12, Refused: "the overhead is larger than the transfer time"},
		}}
}
