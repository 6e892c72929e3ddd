package jobtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"jobeff/ingest/job"
)

// Fill sets every exported field below a pointer to a value that is not zero, also a field that
// is added later. Numbers are small, so that sums of them do not overflow.
func Fill(rng *rand.Rand, into any) { fill(rng, reflect.ValueOf(into).Elem()) }

func fill(rng *rand.Rand, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(Start.Add(time.Duration(1+rng.IntN(1e6)) * time.Microsecond)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", rng.IntN(1e6)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + rng.Int64N(1e6))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + rng.Uint64N(200))
	case reflect.Float64:
		v.SetFloat(1 + rng.Float64())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(rng, v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(rng, key)
		fill(rng, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // else it does not travel
				fill(rng, v.Field(i))
			}
		}
	default:
		panic("jobtest: " + v.Type().String() + " cannot be filled: add its kind")
	}
}

// Extreme sets n numbers below a pointer, picked at random, to ones at an edge of what they can hold.
func Extreme(rng *rand.Rand, of any, n int) {
	var all []reflect.Value
	numbers(reflect.ValueOf(of).Elem(), &all)
	for range n {
		switch v := all[rng.IntN(len(all))]; {
		case v.CanInt():
			v.SetInt(edges[rng.IntN(len(edges))])
		case v.CanUint() && v.Type().Size() == 8:
			v.SetUint(uint64(edges[rng.IntN(len(edges))])<<1 | 1)
		case v.CanUint():
			v.SetUint(1<<(8*v.Type().Size()) - 1)
		case v.CanFloat():
			v.SetFloat([]float64{0, -1, 1, 1e-308, 1e18, math.MaxFloat64}[rng.IntN(6)])
		default:
			v.Set(reflect.ValueOf(time.Unix(0, edges[rng.IntN(len(edges))])))
		}
	}
}

// edges are numbers at which something changes. Most of them are large.
var edges = []int64{math.MinInt64, -1, 0, 1, 1 << 31, 1 << 42, 1 << 53, 1 << 58, 1 << 58, 1 << 61, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}

// numbers lists all numbers and moments below a value.
func numbers(v reflect.Value, all *[]reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time](), v.CanInt(), v.CanUint(), v.CanFloat():
		*all = append(*all, v)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		numbers(v.Elem(), all)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			numbers(v.Index(i), all)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				numbers(v.Field(i), all)
			}
		}
	}
}

// Changed changes every field below a pointer, one at a time, calls do with the field's path,
// and puts it back. A number is changed to a smaller and to a larger one.
func Changed(of any, do func(path string)) { changed(reflect.ValueOf(of).Elem(), "", do) }

func changed(v reflect.Value, path string, do func(path string)) {
	try := func(to any) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		do(path)
		v.Set(old)
	}
	if at, is := v.Interface().(time.Time); is {
		try(at.Add(-time.Hour))
		try(at.Add(time.Hour))
		return
	}
	switch v.Kind() {
	case reflect.String:
		try("!" + v.String())
		try("~" + v.String())
	case reflect.Bool:
		try(!v.Bool())
	case reflect.Int, reflect.Int64:
		try(v.Int() + 1e10)
		try(int64(0))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		try(v.Uint() + 255) // for a byte: one less
		try(uint64(0))
	case reflect.Float64:
		try(v.Float() + 1e7)
	case reflect.Pointer:
		if !v.IsNil() {
			changed(v.Elem(), path, do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			changed(v.Index(i), path, do)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			old := v.MapIndex(key)
			v.SetMapIndex(key, reflect.ValueOf(int(old.Int()+7)).Convert(old.Type()))
			do(path)
			v.SetMapIndex(key, old)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" {
				changed(v.Field(i), path+"."+f.Name, do)
			}
		}
	}
}

// Start is when the executions of Part started, give or take a second.
var Start = time.Unix(1_700_000_000, 0).UTC()

// MakePossible changes a filled execution so that its figures are possible.
func MakePossible(x *job.Execution) {
	n, s, r := &x.Nodes[0], &x.Sections[0], &x.Slowest[0]
	x.Size, n.Ranks, n.RankIDs, s.Ranks, r.Rank = 9, 1, "7", 1, 7
	for _, longest := range []*time.Duration{&n.ElapsedMax, &n.ElapsedSum, &s.ElapsedMax, &s.Elapsed, &s.Own, &r.Elapsed} {
		*longest = time.Hour
	}
	n.UsefulMax, s.UsefulMax = n.Useful, s.Useful
	for _, t := range []*job.ThreadShare{s.Threads, n.Threads} {
		t.Ranks, t.Threads, t.ThreadsMax, t.Busiest, t.UsefulMax = 1, 1, 1, 1, t.Useful
	}
	s.Instances.Most = s.Instances.Least
	n.Run.Number = 1
	for _, i := range []*job.Instance{&s.Instances.Kept[0], n.Run} {
		i.Out, i.Late2 = i.In+int64(i.Late+i.Early), job.Square{Lo: i.Late2.Lo}
	}
}
