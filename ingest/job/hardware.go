package job

// Hardware is what a node computes with, as root reads it there. Runs on different CPUs do not
// share a curve.
type Hardware struct {
	Model          string `json:"model"` // of the CPU, as /proc/cpuinfo names it; "": not known
	Sockets        int    `json:"sockets"`
	Cores          int    `json:"cores"` // of all sockets
	ThreadsPerCore int    `json:"threads_per_core"`
	MaxMHz         int    `json:"max_mhz,omitempty"`
	MemoryMiB      int64  `json:"memory_mib,omitempty"`
}

// kind is what must be equal for two nodes to count as the same machine.
func (h Hardware) kind() Hardware {
	h.MaxMHz, h.MemoryMiB = 0, 0
	return h
}
