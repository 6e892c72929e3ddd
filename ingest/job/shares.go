package job

import (
	"slices"

	"jobeff/policy/doubt"
)

// Shares are the fractions that the bytes of UsefulShare or MPIShare stand for; never nil.
func Shares(coded []byte) []float64 {
	all := make([]float64, len(coded))
	for i, b := range coded {
		all[i] = float64(b) / 255
	}
	return all
}

// UsefulTimes are the useful times of a node's ranks, s, in the order of RankIDs; false: they are not
// known for single ranks.
func (n *NodeShare) UsefulTimes() ([]float64, bool) {
	if len(n.UsefulShare) != n.Ranks {
		return nil, false
	}
	all := Shares(n.UsefulShare)
	for i := range all {
		all[i] *= n.ElapsedMax.Seconds()
	}
	return all, true
}

// NeverMet reports whether every rank of a job became a world of its own although they were started together. Efficiencies
// say nothing of it. A job from a list has no executions; its warnings say it.
func (j *Job) NeverMet() bool {
	if len(j.Executions) == 0 {
		return slices.Contains(j.Warnings, NeverMetWarning)
	}
	others := func(e Execution) bool { return e.Size > 1 }
	return CountExecutions(j.Executions) > 1 && !slices.ContainsFunc(j.Executions, others) && slices.ContainsFunc(j.Executions, func(e Execution) bool { return e.IsSingleton() })
}

// NeverMetWarning is what a job itself says whose ranks never met. The warnings of its executions count them.
var NeverMetWarning = doubt.Warning{Code: doubt.WarnSingletons, Args: doubt.Arguments{Kind: doubt.KindAll}}

// IsSingleton reports whether a rank, or each of those that are folded, became a world of its own although its
// step has several tasks.
func (e *Execution) IsSingleton() bool {
	return e.Size == 1 && slices.ContainsFunc(e.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnSingletons })
}
