package report

import (
	"fmt"
	"html/template"
	"math"

	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	pictures "jobeff/report/plot"
)

// curvePoints is how many points a curve is drawn through.
const curvePoints = 48

// StudyCurves are the two pictures of a workload: run time and parallel efficiency over cores.
// They show the runs, the curve, its interval, n_eff and n_fast. ok is false if no run can be
// drawn. The names in them are inert.
func StudyCurves(study *workload.Study) (time, share pictures.Curve, ok bool) {
	if len(study.Counts) == 0 {
		return time, share, false
	}
	s := inert.Copy(study, true)
	marks := curveMarks(s.Curve)
	time = pictures.Curve{Alt: curveAlt("Run time", s), Level: s.Curve.Level, Marks: marks}
	share = pictures.Curve{Alt: curveAlt("Parallel efficiency", s), Level: s.Curve.Level, Marks: marks, Share: true, Line: s.Curve.Line}
	for i, p := range s.Points() {
		name := fmt.Sprintf("job %s: %s, %s", s.Runs[i].DisplayID, figure.Counted(p.N, "core"), figure.Seconds(p.T))
		time.Runs = append(time.Runs, pictures.Run{N: p.N, Y: p.T, Name: name})
		if p.Tau != nil && p.T > 0 {
			pe := measure.Clamp(1 - *p.Tau/p.T)
			share.Runs = append(share.Runs, pictures.Run{N: p.N, Y: pe, Name: name + ", parallel efficiency " + figure.Efficiency(pe)})
		}
	}
	if s.Curve.Refused == "" {
		time.Fitted, share.Fitted = fittedCurves(s.Curve)
	}
	return time, share, true
}

// fittedCurves follow the curve as far as it predicts.
func fittedCurves(r *curve.Result) (time, share []pictures.Fitted) {
	first, last := math.Log(float64(r.Smallest)), math.Log(2*float64(r.Largest))
	before := 0
	for i := range curvePoints {
		n := int(math.Round(math.Exp(first + (last-first)*float64(i)/(curvePoints-1))))
		if n == before {
			continue
		}
		before = n
		at := r.At(n)
		if at.T != nil {
			time = append(time, pictures.Fitted{N: float64(n), Y: at.T.Value, Low: at.T.Low, High: at.T.High})
		}
		if at.PE != nil {
			share = append(share, pictures.Fitted{N: float64(n), Y: at.PE.Value, Low: at.PE.Low, High: at.PE.High})
		}
	}
	return time, share
}

func curveMarks(r *curve.Result) (marks []pictures.Mark) {
	for _, m := range []struct {
		name string
		at   curve.CoreCount
	}{{"n_eff", r.Eff}, {"n_fast", r.Fast}} {
		if e := m.at.Estimate; e != nil {
			marks = append(marks, pictures.Mark{N: e.Value, Low: e.Low, High: e.High, Label: m.name + " " + figure.Cores(e.Value), Fast: m.name == "n_fast"})
		}
	}
	return marks
}

// curveAlt says in words what a picture shows.
func curveAlt(what string, s *workload.Study) string {
	text := fmt.Sprintf("%s of %s over cores: %s", what, s.Workload.Name, runsText(s))
	if s.Curve.Refused != "" {
		return text + "; no curve: " + s.Curve.Refused
	}
	return text + fmt.Sprintf("; n_eff %s; n_fast %s", coreCount(s.Curve.Eff, "", s.Curve.Smallest), coreCount(s.Curve.Fast, "", s.Curve.Smallest))
}

// curveHTML are both pictures for a page.
func curveHTML(study *workload.Study) []template.HTML {
	time, share, ok := StudyCurves(study)
	if !ok {
		return nil
	}
	return []template.HTML{time.Picture().HTML(), share.Picture().HTML()}
}
