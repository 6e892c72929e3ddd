package listing

// Hours are sums over jobs.
type Hours struct {
	Jobs     int     `json:"jobs"`     // how many; of programs their runs
	Measured int     `json:"measured"` // with metrics
	Used     float64 `json:"used"`     // AllocCPUS x Elapsed
	Judged   float64 `json:"judged"`   // part of Used: of jobs whose loss is known, as policy.CoreHours defines it
	Lost     float64 `json:"lost"`     // part of Judged, METRICS 6
}

// Add adds another sum.
func (h *Hours) Add(o Hours) {
	h.Jobs, h.Measured = h.Jobs+o.Jobs, h.Measured+o.Measured
	h.Used, h.Judged, h.Lost = h.Used+o.Used, h.Judged+o.Judged, h.Lost+o.Lost
}

// NamedHours are the hours of one account, user or program.
type NamedHours struct {
	Name string `json:"name"` // "": it has none
	Hours
}
