package cli

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// barAfter is the delay before a bar appears: a shorter task shows none.
const barAfter = time.Second

// Bar shows the progress of a long task on a terminal, and nothing elsewhere.
type Bar struct {
	shown *progressbar.ProgressBar // nil: elsewhere
	from  time.Time
}

// NewBar makes a bar on standard error. most is the number of things to do; -1 means unknown.
func NewBar(what string, most int64) Bar {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return Bar{}
	}
	return barOn(os.Stderr, what, most, time.Now().Add(barAfter))
}

// barOn is a bar on w that appears at the moment from.
func barOn(w io.Writer, what string, most int64, from time.Time) Bar {
	return Bar{progressbar.NewOptions64(most, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish()), from}
}

// Set shows that n are done.
func (b Bar) Set(n int64) {
	if b.shown != nil {
		b.Progress(n, b.shown.GetMax64())
	}
}

// Progress shows how many things are done, and a total that may have changed.
func (b Bar) Progress(done, of int64) {
	if b.shown != nil && time.Now().After(b.from) {
		if of != b.shown.GetMax64() {
			b.shown.ChangeMax64(of)
		}
		b.shown.Set64(done)
	}
}

// Describe changes the text beside the bar.
func (b Bar) Describe(what string) {
	if b.shown != nil {
		b.shown.Describe(what)
	}
}

// Done removes the bar.
func (b Bar) Done() {
	if b.shown != nil && b.shown.State().CurrentNum > 0 {
		b.shown.Finish()
	}
}
