package job

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestGPUsThatCanBe: a node's word about a GPU is believed if it is one of a driver's.
func TestGPUsThatCanBe(t *testing.T) {
	for name, c := range map[string]struct {
		gpu  GPU
		want bool
	}{
		"known":              {GPU{UUID: "GPU-00-ab", Life: 2, Busy: 1, Processes: 1, Memory: 5}, true},
		"idle":               {GPU{UUID: "GPU-00"}, true},
		"not known":          {GPU{UUID: "GPU-00", Why: GPUMIG}, true},
		"not known and busy": {GPU{UUID: "GPU-00", Why: GPUMIG, Life: 2, Busy: 1, Processes: 1}, false},
		"busier than alive":  {GPU{Life: 1, Busy: 2, Processes: 1}, false},
		"no process lived":   {GPU{Life: 1}, false},
		"negative":           {GPU{Life: 1, Busy: -1, Processes: 1}, false},
		"no UUID of a GPU":   {GPU{UUID: "GPU-\x1b[2J"}, false},
	} {
		if got := c.gpu.Possible(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDeviceParallelEfficiency: sum U / (G T) over the GPUs that are known, in any order of nodes.
func TestDeviceParallelEfficiency(t *testing.T) {
	begin := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	one := &NodeReport{Start: begin, End: begin.Add(100), GPUs: []GPU{{Life: 80, Busy: 60, Processes: 2, Memory: 7}, {}}}
	two := &NodeReport{Start: begin, End: begin.Add(100), GPUs: []GPU{{Life: 100, Busy: 30, Processes: 1, Memory: 9, AtMost: true}, {Why: GPUMIG}}}
	for _, reports := range [][]*NodeReport{{one, two}, {two, one}} {
		var u GPUUse
		for _, r := range reports {
			u.Add(r)
		}
		if e := u.Efficiency(); e == nil || *e != 0.3 || u.GPUs != 4 || u.Known != 3 || u.Life != 180 || u.Processes != 3 || u.Memory != 9 || !u.AtMost || u.Unknown[GPUMIG] != 1 {
			t.Errorf("%+v", u)
		}
	}
	var none GPUUse
	if none.LoadBalance() != nil || (*GPUUse)(nil).LoadBalance() != nil {
		t.Error("of nothing")
	}
	if none.Add(&NodeReport{GPUs: []GPU{{Why: GPUHangs}}}); none.Efficiency() != nil || (*GPUUse)(nil).Efficiency() != nil {
		t.Errorf("%+v", none)
	}
}

// TestGPUTime is the test vector of METRICS 11: of 4 GPUs for 100 s, two are known, and one is in parts.
func TestGPUTime(t *testing.T) {
	use := func(d time.Duration, busy time.Duration) *GPUUse {
		return &GPUUse{GPUs: 3, Known: 2, Time: d * time.Second, Life: d * time.Second, Busy: busy * time.Second, Unknown: map[string]int{GPUMIG: 1}}
	}
	const second = CoreTime(1e6)
	for name, c := range map[string]struct {
		job     Job
		want    GPUTime
		unknown map[string]CoreTime
	}{
		"some known":          {Job{GPUs: 4, GPUUse: use(200, 50)}, GPUTime{400 * second, 200 * second, 150 * second}, map[string]CoreTime{GPUMIG: 100 * second, "": 100 * second}},
		"not asked":           {Job{GPUs: 4}, GPUTime{Used: 400 * second}, map[string]CoreTime{"": 400 * second}},
		"its node saw less":   {Job{GPUs: 4, GPUUse: use(196, 50)}, GPUTime{400 * second, 200 * second, 146 * second}, map[string]CoreTime{GPUMIG: 100 * second, "": 100 * second}},
		"suspended":           {Job{GPUs: 4, GPUUse: use(1000, 190)}, GPUTime{400 * second, 200 * second, 10 * second}, map[string]CoreTime{GPUMIG: 100 * second, "": 100 * second}},
		"busy while so":       {Job{GPUs: 4, GPUUse: use(1000, 500)}, GPUTime{400 * second, 200 * second, 0}, map[string]CoreTime{GPUMIG: 100 * second, "": 100 * second}},
		"Slurm says fewer":    {Job{GPUs: 2, GPUUse: use(200, 50)}, GPUTime{200 * second, 133333333, 83333333}, map[string]CoreTime{GPUMIG: 66666667, "": 0}},
		"Slurm tracks none":   {Job{GPUUse: use(200, 50)}, GPUTime{}, map[string]CoreTime{GPUMIG: 0, "": 0}},
		"resized":             {Job{GPUs: 4, GPUUsed: new(CoreTime(8)), GPUUse: use(200, 50)}, GPUTime{8, 4, 0}, map[string]CoreTime{GPUMIG: 2, "": 2}},
		"a step":              {Job{DisplayID: "7.0", GPUs: 4, GPUUse: use(200, 50)}, GPUTime{}, map[string]CoreTime{GPUMIG: 0, "": 0}},
		"its core time is no": {Job{CPUs: 1e9, GPUs: 4, Elapsed: 1e6 * time.Hour}, GPUTime{}, map[string]CoreTime{"": 0}},
	} {
		if c.job.CPUs == 0 {
			c.job.CPUs, c.job.Elapsed = 8, 100*time.Second
		}
		if got, unknown := c.job.GPUTime(), c.job.UnknownGPUTime(); got != c.want || !maps.Equal(unknown, c.unknown) {
			t.Errorf("%s: %+v and %v, want %+v and %v", name, got, unknown, c.want, c.unknown)
		}
	}
}

// TestDeviceLoadBalance: sum U / (G max U) over the known GPUs, if no U is an upper bound.
func TestDeviceLoadBalance(t *testing.T) {
	busy := func(all ...time.Duration) (gpus []GPU) {
		for _, b := range all {
			gpus = append(gpus, GPU{Life: 100, Busy: b, Processes: 1})
		}
		return gpus
	}
	bound := busy(80, 20)
	bound[1].AtMost = true
	for name, c := range map[string]struct {
		gpus []GPU
		want float64 // 0: not known
	}{
		"one idled half of the time": {busy(80, 40, 80), 200. / 240},
		"one of four was used":       {append(busy(60), GPU{}, GPU{}, GPU{}), .25},
		"all alike":                  {busy(7, 7), 1},
		"one is not known":           {append(busy(80, 40), GPU{Why: GPUMIG}), .75},
		"one GPU":                    {busy(50), 0},
		"one that is known":          {append(busy(50), GPU{Why: GPUMIG}), 0},
		"no kernel":                  {busy(0, 0), 0},
		"an upper bound":             {bound, 0},
	} {
		var u GPUUse
		u.Add(&NodeReport{GPUs: c.gpus})
		if got := u.LoadBalance(); (got == nil) != (c.want == 0) || got != nil && *got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestLeastUsedGPUs: of more GPUs than are listed, those stay that ran a kernel shortest. One that is not known is listed
// after all others. The order of the nodes makes no difference.
func TestLeastUsedGPUs(t *testing.T) {
	var reports []*NodeReport
	for node := range 5 {
		r := &NodeReport{Node: string(rune('a' + node)), GPUs: []GPU{{Why: GPUHangs}}}
		for i := range 8 {
			r.GPUs = append(r.GPUs, GPU{Life: 100, Busy: time.Duration(10 * i), Processes: 1})
		}
		reports = append(reports, r)
	}
	for range 2 {
		var u GPUUse
		for _, r := range reports {
			u.Add(r)
		}
		if len(u.List) != listedGPUs || u.GPUs != 45 || u.MaxBusy != 70 {
			t.Fatalf("%d GPUs are listed: %+v", len(u.List), u)
		}
		for i, g := range u.List {
			if want := time.Duration(10 * (i / 5)); g.Busy != want || g.Node != string(rune('a'+i%5)) || g.Time != 100 || g.Why != "" {
				t.Errorf("number %d is %+v, want one with %d", i, g, want)
			}
		}
		slices.Reverse(reports)
	}
	var u GPUUse
	if u.Add(reports[0]); len(u.List) != 9 || u.List[8].Why != GPUHangs || u.List[8].Time != 0 {
		t.Errorf("%+v", u.List)
	}
}
