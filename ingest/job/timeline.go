package job

import (
	"cmp"
	"slices"
	"time"
)

// Timeline is how the ranks of an execution spent their time, by buckets of CLOCK_REALTIME. A bucket
// lasts 2^Shift times 1/64 s, and bucket i is number First + i since 1970. All lists but Most have
// an entry for each bucket. A rank that began or ended inside a bucket counts there for the time
// that it ran.
type Timeline struct {
	Shift   int             `json:"shift"`
	First   int64           `json:"first"`
	Ranks   int             `json:"ranks"` // whose time this is
	Elapsed []time.Duration `json:"elapsed_ns"`
	Useful  []time.Duration `json:"useful_ns"`
	IO      []time.Duration `json:"io_ns,omitempty"` // nil: no time in files

	// Threads are the ranks' elapsed time times their threads, ThreadsUseful what all threads
	// computed. Nil: no rank used OpenMP, or not all of its time is known. A region's useful time
	// is spread evenly between the moments at which it was read.
	Threads       []time.Duration `json:"threads_ns,omitempty"`
	ThreadsUseful []time.Duration `json:"threads_useful_ns,omitempty"`

	// Most is the useful time of the busiest rank in each bucket, then in each bucket of twice that
	// length, and so on, until one bucket is left, or two that no doubling joins. The maximum of a
	// longer bucket does not follow from those of shorter ones. With all of them, the order of
	// merging does not matter. A job has the first list only.
	Most [][]time.Duration `json:"most_ns"`
	// MostWhole is the useful time of the busiest rank in all buckets together.
	MostWhole time.Duration `json:"most_whole_ns"`
}

// MostBuckets bounds the buckets of a Timeline.
const MostBuckets = 64

// mostLength is the longest Shift, beyond what any job can reach.
const mostLength = 39

const nsPerS = int64(time.Second)

// ShiftFor is the least Shift, from shift on, at which [from, to] ns after 1970 is at most
// MostBuckets buckets.
func ShiftFor(shift int, from, to int64) int {
	for BucketOf(to, shift)-BucketOf(from, shift) >= MostBuckets {
		shift++
	}
	return shift
}

// perS is the number of shortest buckets in a second.
const perS = 64

// lastShortest bounds the number of a shortest bucket: the ns from 1970 to its begin fit 64 bits.
const lastShortest = int64(1) << 39

// BucketOf is the number of the bucket in which a moment lies, ns after 1970.
func BucketOf(ns int64, shift int) int64 {
	return (ns/nsPerS*perS + ns%nsPerS*perS/nsPerS) >> shift
}

// BucketBegin is when a bucket begins, ns after 1970, rounded up.
func BucketBegin(number int64, shift int) int64 {
	shortest := number << shift
	return shortest/perS*nsPerS + (shortest%perS*nsPerS+perS-1)/perS
}

// NewTimeline makes a timeline with n empty buckets.
func NewTimeline(shift int, first int64, n int) *Timeline {
	t := &Timeline{Shift: shift, First: first, Elapsed: make([]time.Duration, n), Useful: make([]time.Duration, n)}
	for last := first + int64(n) - 1; ; first, last = first>>1, last>>1 {
		t.Most = append(t.Most, make([]time.Duration, last-first+1))
		if last-first <= 1 {
			return t
		}
	}
}

// addBuckets adds durations to the entries of a list of n; bucket says to which entry.
func addBuckets(to *[]time.Duration, n int, from []time.Duration, bucket func(i int) int) {
	if *to == nil && from != nil {
		*to = make([]time.Duration, n)
	}
	for i, d := range from {
		(*to)[bucket(i)] = AddTime((*to)[bucket(i)], d)
	}
}

// Add adds other ranks of the same execution. t may become coarser.
func (t *Timeline) Add(b *Timeline) {
	shift := max(t.Shift, b.Shift)
	first := min(t.First>>(shift-t.Shift), b.First>>(shift-b.Shift))
	last := max(t.last()>>(shift-t.Shift), b.last()>>(shift-b.Shift))
	for ; last-first >= MostBuckets; shift++ {
		first, last = first>>1, last>>1
	}
	n := int(last - first + 1)
	sum := NewTimeline(shift, first, n)
	for _, one := range []*Timeline{t, b} {
		bucket := func(i int) int { return int((one.First+int64(i))>>(shift-one.Shift) - sum.First) }
		for _, list := range []struct {
			to   *[]time.Duration
			from []time.Duration
		}{{&sum.Elapsed, one.Elapsed}, {&sum.Useful, one.Useful}, {&sum.IO, one.IO}, {&sum.Threads, one.Threads}, {&sum.ThreadsUseful, one.ThreadsUseful}} {
			addBuckets(list.to, n, list.from, bucket)
		}
		for level := range sum.Most {
			first, most := one.mostAt(shift + level)
			for i, d := range most {
				at := first + int64(i) - sum.First>>level
				sum.Most[level][at] = max(sum.Most[level][at], d)
			}
		}
		sum.Ranks += one.Ranks
		sum.MostWhole = max(sum.MostWhole, one.MostWhole)
	}
	if (t.Threads == nil) != (b.Threads == nil) {
		sum.Threads, sum.ThreadsUseful = nil, nil
	}
	*t = *sum
}

// last is the number of the last bucket.
func (t *Timeline) last() int64 { return t.First + int64(len(t.Elapsed)) - 1 }

// mostAt returns Most for buckets of another length, and the number of the first such bucket.
func (t *Timeline) mostAt(shift int) (first int64, most []time.Duration) {
	level := shift - t.Shift
	first, last := t.First>>level, t.last()>>level
	if level < len(t.Most) {
		return first, t.Most[level]
	}
	if first == last {
		return first, []time.Duration{t.MostWhole}
	}
	return first, t.Most[len(t.Most)-1] // the same two buckets, only longer
}

// Possible reports whether the ranks of an execution can have spent their time like this.
func (t *Timeline) Possible(ranks int) bool {
	n := len(t.Elapsed)
	if t.Shift < 0 || t.Shift > mostLength || t.First < 0 || n < 1 || n > MostBuckets || t.First > lastShortest>>t.Shift-int64(n) || !t.whole() || t.Ranks != ranks || ranks < 1 {
		return false
	}
	like := NewTimeline(t.Shift, t.First, n)
	if len(t.Most) != len(like.Most) || (t.Threads == nil) != (t.ThreadsUseful == nil) {
		return false
	}
	for level, most := range t.Most {
		if len(most) != len(like.Most[level]) || slices.ContainsFunc(most, func(d time.Duration) bool { return d < 0 || d > t.MostWhole }) {
			return false
		}
	}
	for _, list := range [][]time.Duration{t.IO, t.Threads, t.ThreadsUseful} {
		if slices.ContainsFunc(list, func(d time.Duration) bool { return d < 0 }) {
			return false
		}
	}
	for i := range n {
		busy := t.Useful[i]
		if t.IO != nil {
			busy = AddTime(busy, t.IO[i])
		}
		if t.Useful[i] < 0 || busy > t.Elapsed[i] || t.Most[0][i] > t.Useful[i] || t.Useful[i].Seconds() > t.Most[0][i].Seconds()*float64(ranks)*(1+Tolerance) || t.Threads != nil && t.ThreadsUseful[i] > t.Threads[i] {
			return false
		}
	}
	return true
}

// Bucket is one bucket of a timeline, with POP's efficiencies in it (METRICS 1). Parallel is that
// of all threads if it is known, else of ranks.
type Bucket struct {
	From, To      time.Time
	Parallel      float64
	LoadBalance   float64 // of ranks
	Communication float64 // of ranks
	Files         float64 // share of the ranks' time
}

// whole reports whether the lists that Buckets reads have an entry for each bucket.
func (t *Timeline) whole() bool {
	n := len(t.Elapsed)
	return len(t.Useful) == n && len(t.Most) > 0 && len(t.Most[0]) == n &&
		(t.IO == nil || len(t.IO) == n) && (t.Threads == nil || len(t.Threads) == n && len(t.ThreadsUseful) == n)
}

// Buckets returns the buckets in which ranks ran. It returns none if a server of another version
// stored the timeline in another form.
func (t *Timeline) Buckets() (all []Bucket) {
	if !t.whole() {
		return nil
	}
	for i, elapsed := range t.Elapsed {
		if elapsed == 0 {
			continue
		}
		at := func(i int) time.Time { return time.Unix(0, BucketBegin(t.First+int64(i), t.Shift)).UTC() }
		share := func(part, whole time.Duration) float64 {
			if whole == 0 {
				return 0
			}
			return part.Seconds() / whole.Seconds()
		}
		b := Bucket{From: at(i), To: at(i + 1), Parallel: share(t.Useful[i], elapsed)}
		b.LoadBalance = min(share(t.Useful[i], t.Most[0][i])/float64(t.Ranks), 1)
		b.Communication = min(share(t.Most[0][i], elapsed)*float64(t.Ranks), 1)
		if t.Threads != nil {
			b.Parallel = share(t.ThreadsUseful[i], t.Threads[i])
		}
		if t.IO != nil {
			b.Files = share(t.IO[i], elapsed)
		}
		all = append(all, b)
	}
	return all
}

// JoinTimelines adds up the timelines of all parts of an execution; nil if one part has none.
func JoinTimelines(parts []*Execution) *Timeline {
	var all []*Timeline
	for _, p := range parts {
		if p.Timeline == nil {
			return nil
		}
		all = append(all, p.Timeline)
	}
	return SumTimelines(all)
}

// SumTimelines adds up some timelines, at least one, which stay as they are.
func SumTimelines(all []*Timeline) *Timeline {
	sum := *all[0]
	for _, t := range all[1:] {
		sum.Add(t)
	}
	return &sum
}

// KeepTimelines keeps the timelines of the executions with the most core time, `most` of them, and the
// places of `places` of them. It drops all others, and the nodes' courses with the timelines. It
// returns the executions that may have something left.
func KeepTimelines(all []Execution, most, places int) (with []*Execution) {
	for i := range all {
		if all[i].Timeline != nil {
			with = append(with, &all[i])
			continue
		}
		all[i].Places = nil
		all[i].dropCourses()
	}
	slices.SortStableFunc(with, func(a, b *Execution) int {
		return cmp.Compare(RankSeconds([]Execution{*b}), RankSeconds([]Execution{*a}))
	})
	for i, e := range with {
		if i >= places {
			e.Places = nil
		}
		if i >= most {
			e.Timeline = nil
			e.dropCourses()
		}
	}
	return with[:min(max(most, places), len(with))]
}
