package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy"
	"jobeff/policy/rule"
)

// judgeEvery is the time between two looks for jobs that the rules have not judged. While there are many,
// judge rests restFactor times as long as it worked. So it takes a quarter of a core at most, since
// reports go first.
const (
	judgeEvery = 2 * time.Second
	restFactor = 3
)

// judging tells the store how to ask a configuration's rules.
func judging(rules *rule.Rules, grace time.Duration) store.Judging {
	return store.Judging{Rules: rules.Mark(), Grace: grace, Ask: func(found *listing.JobAndWorkload) []string {
		_, verdicts := rules.JudgeFound(found, time.Now())
		return policy.Flags(verdicts)
	}}
}

// judge asks the rules about jobs whose figures or rules are new. It stores which rules flag them, for
// lists.
func judge(ctx context.Context, db *store.Store, how store.Judging, log zerolog.Logger) {
	total := 0 // judged since the last line in the log
	for rest := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		begin := time.Now()
		judged, err := db.Judge(ctx, how, begin)
		total += judged
		if err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("judging")
		}
		if rest = restFactor * time.Since(begin); judged == 0 || err != nil {
			rest = judgeEvery
		}
		if judged == 0 && total > 0 {
			log.Info().Int("attempts", total).Msg("judged")
			total = 0
		}
	}
}
