package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/inert"
	"jobeff/report/words"
)

// proposalHelp says what --proposal writes.
const proposalHelp = "write two pages for a proposal to the new `FILE`.html, and their table to FILE.csv"

// tableBeside names the table of a proposal's page.
func tableBeside(page string) string { return strings.TrimSuffix(page, ".html") + ".csv" }

// wantProposal refuses what is no name for a proposal's page, and files that exist. Without a page all is well.
func wantProposal(page string) error {
	if page == "" {
		return nil
	}
	if name, is := strings.CutSuffix(page, ".html"); !is || name == "" {
		return cli.Usagef("--proposal %s: name a FILE.html; the table is then in FILE.csv", page)
	}
	return errors.Join(wantNew(page), wantNew(tableBeside(page)))
}

// saveProposal writes a proposal's page and its table, if there is to be one.
func (p *program) saveProposal(page string, study *workload.Study) error {
	if page == "" {
		return nil
	}
	return errors.Join(p.save(page, func(w io.Writer) error {
		return report.PageOfProposal(w, words.OfProposal(study, policy.RequestOf(study), etc.Version))
	}), p.save(tableBeside(page), func(w io.Writer) error { return countsTable(w, study) }))
}

// countsTable writes a line for each core count. Times are seconds.
func countsTable(out io.Writer, study *workload.Study) error {
	rows := [][]string{{"n", "nodes", "runs", "t_n", "tau_n", "speedup", "speedup_low", "speedup_high", "parallel_efficiency", "core_hours"}}
	for i, speedup := range workload.Speedups(study.Points()) {
		c := study.Counts[i]
		rows = append(rows, []string{strconv.Itoa(c.N), strings.Trim(fmt.Sprint(c.Nodes), "[]"), strconv.Itoa(c.Runs), number(c.T), number(c.Tau),
			number(speedup.Value), number(speedup.Low), number(speedup.High), number(c.PE), number(c.CoreHours)})
	}
	return csv.NewWriter(out).WriteAll(rows)
}

// runsTable writes the runs of a curve as a table that jobeff curve reads. Times are seconds.
func runsTable(out io.Writer, study *workload.Study) error {
	rows := [][]string{{"n", "t_n", "tau_n", "parallel_efficiency", "run"}}
	for i, p := range study.Points() {
		tau, pe := "", ""
		if p.Tau != nil {
			tau, pe = number(*p.Tau), number(1-*p.Tau/p.T)
		}
		rows = append(rows, []string{strconv.Itoa(p.N), number(p.T), tau, pe, inert.Text(study.Runs[i].DisplayID, false)})
	}
	return csv.NewWriter(out).WriteAll(rows)
}

// number writes a number for a program, to six digits.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
