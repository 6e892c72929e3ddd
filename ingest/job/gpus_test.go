package job

import (
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
	if none.Add(&NodeReport{GPUs: []GPU{{Why: GPUHangs}}}); none.Efficiency() != nil || (*GPUUse)(nil).Efficiency() != nil {
		t.Errorf("%+v", none)
	}
}
