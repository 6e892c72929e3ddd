// Package browser lets tests look at pages in a real Chromium, and asks axe-core about them. Only
// tests import it.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Start starts a headless Chromium with a profile of its own, once for a test.
func Start(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a Chromium")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make deps installs it")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(time.Minute),
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); stop() })
	return ctx
}

// Call sends the browser a command.
func Call[P, R any](ctx context.Context, t *testing.T, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// Look makes the window `width` CSS pixels wide, for a reader of light or dark pages.
func Look(ctx context.Context, t *testing.T, width int64, scheme string) {
	t.Helper()
	Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
	Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// root returns the repository's folder.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Shoot keeps a picture of the whole page in build/screenshots.
func Shoot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	shots := filepath.Join(root(), "build", "screenshots")
	shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(shots, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(shots, name+".png"), shot, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Axe returns the text of axe-core's program.
func Axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(), "test/browser/node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Skip("no axe-core: make deps installs it")
	}
	return string(text)
}

// violation is a finding of axe-core.
type violation struct {
	ID, Impact, Help string
	Nodes            []string
}

// CheckAxe runs axe-core with all of its rules, those for good practice included.
func CheckAxe(ctx context.Context, t *testing.T, axe string) {
	t.Helper()
	const run = `axe.run(document).then(r => r.violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map(n => n.html + " | " + n.failureSummary)})))`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](axe)); err != nil {
		t.Fatal(err)
	}
	violations, err := chromedp.Run(ctx, chromedp.Evaluate[[]violation](run, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("axe: %s (%s): %s\n%s", v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n"))
	}
}

// CheckEdge fails for cut contents: elements that reach over the window's right edge, and regions that need
// scrolling to be read.
func CheckEdge(ctx context.Context, t *testing.T) {
	t.Helper()
	const look = `[...document.querySelectorAll("body *")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && r.right > document.documentElement.clientWidth + 1 && r.left >= 0 || e.matches(".scroll") && e.scrollWidth > e.clientWidth + 1;
	}).map(e => e.outerHTML.slice(0, 120))`
	cut, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](look))
	if err != nil {
		t.Fatal(err)
	}
	if len(cut) > 0 {
		t.Errorf("%d elements are cut: %.600s", len(cut), strings.Join(cut, "\n"))
	}
}
