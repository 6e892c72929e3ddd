package report

import (
	"io"
	"testing"

	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/report/words"
)

func TestBacktestViews(t *testing.T) {
	rules := shippedRules(t)
	backtest := notice.NewBacktest(rules.Settings(), notice.NoticeSettings{WithoutLine: true})
	for _, name := range []string{"bad", "good", "hostile", "no-mpi"} {
		c := policy.Describe(fixtures()[name], nil)
		backtest.Add(notice.NewJudged(fixtures()[name], nil, c, rules.JudgeCase(c)))
	}
	eachView(t, "backtest", func(w io.Writer, opts Options) error { return TextOfBacktest(w, words.OfBacktest(backtest), opts) })
}
