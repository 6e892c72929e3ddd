package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// WrongFiles reads pairs of files from an archive: NAME.toml, and NAME.error with the error that it must cause.
// There must be `least` pairs or more. With update it rewrites the texts of the errors.
func WrongFiles(t *testing.T, archive string, least int, update bool, of func(path string, text []byte) error) {
	t.Helper()
	all, err := txtar.ParseFile(archive)
	if err != nil || len(all.Files) < 2*least {
		t.Fatalf("%s: %v, not %d files and their errors", archive, err, least)
	}
	dir := t.TempDir()
	for i := 0; i+1 < len(all.Files); i += 2 {
		file, want := all.Files[i], &all.Files[i+1]
		if strings.TrimSuffix(file.Name, ".toml")+".error" != want.Name {
			t.Fatalf("%s: %s stands behind %s", archive, want.Name, file.Name)
		}
		path := filepath.Join(dir, file.Name)
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		err := of(path, file.Data)
		if err == nil {
			t.Errorf("%s: no error", file.Name)
			continue
		}
		got := strings.ReplaceAll(err.Error(), dir+"/", "") + "\n"
		if update {
			want.Data = []byte(got)
		}
		if d := cmp.Diff(string(want.Data), got); d != "" {
			t.Errorf("%s: %s", file.Name, d)
		}
	}
	if update {
		os.WriteFile(archive, txtar.Format(all), 0o644)
	}
}
