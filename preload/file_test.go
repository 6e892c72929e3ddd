package preload

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"jobeff/preload/record"
	"jobeff/test/trial"
)

// ending runs the small program ending.c with a record.
func ending(t *testing.T, f family, file string, ranks int) {
	t.Helper()
	mustRun(t, mpirun(t, f, byHand(file), ranks, compile(t, f.cc, "ending.c"), "finalize"))
}

var openMPI, mpich = families[0], families[1]

// A file that is no record of ours, of this boot, is left as it is.
func TestForeignFileIsNotWritten(t *testing.T) {
	real := filepath.Join(t.TempDir(), "real")
	ending(t, mpich, real, 1)
	head, err := os.ReadFile(real)
	must(t, err)
	cases := []struct {
		name   string
		change func(b []byte) []byte
	}{
		{"text", func([]byte) []byte { return []byte("precious\n") }},
		{"empty", func([]byte) []byte { return nil }},
		{"magic alone", func(b []byte) []byte { return b[:8] }},
		{"head alone", func(b []byte) []byte { return b[:4096] }},
		{"truncated", func(b []byte) []byte { return b[:4096+32768] }},
		{"another magic", func(b []byte) []byte { b[0] ^= 1; return b[:1<<20] }},
		{"another version", func(b []byte) []byte { b[8]++; return b }},
		{"another size of slots", func(b []byte) []byte { b[17]++; return b }},
		{"another boot", func(b []byte) []byte { b[40]++; return b }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			want := c.change(append([]byte{}, head...))
			must(t, os.WriteFile(file, want, 0o600))
			ending(t, mpich, file, 1)
			got, err := os.ReadFile(file)
			must(t, err)
			if string(got) != string(want) {
				t.Errorf("the file was changed")
			}
		})
	}
	t.Run("symlink", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		must(t, os.Symlink(real, link))
		ending(t, mpich, link, 1)
		if slots := readSlots(t, real); len(slots) != 1 {
			t.Errorf("%d slots through a symlink", len(slots))
		}
	})
}

func TestSecondRunAppends(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	for _, f := range families {
		ending(t, f, file, 2)
	}
	slots := readSlots(t, file)
	if len(slots) != 4 || recorded(slots)["MPI_Barrier"].Count != 12 {
		t.Fatalf("%d slots with %v, want 4 with 12 barriers", len(slots), recorded(slots))
	}
	if slots[0].Family != openMPI.name || slots[2].Family != mpich.name || slots[0].World == slots[2].World {
		t.Errorf("%s in %q and %s in %q", slots[0].Family, slots[0].World, slots[2].Family, slots[2].World)
	}
}

// Several processes may make the file at once.
func TestMadeAtOnce(t *testing.T) {
	program := compile(t, mpich.cc, "ending.c")
	for round := range 5 {
		folder := t.TempDir()
		file := filepath.Join(folder, "record")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if r := run(t, byHand(file), program, "finalize"); r.code != 0 {
					t.Errorf("exit code %d, %s", r.code, r.stderr)
				}
			})
		}
		all.Wait()
		entries, err := os.ReadDir(folder)
		must(t, err)
		if slots := readSlots(t, file); len(slots) != 8 || len(entries) != 1 {
			t.Errorf("round %d: %d slots, want 8; %d files, want 1", round, len(slots), len(entries))
		}
	}
}

func TestNameOfTheRecord(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	folder := t.TempDir()
	ending(t, mpich, filepath.Join(folder, "on-%h-%"), 1)
	if slots := readSlots(t, filepath.Join(folder, "on-"+host+"-%")); len(slots) != 1 {
		t.Errorf("%d slots", len(slots))
	}
	cmd := exec.Command(compile(t, mpich.cc, "ending.c"), "finalize")
	cmd.Dir = folder
	cmd.Env = append(plainEnvironment(), byHand("relative")...)
	must(t, cmd.Run())
	if slots := readSlots(t, filepath.Join(folder, "relative")); len(slots) != 1 {
		t.Errorf("%d slots", len(slots))
	}
}

// Without a free slot the program runs as ever and the head counts it.
func TestNoSlotLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	ending(t, mpich, file, 1)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, 2), 20) // je_head.slots
	must(t, err)
	ending(t, mpich, file, 4)
	if head := readHead(t, file); head.Used != 2 || head.LostFull != 3 {
		t.Errorf("%d slots used, %d lost; want 2 and 3", head.Used, head.LostFull)
	}
}

// On a full tmpfs a store to the map would be SIGBUS.
func TestFullTmpfs(t *testing.T) {
	trial.MayMount(t)
	folder := t.TempDir()
	must(t, syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=112k")) // the head and three slots
	defer syscall.Unmount(folder, 0)
	file := filepath.Join(folder, "record")
	for _, f := range families {
		ending(t, f, file, 4)
	}
	slots := readSlots(t, file)
	if head := readHead(t, file); head.LostMemory != 5 || head.LostFull != 0 {
		t.Errorf("lost %d for memory and %d for slots, want 5 and 0", head.LostMemory, head.LostFull)
	}
	if len(slots) != 3 || recorded(slots)["MPI_Barrier"].Count != 9 {
		t.Errorf("%d slots with %v, want 3 with 9 barriers", len(slots), recorded(slots))
	}
}

// In a job root has made the file in a directory that the user cannot write, and a limit
// of file sizes does not matter.
func TestFileMadeByRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make the file as the plugin does")
	}
	const nobody = 65534
	program := compile(t, openMPI.cc, "ending.c")
	folder, err := os.MkdirTemp("/run", "jobeff-preload-test")
	must(t, err)
	defer os.RemoveAll(folder)
	must(t, os.Chmod(folder, 0o711))
	file := filepath.Join(folder, "ranks")
	ending(t, mpich, file, 1)
	must(t, os.Chown(file, nobody, nobody))
	env := []string{"LD_PRELOAD=" + library, "JOBEFF_RECORD_FILE=" + file, "JOBEFF_RECORD=" + file + "-not-used", "HOME=/tmp"}
	mustRun(t, run(t, env, "setpriv", "--reuid", fmt.Sprint(nobody), "--clear-groups",
		"mpirun.openmpi", "-n", "1", "bash", "-c", "ulimit -f 0; exec "+program+" finalize"))
	slots := readSlots(t, file)
	if len(slots) != 2 || slots[1].Ending != record.EndingFinalize {
		t.Errorf("%d slots", len(slots))
	}
}

// Any process of the user may write to a record, and what stands there is no reason for a rank to end
// otherwise, or to hang.
func TestRewrittenRecordIsHarmless(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "record")
		program := compile(t, f.cc, "rewritten.c", "-fopenmp")
		if r := run(t, byHand(file), program, file); r != (ran{stdout: "done\n"}) {
			t.Errorf("%+v", r)
		}
	})
}
