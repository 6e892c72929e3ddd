package listing

// Hours are sums over jobs.
type Hours struct {
	Jobs     int     `json:"jobs"`               // how many; of programs their runs
	Measured int     `json:"measured"`           // with metrics
	Used     float64 `json:"used"`               // AllocCPUS x Elapsed
	Judged   float64 `json:"judged"`             // part of Used: of jobs whose loss is known, as policy.CoreHours defines it
	Lost     float64 `json:"lost"`               // part of Judged, METRICS 6
	GPU      float64 `json:"gpu,omitzero"`       // GPU-hours, GPUs x Elapsed, METRICS 11; absent: none
	GPUKnown float64 `json:"gpu_known,omitzero"` // the part of these of GPUs of which it is known what they did
	GPUIdle  float64 `json:"gpu_idle,omitzero"`  // the part of the known ones in which no kernel ran, at least
}

// Add adds another sum.
func (h *Hours) Add(o Hours) {
	h.Jobs, h.Measured = h.Jobs+o.Jobs, h.Measured+o.Measured
	h.Used, h.Judged, h.Lost = h.Used+o.Used, h.Judged+o.Judged, h.Lost+o.Lost
	h.GPU, h.GPUKnown, h.GPUIdle = h.GPU+o.GPU, h.GPUKnown+o.GPUKnown, h.GPUIdle+o.GPUIdle
}

// Over are the hours in a larger unit.
func (h Hours) Over(unit float64) Hours {
	for _, of := range []*float64{&h.Used, &h.Judged, &h.Lost, &h.GPU, &h.GPUKnown, &h.GPUIdle} {
		*of /= unit
	}
	return h
}

// NamedHours are the hours of one account, user or program.
type NamedHours struct {
	Name string `json:"name"` // "": it has none
	Hours
}
