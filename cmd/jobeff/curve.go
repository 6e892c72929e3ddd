package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/policy/curve"
	"jobeff/report"
	"jobeff/report/view"
)

const curveHelp = `jobeff curve fits the overhead curve to the run times of one workload on several
core counts. It says which core count keeps a parallel efficiency of 0.8 (n_eff),
which is the fastest (n_fast), and how long the workload would take on others.

FILE is a table with the columns n (cores), t_n (seconds) and, where it was
measured, tau_n (seconds of overhead, t_n (1 - PE)). # starts a comment. Other
columns are ignored. Several lines may have the same n. The curve needs four core
counts; two or three with tau_n on each give a rough estimate.

Every figure has an interval: 9 of 10 true values lie inside. jobeff curve predicts
nothing beyond twice the largest n.`

// curveFlags are the flags of jobeff curve.
type curveFlags struct {
	json    bool
	predict []string
	method  string
}

// curveCommand shows the curve of a file.
func (p *program) curveCommand() *cobra.Command {
	var flags curveFlags
	c := &cobra.Command{
		Use:     "curve FILE.csv",
		Short:   "Draw the overhead curve through run times on several core counts",
		Long:    curveHelp,
		Example: "  jobeff curve --predict 64,128 runs.csv",
		Args:    cli.One("file", 1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.curve(args[0], flags) },
	}
	c.Flags().BoolVar(&flags.json, "json", false, "print a JSON document")
	c.Flags().StringSliceVar(&flags.predict, "predict", nil, predictHelp)
	c.Flags().StringVar(&flags.method, "method", "combined", "`METHOD`: combined, or hoefinger, the paper's own, from run times alone, ± one standard error")
	return c
}

// settings reads the flags.
func (f curveFlags) settings() (curve.Settings, error) {
	var s curve.Settings
	switch f.method {
	case "combined":
	case string(curve.MethodHoefinger):
		s.Method = curve.MethodHoefinger
	default:
		return s, cli.Usagef("--method %q is not known: combined or hoefinger", f.method)
	}
	var err error
	s.Predict, err = coreCounts("--predict", f.predict)
	return s, err
}

const predictHelp = "predict the time on these core `COUNTS`, as 64,128; default: twice the largest measured"

// coreCounts reads the values of a flag.
func coreCounts(flag string, texts []string) (counts []int, err error) {
	if counts, err = curve.ReadCounts(texts); err != nil {
		return nil, cli.Usagef("%s %w", flag, err)
	}
	return counts, nil
}

// curve reads a file, fits a curve and prints it. Where no curve fits, it prints why; that is no error.
func (p *program) curve(path string, flags curveFlags) error {
	settings, err := flags.settings()
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	points, err := curve.Read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	v := view.NewCurve(path, points, curve.Fit(points, settings), curve.Rivals(points), p.options().Unicode)
	if flags.json {
		return view.Write(p.stdout, v)
	}
	return report.TextOfCurve(p.stdout, v, p.options())
}
