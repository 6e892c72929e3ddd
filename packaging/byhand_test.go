package packaging

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// byHand are the files that measure without Slurm.
const byHand = `bin/jobeff
bin/jobeff-overhead
include/jobeff_section.f90
include/jobeff_section.h
include/jobeff_section.hpp
include/jobeff_section.inc
lib/jobeff/libjobeff.so
lib/jobeff/talp-3.5/libdlb.so
lib/jobeff/talp-3.5/libdlb_mpi.so
lib/jobeff/talp/libdlb.so
lib/jobeff/talp/libdlb_mpi.so
lib/libjobeff_section.so
`

// inFolder runs a script that fills $HERE, and ends by listing what is there.
func inFolder(t *testing.T, script string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds what measures by hand")
	}
	cmd := exec.Command("bash", "-ec", script+`
find bin etc include lib sbin -not -type d 2>/dev/null | LC_ALL=C sort`)
	cmd.Env = append(os.Environ(), "HERE="+t.TempDir())
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &said)
	}
	return string(out)
}

// TestTarball: what is unpacked measures a program where it lies. test/tarball.sh tries it in other Debians.
func TestTarball(t *testing.T) {
	got := inFolder(t, `
TARGET=$HERE ./tarball.sh >&2
gcc -fopenmp -o $HERE/prog ../test/apps/openmphello.c
cd $HERE
tar xzf jobeff-*-linux-x86_64.tar.gz
rm jobeff-*.tar.gz
cd jobeff-*
ls
bin/jobeff run -- ../prog 2>&1 | grep -c '^Parallel efficiency'`)
	const want = "LICENSE\nbin\ndoc\ninclude\nlib\nshare\n1\n" + byHand
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSpackRecipe runs the recipe without Spack. With Slurm, its prefix has the plugin and the server, and what is for /etc.
func TestSpackRecipe(t *testing.T) {
	if got := inFolder(t, "python3 testdata/spack.py $HERE/opt >&2; cd $HERE/opt"); got != byHand {
		t.Errorf("got\n%s\nwant\n%s", got, byHand)
	}
	got := inFolder(t, "python3 testdata/spack.py $HERE/opt +slurm >&2; cd $HERE/opt; grep -rho '/[^ ]*/opt/' etc | sort -u | wc -l")
	for _, want := range []string{"1\nbin/jobeff\n", "\netc/slurm/plugstack.conf.d/zz-jobeff.conf\n", "\netc/systemd/system/jobeffd.service\n", "\nlib/jobeff/jobeff_spank.so\n", "\nsbin/jobeffd\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
