package words

import (
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Watched is what the nodes of a running job report at one moment.
type Watched struct {
	SoFar *job.Job
	Last  *job.Job      // what was done since the moment before; without Metrics if that is not known
	Span  time.Duration // how long that is
	CPU   time.Duration // CPU time that reading took in Span, on all nodes
	Quiet []string      // which nodes did not answer, in words
}

// Live holds the words about a running job: its last moment, and all of it so far.
type Live struct {
	Headline block.Headline
	Facts    []block.Fact
	Quiet    []string // which nodes did not answer
	Heads    string   // over the figures so far and those of the last moment; "": there is only one kind
	Tree     []block.Branch
	Shares   []block.Fact
	Parts    []block.Part // of the last moment
}

// OfLive words a running job. wide means that its reader sees characters outside ASCII.
func OfLive(of Watched, wide bool) (w Live) {
	j, last := inert.Copy(of.SoFar, wide), inert.Copy(of.Last, wide)
	w.Headline = headline(j, nil)
	if len(j.Executions) == 0 {
		w.Headline.Text = "It runs, and there are no figures of it so far."
		if len(of.Quiet) == 0 {
			w.Headline.Text = "It runs. None of its programs has called MPI so far, or begun a parallel region of OpenMP."
		}
	}
	span := fmt.Sprintf("the last %d s", int(of.Span.Round(time.Second).Seconds()))
	in := " in " + span
	if of.Span == 0 {
		in = " so far"
	}
	facts := slices.DeleteFunc(jobFacts(j), func(f block.Fact) bool { return !slices.Contains(liveFacts, f.Label) })
	w.Facts = append(facts, block.Fact{Label: "As of", Text: j.AsOf.Local().Format(time.DateTime)},
		block.Fact{Label: "Cost", Text: fmt.Sprintf("reading took %s of CPU time from the job%s", figure.Seconds(of.CPU.Seconds()), in)})
	for _, s := range of.Quiet {
		w.Quiet = append(w.Quiet, inert.Text(s, wide))
	}
	switch {
	case j.Metrics == nil || j.NeverMet():
	case last.Metrics == nil:
		w.Tree, w.Shares = branches(j), sharesOf(j)
	default:
		w.Heads = fmt.Sprintf("%32s%-*s%s", "", besideWidth, "so far", span)
		w.Tree, w.Shares = besides(j, last)
		w.Parts = []block.Part{callsPart(last, costly)}
		if most, least := workOfNodes(last); least < (1-unequal)*most {
			w.Parts = append(w.Parts, nodesPart(last, listed))
		}
	}
	return w
}

// liveFacts are the labels of the facts that are shown each time.
var liveFacts = []string{"Job", "State", "Time", "Size"}

// besideWidth is the width of the figures so far, which come before those of the last moment.
const besideWidth = 8

// besides returns the tree and the shares of the last moment, each beside the figures so far.
func besides(j, last *job.Job) (tree []block.Branch, shares []block.Fact) {
	tree = slices.DeleteFunc(branches(last), func(b block.Branch) bool { return b.Depth > 1 }) // the table of nodes has the lower levels
	shares = sharesOf(last)
	whole, wholeShares := branches(j), sharesOf(j)
	for i := range tree {
		if k := slices.IndexFunc(whole, func(b block.Branch) bool { return b.Name == tree[i].Name && b.Depth == tree[i].Depth }); k >= 0 {
			tree[i].Beside = figure.Efficiency(whole[k].Value)
		}
		tree[i].Beside = fmt.Sprintf("%-*s", besideWidth, tree[i].Beside)
	}
	for i := range shares {
		beside := ""
		if k := slices.IndexFunc(wholeShares, func(f block.Fact) bool { return f.Label == shares[i].Label }); k >= 0 {
			beside = wholeShares[k].Text
		}
		shares[i].Text = fmt.Sprintf("%4s%*s%4s", beside, besideWidth-4, "", shares[i].Text)
	}
	return tree, shares
}

// workOfNodes returns the most and the least useful time per rank of a node, in the biggest execution.
func workOfNodes(j *job.Job) (most, least float64) {
	e, _ := Biggest(j)
	if e == nil || len(e.Nodes) == 0 {
		return 0, 0
	}
	nodes := busiestNodes(e)
	return usefulPerRank(nodes[0]), usefulPerRank(nodes[len(nodes)-1])
}
