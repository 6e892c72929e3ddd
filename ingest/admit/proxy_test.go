package admit

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"good": {"0123456789abcdef\n", 0o640, ""}, "open": {"0123456789abcdef", 0o644, "chmod o="},
		"short": {"0123\n", 0o600, "fewer than 16"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(path)
		if c.want == "" && (err != nil || string(got) != "0123456789abcdef") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := ReadSecret(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "does not exist: make it with") {
		t.Error(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(fifo); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}
