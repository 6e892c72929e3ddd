package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/preload/record"
	"math"
	"math/rand/v2"
	"time"
)

// Cluster is the made-up site's only one: nodes n001 to n240 of coresPerNode cores, and g01 to g08 with GPUs.
const (
	Cluster      = "demo"
	coresPerNode = 64
	nodeCount    = 240
	mostCores    = 2048
	firstUID     = 20_000

	slowNode = 16   // n017, on which ranks compute slower
	slowBy   = 1.08 // times as long as elsewhere
)

// hardware is that of every node. Without its memory, that rules out no advice.
var hardware = job.Hardware{Model: "AMD EPYC 7543 32-Core Processor", Sockets: 2, Cores: coresPerNode, ThreadsPerCore: 1}

type user struct {
	uid     uint32
	name    string
	account string
}

var userNames = []string{"abril", "anders", "anika", "aziz", "bela", "bruno", "carla", "chen", "claire", "daniel", "dora", "elif",
	"emil", "erik", "fatma", "felix", "gita", "greta", "hana", "henry", "ida", "igor", "ines", "ivan", "jana", "jonas", "julia", "karim",
	"katja", "lars", "lena", "liang", "luca", "maria", "mehmet", "mira", "nadia", "nils", "noor", "olga", "omar", "paula", "petr",
	"rosa", "samir", "sofia", "tomas", "uma", "viktor", "yuki", "amara", "boris", "cem", "diego", "eva", "farid", "gina", "hugo"}

var accounts = []string{"chem", "physics", "climate", "engineering", "biology", "astro", "materials", "teaching"}

func (y *Year) makeUsers() []user {
	var all []user
	for i := range y.opts.Users {
		all = append(all, user{uid: firstUID + uint32(i), name: userNames[i], account: accounts[(i*5+i/8)%len(accounts)]})
	}
	return all
}

// application is a program that workloads run.
type application struct {
	path  string
	mpi   string
	calls []callShare
	parts []string // sections, where the program names them
	waits waiting
}

// callShare is a call's part of the MPI time and what one call moves.
type callShare struct {
	name    string
	class   record.Class
	share   float64
	bytes   uint64
	perStep float64 // calls of a rank
}

var (
	halo = []callShare{{"MPI_Waitall", record.ClassWait, 0.55, 0, 2}, {"MPI_Isend", record.ClassP2PStart, 0.05, 65536, 8},
		{"MPI_Allreduce", record.ClassColl, 0.40, 8, 1}}
	transpose = []callShare{{"MPI_Alltoallv", record.ClassColl, 0.7, 2 << 20, 2}, {"MPI_Allreduce", record.ClassColl, 0.3, 4096, 3}}
	particles = []callShare{{"MPI_Sendrecv", record.ClassP2P, 0.45, 131072, 6}, {"MPI_Wait", record.ClassWait, 0.3, 0, 6},
		{"MPI_Allreduce", record.ClassColl, 0.25, 48, 0.1}}
	masterWork = []callShare{{"MPI_Recv", record.ClassRecv, 0.85, 32768, 1}, {"MPI_Send", record.ClassP2P, 0.05, 32768, 1},
		{"MPI_Barrier", record.ClassColl, 0.1, 0, 0.01}}
)

const (
	openMPI = "Open MPI"
	mpich   = "MPICH"
)

var applications = []application{
	{"/apps/lammps/2023.08/bin/lmp", openMPI, particles, nil, byNoise},
	{"/apps/gromacs/2024.1/bin/gmx_mpi", openMPI, particles, nil, byNoise},
	{"/apps/qe/7.2/bin/pw.x", mpich, transpose, nil, byVolume},
	{"/apps/vasp/6.4/bin/vasp_std", openMPI, transpose, nil, byVolume},
	{"/apps/cp2k/2024.1/bin/cp2k.psmp", mpich, transpose, nil, byVolume},
	{"/apps/openfoam/v2312/bin/simpleFoam", openMPI, halo, nil, byTurns},
	{"/apps/wrf/4.5/bin/wrf.exe", mpich, halo, []string{"dynamics", "radiation", "output"}, byTurns},
	{"/apps/nek5000/19/bin/nek5000", openMPI, halo, nil, byTurns},
	{"/home/own/bin/heat3d", openMPI, halo, []string{"halo", "stencil", "residual"}, byTurns},
	{"/home/own/bin/nbody", mpich, particles, []string{"tree", "forces", "move"}, byNoise},
	{python, openMPI, masterWork, nil, inChain},
}

// usualThreads is the number of threads of a rank in most runs of a hybrid workload.
const usualThreads = 4

// load is a workload: what one user runs again and again.
type load struct {
	user    user
	app     *application
	name    string // given with --jobeff-workload; mostly none
	job     string // the batch job's name
	args    string
	input   string // "": not known
	model   curve.Amdahl
	knee    float64 // cores from which on overhead grows faster than the model's; 0: none
	noise   float64 // sigma of ln t
	hot     float64 // part of the loss that is imbalance
	even    bool    // hardly any of the loss is imbalance
	threads int     // usual threads of a rank; OpenMP's if there are several
	steps   int     // time steps of the input
	sizes   []int   // cores, the usual one first
	advised int     // cores that its user takes from learned on; 0: as before
	learned time.Time
	from    time.Time
	to      time.Time
	builds  []build
	part    string // partition
}

// build is an executable, in use from a day on, and how its times compare with those of the first.
type build struct {
	id     string
	from   time.Time
	useful float64 // factor on the useful time
	loss   float64 // factor on the overhead's share
}

func (y *Year) makeLoad(i int) *load {
	u := y.users[i%len(y.users)]
	if i >= len(y.users) {
		u = y.users[int(float64(len(y.users))*math.Pow(y.rng.Float64(), 1.5))]
	}
	app := one(y, applications)
	l := &load{user: u, app: &app, job: one(y, jobNames), args: digest("args", i), input: digest("input", i), threads: 1, steps: int(y.between(1e3, 1e6)), part: "main",
		noise: 0.015 + 0.04*y.rng.Float64(), hot: 0.1 + 0.3*y.rng.Float64()}
	if len(app.parts) > 0 && app.path[:6] == "/home/" {
		app.path = "/home/" + u.name + app.path[len("/home/own"):]
	}
	if i%9 == 4 {
		l.name = fmt.Sprintf("%s-%s", l.job, one(y, []string{"small", "large", "paper", "prod", "test"}))
	}
	if y.chance(0.06) {
		l.input = ""
	}
	if y.chance(0.12) {
		l.hot = 0.75 + 0.2*y.rng.Float64()
	}
	if y.chance(0.08) {
		l.threads = usualThreads
	}
	y.span(l, i)
	y.scale(l, i)
	y.releases(l, i)
	return l
}

var jobNames = []string{"melt", "relax", "prod", "eq", "scf", "bands", "channel", "wing", "forecast", "halo", "md", "npt", "screen", "sweep", "opt", "tune"}

// span chooses when the workload is in use: some all year, others some months. The first ones, which are run
// most, are in use all year.
func (y *Year) span(l *load, i int) {
	l.from, l.to = y.Start(), y.opts.Until
	if i >= 20 && y.chance(0.6) {
		l.from = y.Start().Add(time.Duration(y.rng.Float64() * 0.8 * float64(year)))
		l.to = l.from.Add(time.Duration(y.between(20, 200) * 24 * float64(time.Hour)))
	}
}

// pastLoad is the index of a large workload, which the project's pictures and sessions show. Its
// work is even, and its users go far past its inflexion point: the data support the advice.
const pastLoad = 49

// scale chooses how the workload scales and the core counts that its user takes. About one workload
// in three takes too many.
func (y *Year) scale(l *load, i int) {
	good := y.between(12, 900) // n_eff
	beta := 0.35 + 0.5*y.rng.Float64()
	l.model = curve.Amdahl{Serial: y.between(1e-6, 5e-5), C: (good*(beta-0.2) - beta) / 0.2}
	l.model.B = beta * (l.model.C + 1)
	l.model.T1 = 1
	usual := coresNear(good * y.between(0.25, 0.9))
	if i%3 == 1 {
		usual = coresNear(good * y.between(2, 6))
		if i%6 == 1 {
			l.knee = float64(usual) / 2
		}
	}
	l.model.T1 = y.between(400, 15000) / l.model.Time(float64(usual))
	if i == pastLoad {
		l.knee, l.even = float64(usual)/12, true
		l.model.T1 /= 4 // it then takes about as long as without the knee
	}
	l.sizes = []int{usual}
	for _, f := range []float64{0.5, 2, 0.25, 4, 0.125} {
		if n := coresNear(float64(usual) * f); n != usual && y.chance(0.75) {
			l.sizes = append(l.sizes, n)
		}
	}
	if l.model.Efficient(0.8) < float64(usual)/1.9 && y.chance(0.4) {
		l.advised = coresNear(l.model.Efficient(0.8))
		l.learned = y.Start().Add(time.Duration((0.5 + 0.49*y.rng.Float64()) * float64(year)))
	}
}

// coresNear returns the core count that a user takes for n: the nearest power of two, at most mostCores.
func coresNear(n float64) int {
	p := int(math.Exp2(math.Round(math.Log2(math.Max(n, 2)))))
	return min(max(p, 2), mostCores)
}

// releases gives one workload in four a new executable; half of these are slower. The first workloads get
// theirs 4 to 12 days before the year's end, so that a digest has one to show.
func (y *Year) releases(l *load, i int) {
	l.builds = []build{{id: digest("build", i, 0)[:40], from: l.from, useful: 1, loss: 1}}
	if i%4 != 2 {
		return
	}
	at := l.from.Add(time.Duration((0.2 + 0.7*y.rng.Float64()) * float64(l.to.Sub(l.from))))
	if i < 40 {
		at = y.opts.Until.Add(-time.Duration((4 + 8*y.rng.Float64()) * 24 * float64(time.Hour)))
	}
	b := build{id: digest("build", i, 1)[:40], from: at, useful: 1, loss: 1}
	switch {
	case i%8 == 2:
		b.useful, b.loss = 1.12+0.25*y.rng.Float64(), 1.1
	case i%16 == 6:
		b.useful = 0.75 + 0.1*y.rng.Float64()
	}
	l.builds = append(l.builds, b)
}

// digest hashes its arguments to 64 hex digits.
func digest(what string, n ...int) string {
	h := sha256.Sum256(fmt.Append(nil, what, n))
	return hex.EncodeToString(h[:])
}

// Options say how large the year is. The zero value of a number means its default.
type Options struct {
	Seed      uint64
	Jobs      int       // 300,000
	Users     int       // 50, at most len(userNames)
	Workloads int       // 200
	Share     float64   // part of the jobs that is measured, above 0: 1
	Until     time.Time // the year's end; its hour is cut off
}

// year is how far back the jobs reach.
const year = 365 * 24 * time.Hour

// Year is a made-up site.
type Year struct {
	opts  Options
	rng   *rand.Rand
	users []user
	loads []*load
	next  uint32 // job id
	queue []*job.Job
	last  []*job.Job // see bare, recent and onGPUs
	hours []float64  // cumulative share of the jobs by hour of the year
	hour  int
	made  int
	times []time.Time // of the jobs still to be made in this hour

	placed uint32 // job that place placed last
	first  int    // index of the first of its nodes
}

// one picks an element.
func one[T any](y *Year, all []T) T { return all[y.rng.IntN(len(all))] }
