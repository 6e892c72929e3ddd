package report

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"jobeff/test/browser"
)

// served answers each page at /NAME with the policy that jobeffd sends.
func served(t *testing.T, pages map[string][]byte) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", ContentSecurityPolicy+"; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

// watched notes what a page asks the network for and what the browser complains of.
type watched struct {
	mu         sync.Mutex
	requests   []string
	complaints []string
}

func watch(ctx context.Context, t *testing.T) *watched {
	t.Helper()
	w := new(watched)
	err := chromedp.Listen(ctx, func(event any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			w.requests = append(w.requests, e.Request.URL)
		case *log.EventEntryAdded:
			w.complaints = append(w.complaints, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	browser.Call(ctx, t, network.Enable, network.EnableParams{})
	browser.Call(ctx, t, log.Enable, cdp.Empty{})
	return w
}

// browserPages are the pages that are looked at.
func browserPages(t *testing.T) map[string][]byte {
	pages := map[string][]byte{}
	for file, name := range map[string]string{"good": "good", "bad": "bad", "killed": "killed", "empty": "no-mpi", "hostile": "hostile", "sections": "sections", "hybrid": "hybrid", "five": "five", "big": "big"} {
		pages[file] = jobHTML(t, ranked(fixtures()[name]))
	}
	pages["huge"], pages["placed"], pages["jobs"], pages["sums"] = jobHTML(t, huge()), placedHTML(t), jobsHTML(t, fixtureList()), sumsHTML(t)
	for _, name := range []string{"scales", "sections", "weak", "hostile"} {
		pages["workload-"+name] = workloadHTML(t, name)
		pages["proposal-"+name] = proposalHTML(t, name)
	}
	pages["compare"], pages["array"] = compareHTML(t, "mpi"), arrayHTML(t)
	pages["wrong"], pages["wrong-said"] = wrongHTML(t, ""), wrongHTML(t, nasty)
	return pages
}

// visible is what must be seen of each page, the first before anything is unfolded.
var visible = map[string][]string{
	"good":     {"Job 4711", "above the 0.80 that POP recommends", "COMPLETED", "Ranks by node", "MPI_Allreduce"},
	"bad":      {"Job 4711", "below the 0.80 that POP recommends", "below 0.80", "Efficiency over time", "of the ranks' time went into MPI; since", "Useful part of the time of ranks, over time", "Nodes with the most work", "Sizes of messages"},
	"killed":   {"It ran up to the time limit", "3 of 4 ranks were recorded", "TIMEOUT", "signal 15 (SIGTERM)", "1 of 2 nodes have reported"},
	"empty":    {"No parallel efficiency", "no process called MPI_Init", "COMPLETED"},
	"hostile":  {`\x1b[31m=cmd`, "<script>", `\u202egnp.exe`},
	"sections": {"Job 4711", "Sections of the program", "convolve", "never left: time steps (2 ranks)"},
	"hybrid":   {"OpenMP parallel efficiency", "Sections of the program", "What threads do in sections", "serialisation", "threads lost in OpenMP was in forces"},
	"five":     {"Job 4711", "5. program lmp"},
	"big":      {"1,000 ranks on 25 nodes"},
	"huge":     {"10,240 ranks on 80 nodes"},
	"placed":   {"would have taken", "Run time and efficiency of its workload over cores", "n_fast 256", "90 % interval"},
	"jobs":     {"Your jobs", "ended since", "Total of", "4711", "lj-melt", "Filter and sort"},
	"sums":     {"Accounts", "Lost of judged"},

	"workload-scales":   {"Workload lmp-3fa2c1", "would have taken", "n_eff 114", "n_fast 256", "Expected run times", "speedup: against the curve's time on 16 cores", "Measured, by cores", "job 9"},
	"workload-sections": {"Partial speedup bounds", "CONVOLVE", "Left out"},
	"workload-weak":     {"weak"},
	"workload-hostile":  {"<script>"},

	"proposal-scales":   {"Scaling of lmp-3fa2c1", "Ask for 128 cores", "6.17", "ideal", "Expected run times", "not known"},
	"proposal-sections": {"Measured, by cores"},
	"proposal-weak":     {"Scaling of hpcg", "the work grows with the cores"},
	"proposal-hostile":  {"<script>"},

	"wrong":      {"Was this wrong?", "by the rule low-efficiency", "This was wrong"},
	"wrong-said": {"It was said to be wrong on 2026-11-20", "In these words: "},
	"array":      {"Array 900 sweep", "They ran 2 different programs", "5 completed tasks of solve", "sbatch --array=4,7-8 --nodes=2", "900_10"},
	"compare":    {"Job 12 against job 11", "Nearly all of it is communication efficiency", "Where the difference comes from", "MPI: Open MPI v4.1.4; now MPICH 4.0.2", "halo"},
}

// TestInBrowser opens each page in Chromium, light and dark, on a telephone and on
// a desk: what must be seen is seen, nothing runs over the edge, nothing was asked of
// the network, and axe-core finds nothing serious. The screenshots are in
// build/screenshots.
func TestInBrowser(t *testing.T) {
	ctx, check := browser.Start(t), browser.Axe(t)
	pages := browserPages(t)
	server := served(t, pages)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	w := watch(ctx, t)
	for name := range pages {
		for _, width := range []int64{400, 800, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) {
					browser.Look(ctx, t, width, scheme)
					if err := chromedp.Do(ctx, chromedp.Navigate(server.URL+"/"+name)); err != nil {
						t.Fatal(err)
					}
					browser.Shoot(ctx, t, fmt.Sprintf("%s-%d-%s", name, width, scheme))
					checkFirst(ctx, t, visible[name])
					checkSeen(ctx, t, visible[name])
					checkScheme(ctx, t, scheme)
					if width == 400 == (scheme == "light") { // each width and each scheme once
						browser.CheckAxe(ctx, t, check)
					}
				})
			}
		}
	}
	t.Run("keyboard", func(t *testing.T) { checkKeyboard(ctx, t, server.URL+"/bad") })
	t.Run("copy", func(t *testing.T) { checkCopy(ctx, t, server.URL+"/placed") })
	t.Run("paper", func(t *testing.T) { checkPaper(ctx, t, server.URL+"/proposal-scales", 2) })
	t.Run("print", func(t *testing.T) { checkPrint(ctx, t, server.URL+"/bad") })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, url := range w.requests {
		if base, _, _ := strings.Cut(strings.TrimPrefix(url, server.URL+"/"), "?"); pages[base] == nil && base != "favicon.ico" && !strings.HasPrefix(url, "data:") { // Chromium's own picture in a date's field
			t.Errorf("the browser asked for %s", url)
		}
	}
	for _, text := range w.complaints {
		if !strings.Contains(text, "favicon") && !strings.Contains(text, "404") {
			t.Errorf("the browser complains: %s", text)
		}
	}
}

// seen is what a page looks like, asked in the browser.
type seen struct {
	Text     string
	Overflow []string  // elements that reach over the right edge
	Bars     []float64 // drawn width of the bars of POP's tree over that of their track
	Values   []float64 // what stands beside them
}

const look = `(() => {
	const wide = document.documentElement.clientWidth, over = [];
	for (const e of document.querySelectorAll("body *")) {
		const r = e.getBoundingClientRect();
		if (r.width > 0 && r.right > wide + 1 && !e.closest(".scroll")) over.push(e.tagName + "." + e.getAttribute("class"));
	}
	if (document.documentElement.scrollWidth > wide) over.push("the page");
	for (const a of document.querySelectorAll('th a[href*="jobs/"]')) if (a.getClientRects().length > 1) over.push("a job on several lines");
	for (const e of document.querySelectorAll(".scroll")) if (e.scrollWidth > e.clientWidth + 1 && !getComputedStyle(e).backgroundAttachment.includes("local")) over.push("a table without a sign that it goes on");
	const bars = [], values = [];
	for (const row of document.querySelectorAll(".tree tbody tr")) {
		const [track, bar] = row.querySelectorAll(".bar rect");
		bars.push(bar.getBoundingClientRect().width / track.getBoundingClientRect().width);
		values.push(parseFloat(row.querySelector("td.number").textContent));
	}
	return {Text: document.body.innerText, Overflow: over, Bars: bars, Values: values};
})()`

func checkSeen(ctx context.Context, t *testing.T, wants []string) {
	t.Helper()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[seen](look))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wants {
		if !strings.Contains(s.Text, want) {
			t.Errorf("%q is not seen", want)
		}
	}
	if len(s.Overflow) > 0 {
		t.Errorf("over the edge: %v", s.Overflow)
	}
	for i, bar := range s.Bars {
		if d := bar - s.Values[i]; d > 0.011 || d < -0.011 {
			t.Errorf("a bar of %.3f beside %.2f", bar, s.Values[i])
		}
	}
}

// unfold opens what is folded in the page's content.
const unfold = `document.querySelectorAll("main section > details").forEach(d => d.open = true); 0`

// checkFirst wants the first of what is to be seen before anything is unfolded, and unfolds all. Nothing of what is folded
// is lost: find-in-page opens it.
func checkFirst(ctx context.Context, t *testing.T, wants []string) {
	t.Helper()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[seen](look))
	if err != nil || len(wants) > 0 && !strings.Contains(s.Text, wants[0]) || len(s.Overflow) > 0 {
		t.Errorf("folded, it shows not %q, or is over the edge (%v): %v", wants, s.Overflow, err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[int](unfold)); err != nil {
		t.Fatal(err)
	}
}

// checkScheme fails where the reader's colours are not heeded.
func checkScheme(ctx context.Context, t *testing.T, scheme string) {
	t.Helper()
	paper, err := chromedp.Run(ctx, chromedp.Evaluate[string](`getComputedStyle(document.documentElement).backgroundColor`))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]; paper != want {
		t.Errorf("the paper is %s, want %s", paper, want)
	}
}

// checkKeyboard: the first tab shows the way past the head, which leads there, and
// what has the focus is seen.
func checkKeyboard(ctx context.Context, t *testing.T, url string) {
	const focused = `(() => {
		const e = document.activeElement, r = e.getBoundingClientRect();
		return [e.className, e.id, r.left >= 0 && r.width > 0 ? "seen" : "hidden", getComputedStyle(e).outlineStyle].join(" ");
	})()`
	if err := chromedp.Do(ctx, chromedp.Navigate(url), chromedp.KeyEvent(kb.Tab)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"skip  seen solid", " main seen none"} {
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](focused))
		if err != nil || got != want {
			t.Errorf("the focus is on %q (%v), want %q", got, err, want)
		}
		if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
	}
	if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
		t.Fatal(err)
	}
	if got, err := chromedp.Run(ctx, chromedp.Evaluate[string](focused)); err != nil || got != "  seen solid" {
		t.Errorf("after the head the focus is on %q, %v", got, err)
	}
}

// checkCopy: on a telephone and on a desk, the first line to copy is seen without scrolling, and a click takes all of it.
func checkCopy(ctx context.Context, t *testing.T, url string) {
	const find = `(() => { const e = document.querySelector("pre.copy"), r = e.getBoundingClientRect(); return [r.left + 20, r.top + 15, r.bottom, innerHeight]; })()`
	for _, width := range []int64{400, 1280} {
		browser.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
		if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
			t.Fatal(err)
		}
		at, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](find))
		if err != nil || len(at) != 4 || at[2] > at[3] {
			t.Fatalf("at %d px the line lies at %v, %v", width, at, err)
		}
		for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
			browser.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1})
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string]("getSelection().toString()"))
		if err != nil || !strings.HasPrefix(got, "sbatch --nodes=") || !strings.HasSuffix(strings.TrimSpace(got), " YOUR-SCRIPT") {
			t.Errorf("a click takes %q, %v", got, err)
		}
	}
}

// checkPaper: a page is printed on so many sheets at most.
func checkPaper(ctx context.Context, t *testing.T, url string, most int) {
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	pdf, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{})
	if err != nil {
		t.Fatal(err)
	}
	counted := regexp.MustCompile(`/Count (\d+)`).FindSubmatch(pdf.Data)
	if counted == nil {
		t.Fatal("the PDF counts no sheets")
	}
	if sheets, err := strconv.Atoi(string(counted[1])); err != nil || sheets < 1 || sheets > most {
		t.Errorf("it takes %d sheets, %v", sheets, err)
	}
}

// checkPrint: also a reader of dark pages prints on white paper.
func checkPrint(ctx context.Context, t *testing.T, url string) {
	browser.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	checkScheme(ctx, t, "light")
	const folded = `[...document.querySelectorAll("main section > details > :not(summary)")].filter(e => e.getBoundingClientRect().height == 0 || !e.checkVisibility({contentVisibilityAuto: true})).length`
	if hidden, err := chromedp.Run(ctx, chromedp.Evaluate[int](folded)); err != nil || hidden > 0 {
		t.Errorf("%d folded elements are not printed, %v", hidden, err)
	}
	const shadows = `[...document.querySelectorAll(".scroll")].filter(e => getComputedStyle(e).backgroundImage != "none").length`
	if n, err := chromedp.Run(ctx, chromedp.Evaluate[int](shadows)); err != nil || n > 0 {
		t.Errorf("%d shadows are printed, %v", n, err)
	}
	const edge = `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).length`
	if over, err := chromedp.Run(ctx, chromedp.Evaluate[int](edge)); err != nil || over > 0 {
		t.Errorf("%d elements over the edge of the paper, %v", over, err)
	}
}
