package curve

import (
	"math"
	"slices"
)

// draw makes equally likely models of all that the data cannot tell from the optima. It weighs a grid around
// each optimum by likelihood. The grid is as wide as the curvature there allows, up to the whole space. Before
// the data speak, beta is uniform between 0 and 1, c is uniform in its logarithm, and f_s lies half way between
// both.
func (f *fitter) draw(optima []fitted) []Amdahl {
	least := optima[0].chi
	var cells []cell
	for _, b := range f.boxes(optima) {
		fresh := f.weighed(b, least)
		for range 2 {
			tight, ok := tightened(b, fresh)
			if !ok {
				break
			}
			b = tight
			fresh = f.weighed(b, least)
		}
		cells = append(cells, fresh...)
	}
	return f.resampled(cells, optima[0])
}

// gridSteps is the number of shapes along each edge of a box.
const gridSteps = 13

// weighed scans a box and gives each cell its weight.
func (f *fitter) weighed(b box, least float64) []cell {
	cells := f.scan(b, [3]int{gridSteps, gridSteps, gridSteps})
	volume := 0.0
	for j := range 3 {
		volume += math.Log(b.high[j] - b.low[j])
	}
	var beta, before float64
	for i := range cells {
		if v := cells[i].shape[1]; i == 0 || v != beta { // changes rarely
			beta, before = v, math.Log(logistic(v)*logistic(-v))
		}
		cells[i].weight = f.logWeight(cells[i].chi(), least) + before + cells[i].shape[0]/2 + volume
	}
	return cells
}

// boxes returns the surroundings of the optima. Those that overlap become one.
func (f *fitter) boxes(optima []fitted) []box {
	var boxes []box
	for _, o := range optima {
		b := f.around(o, optima[0].chi)
		for i := 0; i < len(boxes); i++ {
			if b.overlaps(boxes[i]) {
				b = b.with(boxes[i])
				boxes = slices.Delete(boxes, i, i+1)
				i = -1
			}
		}
		boxes = append(boxes, b)
	}
	return boxes
}

// around returns the box around an optimum that its curvature allows the parameters.
func (f *fitter) around(o fitted, least float64) box {
	f.at(o.shape)
	m, _ := f.normal()
	noise := f.noise(o.chi, least)
	all := widest(f.groups)
	var b box
	for j := range 3 {
		m[j][j] += 1e-12
	}
	for j := range 3 {
		var unit [3]float64
		unit[j] = 1
		far := 4.5 * noise * math.Sqrt(math.Max(solve3(m, unit)[j], 0))
		b.low[j] = math.Max(o.shape[j]-far, math.Min(all.low[j], o.shape[j]))
		b.high[j] = math.Min(o.shape[j]+far, math.Max(all.high[j], o.shape[j]))
		if narrow := 1e-9 * (1 + math.Abs(o.shape[j])); b.high[j]-b.low[j] < narrow {
			b.low[j], b.high[j] = o.shape[j]-narrow, o.shape[j]+narrow
		}
	}
	return b
}

func (b box) overlaps(o box) bool {
	for j := range 3 {
		if b.low[j] > o.high[j] || o.low[j] > b.high[j] {
			return false
		}
	}
	return true
}

func (b box) with(o box) box {
	for j := range 3 {
		b.low[j], b.high[j] = math.Min(b.low[j], o.low[j]), math.Max(b.high[j], o.high[j])
	}
	return b
}

// tightened shrinks a box to the cells that count, and a cell's width around them. It returns false if that is
// hardly smaller.
func tightened(b box, cells []cell) (box, bool) {
	top := heaviest(cells)
	tight := box{b.high, b.low}
	for _, c := range cells {
		if c.weight > top-faint {
			tight = tight.with(box{c.shape, c.shape})
		}
	}
	shrunk := false
	for j := range 3 {
		width := (b.high[j] - b.low[j]) / (gridSteps - 1)
		tight.low[j] = math.Max(tight.low[j]-width, b.low[j])
		tight.high[j] = math.Min(tight.high[j]+width, b.high[j])
		shrunk = shrunk || tight.high[j]-tight.low[j] < 0.7*(b.high[j]-b.low[j])
	}
	return tight, shrunk
}

func heaviest(cells []cell) float64 {
	top := math.Inf(-1)
	for i := range cells {
		top = math.Max(top, cells[i].weight)
	}
	return top
}

// resampled takes draws models at even steps of the summed weight. It moves the level of each by a draw of the
// level's own error.
func (f *fitter) resampled(cells []cell, best fitted) []Amdahl {
	top, sum := heaviest(cells), 0.0
	for i := range cells {
		sum += math.Exp(cells[i].weight - top)
	}
	models := make([]Amdahl, 0, draws)
	var passed float64
	for i := range cells {
		passed += math.Exp(cells[i].weight-top) / sum
		for len(models) < draws && passed > (float64(len(models))+0.5)/draws {
			off := f.levelNoise(cells[i].times, best.chi) * deviates[len(models)]
			models = append(models, cells[i].model(cells[i].level+off))
		}
	}
	return models
}

// levelNoise is the error of the level if the shape is known. Only run times determine it.
func (f *fitter) levelNoise(times, least float64) float64 {
	before := f.noiseBefore(least)
	noise := math.Sqrt((noiseWeight*before*before + times) / (noiseWeight + float64(len(f.groups)) - 1))
	return noise / math.Sqrt(f.sum)
}

// deviates holds normal deviates, one for each draw, in an order without a pattern.
var deviates = func() (z [draws]float64) {
	const golden = 0.6180339887498949
	for i := range z {
		_, p := math.Modf((float64(i) + 0.5) * golden)
		z[i] = math.Sqrt2 * math.Erfinv(2*p-1)
	}
	return z
}()
