package job

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"jobeff/preload/record"
)

// Places are where in the code the ranks of an execution called MPI, most time first (METRICS 3).
type Places struct {
	Modules []Module `json:"modules"`
	List    []Place  `json:"list"`
	// Dropped is the time of places that had no room here, or in a rank's record.
	Dropped time.Duration `json:"dropped_ns,omitzero"`

	// Looked says that the frames' names were looked up, and uncertain callers cut off.
	Looked bool `json:"-"`
}

// Module is a file with code.
type Module struct {
	Path    string `json:"path,omitempty"`
	BuildID string `json:"build_id,omitempty"` // hex
}

// Place is the calls of one function from one place, summed over ranks.
type Place struct {
	Function string `json:"function"` // C name
	// Frames are the call itself and what may be its callers. Empty: it is not known whose code it is.
	Frames []Frame       `json:"frames,omitempty"`
	Calls  uint64        `json:"calls"`
	Time   time.Duration `json:"time_ns"`
	// Samples stand for a part of the calls and of the time: that of calls which took less than 20
	// µs. Each sample stands for the same time. 0: each call was counted.
	Samples uint64        `json:"samples,omitempty"`
	Sampled time.Duration `json:"sampled_ns,omitzero"`
	Ranks   int           `json:"ranks"`
	Most    time.Duration `json:"most_ns"` // of one rank
	Least   time.Duration `json:"least_ns"`
	Longest time.Duration `json:"longest_ns"` // of one call that was seen
}

// Frame is an instruction. Whoever shows it looks up its names, which never travel.
type Frame struct {
	Module int    `json:"m"` // in Places.Modules
	Offset uint64 `json:"o"` // address in its file

	Symbol string `json:"-"` // "": not known
	File   string `json:"-"`
	Line   int    `json:"-"`
	Why    string `json:"-"` // why there are no names
}

const (
	// MostPlaced bounds the executions of a job that have places.
	MostPlaced = 8
	// MostPlaces bounds the places of an execution.
	MostPlaces  = 64
	mostFrames  = 4
	mostAddress = 1 << 48
)

// PlaceSums add up places.
type PlaceSums struct {
	modules map[string]Module // by Module.ID
	places  map[string]*placeSum
	dropped time.Duration
}

type placeSum struct {
	Place
	at []string // modules of its frames
}

// ModuleIn returns the index of a module in a list. It adds the module if it is missing.
func ModuleIn(all *[]Module, m Module) int {
	i := slices.Index(*all, m)
	if i < 0 {
		i = len(*all)
		*all = append(*all, m)
	}
	return i
}

// ID identifies a module: by its build ID, else by its path.
func (m Module) ID() string {
	if m.BuildID != "" {
		return m.BuildID
	}
	return "/" + m.Path
}

// Add adds the places of other ranks.
func (s *PlaceSums) Add(p *Places) {
	if s.places == nil {
		s.modules, s.places = map[string]Module{}, map[string]*placeSum{}
	}
	s.dropped = AddTime(s.dropped, p.Dropped)
	for _, one := range p.List {
		var key strings.Builder
		key.WriteString(one.Function)
		at := make([]string, 0, len(one.Frames))
		for i, f := range one.Frames {
			if f.Module >= len(p.Modules) { // a made-up report
				one.Frames = one.Frames[:i]
				break
			}
			m := p.Modules[f.Module]
			at = append(at, m.ID())
			fmt.Fprintf(&key, "\x00%s\x00%x", m.ID(), f.Offset)
			if had, is := s.modules[m.ID()]; !is || m.Path < had.Path {
				s.modules[m.ID()] = m
			}
		}
		if sum := s.places[key.String()]; sum != nil {
			sum.add(&one)
		} else {
			s.places[key.String()] = &placeSum{one, at}
		}
	}
}

func (p *Place) add(b *Place) {
	p.Calls, p.Samples = AddCount(p.Calls, b.Calls), AddCount(p.Samples, b.Samples)
	p.Time, p.Sampled = AddTime(p.Time, b.Time), AddTime(p.Sampled, b.Sampled)
	p.Ranks += b.Ranks
	p.Most, p.Least = max(p.Most, b.Most), min(p.Least, b.Least)
	p.Longest = max(p.Longest, b.Longest)
}

// Places returns the sums, at most `most` of them; nil if nothing was added.
func (s *PlaceSums) Places(most int) *Places {
	if s.places == nil {
		return nil
	}
	keys := make([]string, 0, len(s.places))
	for key := range s.places {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.places[b].Time, s.places[a].Time), cmp.Compare(a, b))
	})
	out := &Places{Dropped: s.dropped}
	index := map[string]int{}
	for i, key := range keys {
		p := s.places[key]
		if i >= most {
			out.Dropped = AddTime(out.Dropped, p.Time)
			continue
		}
		p.Frames = slices.Clone(p.Frames)
		for k, id := range p.at {
			if _, is := index[id]; !is {
				index[id] = len(out.Modules)
				out.Modules = append(out.Modules, s.modules[id])
			}
			p.Frames[k].Module = index[id]
		}
		out.List = append(out.List, p.Place)
	}
	return out
}

// PlacedExecution is the execution whose places a job shows: the one with the most rank time among
// those that have places; nil: none has.
func PlacedExecution(all []Execution) (told *Execution) {
	most := -1.0
	for i := range all {
		if p := all[i].Places; p == nil || len(p.List) == 0 {
			continue
		}
		if took := RankSeconds(all[i : i+1]); took > most {
			told, most = &all[i], took
		}
	}
	return told
}

// JoinPlaces joins the places of all parts of an execution that have some.
func JoinPlaces(parts []*Execution) *Places {
	var sums PlaceSums
	for _, p := range parts {
		if p.Places != nil {
			sums.Add(p.Places)
		}
	}
	return sums.Places(MostPlaces * len(parts))
}

// Cut keeps the places that took the most time.
func (p *Places) Cut() *Places {
	var sums PlaceSums
	sums.Add(p)
	return sums.Places(MostPlaces)
}

// Share is the part of the time in MPI that the places with known code cover; false: the time in MPI
// is not known.
func (p *Places) Share(classes []Call) (share float64, known bool) {
	shares := p.Shares(classes)
	for i := range p.List {
		if len(p.List[i].Frames) > 0 {
			share += shares[i]
		}
	}
	return min(share, 1), PlacedTime(classes) > 0
}

// Shares is each place's part of the time in MPI. Together they are no more than 1. Samples are an
// estimate: if they stand for more time than the counted calls leave, they share what is left.
func (p *Places) Shares(classes []Call) []float64 {
	var counted, sampled float64
	for i := range p.List {
		counted += (p.List[i].Time - p.List[i].Sampled).Seconds()
		sampled += p.List[i].Sampled.Seconds()
	}
	all, weight := max(PlacedTime(classes).Seconds(), counted), 1.0
	if counted+sampled > all {
		weight = (all - counted) / sampled
	}
	shares := make([]float64, len(p.List))
	for i := range p.List {
		one := &p.List[i]
		shares[i] = min(fraction((one.Time-one.Sampled).Seconds()+weight*one.Sampled.Seconds(), all), 1)
	}
	return shares
}

// FrameText names frame i of a place: "solver.f90:212 in exchange_halo", or the module and the address in it.
func (p *Places) FrameText(place *Place, i int) string {
	if i >= len(place.Frames) {
		return "a place that is not known"
	}
	return place.Frames[i].text(p.Modules)
}

func (f *Frame) text(modules []Module) string {
	where := fmt.Sprintf("%s+%#x", cmp.Or(path.Base(modules[f.Module].Path), "?"), f.Offset)
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	}
	if f.Symbol != "" {
		where += " in " + f.Symbol
	}
	return where
}

// SampledWithin bounds the error of the time for which samples stand, in 95 % of cases (METRICS 3).
func SampledWithin(sampled time.Duration, samples uint64) time.Duration {
	if samples == 0 {
		return 0
	}
	return time.Duration(min(1.96*float64(sampled)/math.Sqrt(float64(samples)), 1<<62))
}

// PlacedTime is the time in the calls whose places are noted: all but calls on files.
func PlacedTime(classes []Call) (sum time.Duration) {
	for _, c := range classes {
		if c.Name != record.ClassIO.String() {
			sum = AddTime(sum, c.Time)
		}
	}
	return sum
}

// Possible reports whether `ranks` ranks can have such places.
func (p *Places) Possible(ranks int) bool {
	if len(p.List) > MostPlaces || len(p.Modules) > MostPlaces*mostFrames || p.Dropped < 0 {
		return false
	}
	return modulesPossible(p.Modules) && !slices.ContainsFunc(p.List, func(one Place) bool { return !one.possible(ranks, len(p.Modules)) })
}

func modulesPossible(all []Module) bool {
	return !slices.ContainsFunc(all, func(m Module) bool { return strings.Trim(m.BuildID, "0123456789abcdef") != "" })
}

func framesPossible(frames []Frame, modules int) bool {
	return !slices.ContainsFunc(frames, func(f Frame) bool {
		return f.Module < 0 || f.Module >= modules || f.Offset >= mostAddress
	})
}

func (p *Place) possible(ranks, modules int) bool {
	if p.Function == "" || len(p.Function) > MostName || len(p.Frames) > mostFrames || p.Ranks < 1 || p.Ranks > ranks {
		return false
	}
	if p.Sampled < 0 || p.Time < p.Sampled || p.Least < 0 || p.Most < p.Least || p.Time < p.Most || p.Longest < 0 {
		return false
	}
	return framesPossible(p.Frames, modules)
}
