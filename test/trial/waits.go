package trial

// Waits is a program of test/apps/waits.c whose ranks wait for known reasons. Its efficiencies follow from its
// sleeps, and jobeff must show them. The tests of preload run these programs on one node, those of test on two.
type Waits struct {
	Name                  string
	Ranks                 int
	DelayMS               int     // delay of the network in test/apps/virtualclock.c, ms
	SerE, TE, LoadBalance float64 // CommE is SerE x TE
}

// WaitsOfFew are programs of few ranks; see also the simulated programs of ingest/replay.
var WaitsOfFew = []Waits{
	{"chain", 4, 0, 100. / 250, 1, 62.5 / 100},
	{"turns", 2, 0, 0.75, 1, 1},
	{"sendrecv", 4, 50, 1, 0.5, 1},
	{"pingpong", 2, 25, 0.5, 100. / 150, 1},
	{"stencil", 4, 0, 1, 1, 1},
	{"tree", 4, 0, 1, 1, (150 + 100 + 50 + 50.) / 4 / 150},
	{"wildcard", 4, 0, 150. / 200, 1, 350. / 4 / 150},
	{"subcomm", 4, 0, 250. / 300, 1, 1},
	{"persistent", 2, 50, 1, 100. / 150, 1},
	{"waitany", 4, 0, 150. / 200, 1, 450. / 4 / 150},
	{"waitsome", 4, 0, 150. / 200, 1, 450. / 4 / 150},
}

// WaitsOfMany are some of these programs on 8 ranks.
var WaitsOfMany = []Waits{
	{"chain", 8, 0, 100. / 450, 1, 56.25 / 100},
	{"sendrecv", 8, 50, 1, 0.5, 1},
	{"stencil", 8, 0, 1, 1, 1},
	{"tree", 8, 0, 1, 1, (200 + 150 + 2*100 + 4*50.) / 8 / 200},
}
