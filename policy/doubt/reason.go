package doubt

import (
	"slices"
	"strings"
)

// offTexts say who switched measuring off, by kind: the text of WhyOff where no single job's words are told.
var offTexts = map[string]string{
	KindJob:     "the job or its step asked for it (--jobeff=off, JOBEFF=off, or a libjobeff.so of its own)",
	KindShare:   "not among the jobs that the site measures (measure.share)",
	KindSite:    "the site does not measure such jobs at present (measure.enabled, measure.partitions, measure.stop_on_harm)",
	KindNode:    "switched off on a node (/etc/jobeff/off)",
	KindLibrary: "libjobeff.so is missing on a node",
	KindFailed:  "measuring could not begin: no prolog, no record, or settings that cannot be read",
}

// offKinds find the kind by what a node's words hold. Their first writers are spank/body/decide.go and spank/step.c.
var offKinds = []struct{ holds, kind string }{
	{"(measure.share)", KindShare}, {"(measure.", KindSite}, {"(/etc/jobeff/off)", KindNode}, {"--jobeff=off", KindJob}, {"JOBEFF=off", KindJob},
	{"a libjobeff.so of its own", KindJob}, {"libjobeff.so is missing", KindLibrary},
}

// reasonKinds are the kinds by which Reason tells one code's reasons apart.
var reasonKinds = []string{KindYet, KindFailed, KindContainer, KindMissing, KindEndsEarly, KindGivenUp, KindJob, KindShare, KindSite, KindNode, KindLibrary}

// Reason is why jobs have no figures without what differs from job to job: the code and the kind alone. So sums by
// reason have few rows, whatever nodes and imported files say. Without a code, no reason is known.
func Reason(why Warning) Warning {
	reason := Warning{Code: why.Code}
	if _, known := texts[why.Code]; !known && withArgs[why.Code] == nil {
		return Warning{}
	}
	if slices.Contains(reasonKinds, why.Args.Kind) {
		reason.Args.Kind = why.Args.Kind
	}
	if why.Code == WhyOff && reason.Args.Kind == "" {
		reason.Args.Kind = KindFailed
		if i := slices.IndexFunc(offKinds, func(k struct{ holds, kind string }) bool { return strings.Contains(why.Args.Name, k.holds) }); i >= 0 {
			reason.Args.Kind = offKinds[i].kind
		}
	}
	return reason
}

// mendable are the codes of reasons that those who run the site can look into: a node without jobeff, a new MPI.
var mendable = []string{WhyNoReport, WhyOtherTimes, WhyReplaced, WhyNoSign, WhyInMPIInit, WhyNoMemory, WhyNoRoom, WhyNoStep,
	WarnOutboxFull, WarnImpossible, WarnUnreadable, WarnPreload, WarnUnseen, WarnStatic}

// Hole reports whether a Reason is one that a site can mend. Jobs without MPI, jobs that nobody wanted measured, and
// lost nodes leave no hole.
func Hole(reason Warning) bool {
	switch kind := reason.Args.Kind; reason.Code {
	case WhyNoReport:
		return kind != KindFailed
	case WhyOff:
		return kind == KindLibrary || kind == KindFailed
	}
	return slices.Contains(mendable, reason.Code)
}
