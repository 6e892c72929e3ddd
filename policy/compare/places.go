package compare

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"jobeff/ingest/job"
)

// growPlaces fills in the places whose mean time per rank changed most. A difference within the error of
// sampling is no change. Nor is a place that one of the runs may have dropped for lack of room.
func (c *Comparison) growPlaces(before, after *job.Places) {
	names := namesOf(before, after)
	was, is := names.times(before, c.Before.metrics.Ranks), names.times(after, c.After.metrics.Ranks)
	differs := func(name string) bool {
		a, both := was.seconds[name]
		b, also := is.seconds[name]
		sure := math.Sqrt(was.doubt[name] + is.doubt[name])
		if !both {
			sure = max(sure, was.dropped)
		}
		if !also {
			sure = max(sure, is.dropped)
		}
		return math.Abs(b-a) > sure
	}
	c.Places = slices.DeleteFunc(c.most(was.seconds, is.seconds, len(was.seconds)+len(is.seconds)), func(g Grown) bool { return !differs(g.Name) })
	c.Places = c.Places[:min(len(c.Places), mostGrown)]
	if len(names.lost) > 0 {
		c.Doubts = append(c.Doubts, fmt.Sprintf("places in %s are not compared: it was built anew, and not all functions of both builds are known here", strings.Join(names.lost, " and in ")))
	}
}

// placeNames gives places names that mean the same in both runs. If a file is the same in both, that is the
// address. If it was built anew, it is the function, provided that all functions in it are known.
type placeNames struct {
	anew  map[string]bool // files that were built anew, by name: whether all functions are known
	lost  []string        // the files of anew whose functions are not all known
	texts map[[3]string]string
}

func namesOf(before, after *job.Places) *placeNames {
	n := &placeNames{map[string]bool{}, nil, map[[3]string]string{}}
	was, is := buildsOf(before), buildsOf(after)
	for file, builds := range was {
		if other := is[file]; other != nil && (!maps.Equal(builds, other) || builds[""]) {
			n.anew[file] = namesFunctions(before, file) && namesFunctions(after, file)
			if !n.anew[file] {
				n.lost = append(n.lost, file)
			}
		}
	}
	slices.Sort(n.lost)
	for _, p := range []*job.Places{before, after} {
		for i := range p.List {
			one := &p.List[i]
			file := fileOf(p, one)
			if file == "" {
				continue
			}
			if key := keyOf(file, one); n.texts[key] == "" || one.Frames[0].Line > 0 {
				n.texts[key] = one.Function + " at " + p.FrameText(one, 0)
			}
		}
	}
	return n
}

// fileOf returns the name of the file that holds a place; "": it is not known.
func fileOf(p *job.Places, one *job.Place) string {
	if len(one.Frames) == 0 || one.Frames[0].Module < 0 || one.Frames[0].Module >= len(p.Modules) {
		return ""
	}
	return path.Base(p.Modules[one.Frames[0].Module].Path)
}

// keyOf identifies a place by the called function, the file and the offset in it.
func keyOf(file string, one *job.Place) [3]string {
	return [3]string{one.Function, file, fmt.Sprintf("%x", one.Frames[0].Offset)}
}

// buildsOf returns the build-ids of the files with places; "": one is not known.
func buildsOf(p *job.Places) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for i := range p.List {
		if file := fileOf(p, &p.List[i]); file != "" {
			if all[file] == nil {
				all[file] = map[string]bool{}
			}
			all[file][p.Modules[p.List[i].Frames[0].Module].BuildID] = true
		}
	}
	return all
}

func namesFunctions(p *job.Places, file string) bool {
	return !slices.ContainsFunc(p.List, func(one job.Place) bool { return fileOf(p, &one) == file && one.Frames[0].Symbol == "" })
}

// name returns a place's name; "": none means the same in both runs.
func (n *placeNames) name(p *job.Places, one *job.Place) string {
	file := fileOf(p, one)
	named, anew := n.anew[file]
	switch {
	case file == "" || anew && !named:
		return ""
	case anew:
		return one.Function + " in " + one.Frames[0].Symbol
	}
	return n.texts[keyOf(file, one)]
}

// placeTimes holds times by the name of a place.
type placeTimes struct {
	seconds map[string]float64 // mean of the ranks
	doubt   map[string]float64 // square of the error of sampling
	dropped float64            // no missing place took longer, s
}

func (n *placeNames) times(p *job.Places, ranks int) *placeTimes {
	t := &placeTimes{map[string]float64{}, map[string]float64{}, p.Dropped.Seconds() / float64(ranks)}
	for i := range p.List {
		one := &p.List[i]
		if name := n.name(p, one); name != "" {
			t.seconds[name] += one.Time.Seconds() / float64(ranks)
			t.doubt[name] += math.Pow(job.SampledWithin(one.Sampled, one.Samples).Seconds()/float64(ranks), 2)
		}
	}
	return t
}
