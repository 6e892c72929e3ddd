package notice

import (
	"slices"
	"time"

	"jobeff/etc"
)

// Sent is a notice that a user was sent.
type Sent struct {
	Cluster  string
	UID      uint32
	At       time.Time
	Subjects []string           // of its items
	Advised  map[string]Advised // core counts, by subject
}

// Advised is a core count that a notice named, and the count that it was to replace.
type Advised struct{ Cores, Instead int }

// Notice is what one user is told now.
type Notice struct {
	Cluster string
	UID     uint32
	User    string // the name; "" where it is not known
	Reason  string // why now
	Since   time.Time
	Items   []NoticeItem // at most mostItems, those that save most first
	Losses  []Loss       // the largest that no item covers
	More    int          // items that are left out
	Sure    float64      // core-hours that all items surely save: the sum of the lower ends
	Used    float64      // core-hours of all the user's jobs since Since
}

// mostItems bounds the items of a mail: people read no more.
const mostItems = 5

// Sent returns the notice as the log stores it once it is sent.
func (n *Notice) Sent(at time.Time) Sent {
	s := Sent{Cluster: n.Cluster, UID: n.UID, At: at}
	for _, i := range n.Items {
		s.add(i.Subject, i.advised(), i.Cores())
	}
	return s
}

// add notes an item: its subject, and the core count that it advised instead of another; cores 0: none.
func (s *Sent) add(subject string, cores, instead int) {
	s.Subjects = append(s.Subjects, subject)
	if cores > 0 && s.Advised == nil {
		s.Advised = map[string]Advised{}
	}
	if cores > 0 {
		s.Advised[subject] = Advised{cores, instead}
	}
}

type userKey struct {
	cluster string
	uid     uint32
}

const week = 7 * 24 * time.Hour

// NoticeSettings say how often people are told, and what. The zero value tells everything with a line to try.
type NoticeSettings struct {
	Period         time.Duration // least time between two notices to a user; 0 means a week
	CoolDown       time.Duration // least time between two about one workload; 0 means four weeks
	LeastCoreHours float64       // least core-hours that a notice surely saves
	LeastShare     float64       // likewise, as a part of what the user used since the last one
	WithoutLine    bool          // tells also what has no line to try
	Asked          []string      // rules with the site's own text, or that the site switched on: these are told in any case
}

// SettingsOf makes those of a configuration.
func SettingsOf(cfg *etc.Config) NoticeSettings {
	n := &cfg.Notice
	s := NoticeSettings{CoolDown: time.Duration(n.CoolDown), LeastCoreHours: n.LeastCoreHours, LeastShare: n.LeastShare, WithoutLine: n.WithoutLine}
	shipped := etc.Default().Rules
	for _, r := range cfg.Rules {
		ours := slices.IndexFunc(shipped, func(s etc.Rule) bool { return s.Name == r.Name })
		if ours < 0 && r.Text != "" || ours >= 0 && (shipped[ours].Text != r.Text || r.Enabled && !shipped[ours].Enabled) {
			s.Asked = append(s.Asked, r.Name)
		}
	}
	return s
}

func (s NoticeSettings) withDefaults() NoticeSettings {
	if s.Period <= 0 {
		s.Period = week
	}
	if s.CoolDown <= 0 {
		s.CoolDown = LookBack
	}
	return s
}

// LookBack is how far back jobs are read for a user who was told nothing since.
const LookBack = 4 * week
