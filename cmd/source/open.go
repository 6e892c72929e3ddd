package source

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
)

// The reader sets these limits for itself. mostAddress is larger than mostMemory, since Go reserves address
// space at its start that it does not use.
const (
	mostMemory  = 1 << 30
	mostAddress = 4 << 30
	mostCPU     = 2 // s
)

// limit bounds this process.
func limit() error {
	debug.SetMemoryLimit(mostMemory)
	set := func(what int, most uint64) error {
		return unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most})
	}
	return errors.Join(set(unix.RLIMIT_AS, mostAddress), set(unix.RLIMIT_CPU, mostCPU), set(unix.RLIMIT_CORE, 0), set(unix.RLIMIT_FSIZE, 0))
}

// opener opens the files that may be read.
type opener struct {
	uid   int
	users bool
	left  int64 // bytes of files
}

// Reasons for which a file is not used.
var (
	errGone    = errors.New("its file is not on this machine")
	errRebuilt = errors.New("rebuilt since: its file has another build-id")
	errChanged = errors.New("its file has no build-id, and was changed since")
)

// open opens a regular file of root or of the reader's user. It checks the kind first: opening another kind may
// rewind a tape, or wait for a FIFO's writer.
func (o *opener) open(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, errGone
	}
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errGone
	}
	defer unix.Close(at)
	var st unix.Stat_t
	var kind unix.Statfs_t
	if err := errors.Join(unix.Fstat(at, &st), unix.Fstatfs(at, &kind)); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size == 0 || kind.Type == unix.SYSFS_MAGIC: // those of /proc have no size
		return nil, errors.New("its path names no regular file")
	case o.uid == 0 && st.Uid != 0 && !o.users:
		return nil, errors.New("root opens no user's file: look as its owner, or with --user-files")
	case o.uid != 0 && st.Uid != 0 && int(st.Uid) != o.uid:
		return nil, errors.New("its file is another user's")
	case st.Size > o.left:
		return nil, fmt.Errorf("its files have more than %d MB", mostBytes>>20)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", at), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, errors.New("its file may not be read")
	}
	if err == nil {
		o.left -= st.Size
	}
	return f, err
}

// elf opens an ELF file if it has this build-id. Without a build-id, the file must not have changed since the job
// began.
func (o *opener) elf(path string, of job.Module, began time.Time) (*elf.File, error) {
	f, err := o.open(path)
	if err != nil {
		return nil, err
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, errors.New("its file is no ELF file")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, err
	}
	switch id := buildID(e); {
	case id != of.BuildID:
		return nil, errRebuilt
	case id == "" && !time.Unix(st.Ctim.Unix()).Before(began):
		return nil, errChanged
	}
	return e, nil
}

// mostNotes bounds a build-id's section, which is much smaller.
const mostNotes = 4096

// buildID returns the build-id of an ELF file, hex; "" if it has none.
func buildID(e *elf.File) string {
	for _, s := range e.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > mostNotes || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		notes, err := s.Data()
		for err == nil && len(notes) >= 12 {
			name, desc, kind := e.ByteOrder.Uint32(notes), e.ByteOrder.Uint32(notes[4:]), e.ByteOrder.Uint32(notes[8:])
			if name > mostNotes || desc > mostNotes {
				break
			}
			from, to := 12+(name+3)&^3, 12+(name+3)&^3+desc
			if int(to) > len(notes) {
				break
			}
			if kind == 3 && string(notes[12:12+name]) == "GNU\x00" { // NT_GNU_BUILD_ID
				return hex.EncodeToString(notes[from:to])
			}
			notes = notes[min(int((to+3)&^3), len(notes)):]
		}
	}
	return ""
}

// module opens a module's file and, if that has no lines, its separate debug file.
func (o *opener) module(of job.Module, began time.Time) *module {
	m := &module{}
	code, err := o.elf(of.Path, of, began)
	if err == nil {
		m.code = code
		m.names = append(m.names, code)
	} else {
		m.why = err.Error()
	}
	if of.BuildID != "" && (code == nil || !hasLines(code)) {
		for _, path := range debugFiles(of, code) {
			if e, err := o.elf(path, of, began); err == nil {
				m.names = append(m.names, e)
				break
			}
		}
	}
	m.read()
	return m
}

func hasLines(e *elf.File) bool {
	return e.Section(".debug_line") != nil || e.Section(".zdebug_line") != nil
}

// debugFiles lists the paths where a module's separate debug file may be.
func debugFiles(of job.Module, code *elf.File) (paths []string) {
	const debugRoot = "/usr/lib/debug"
	if len(of.BuildID) > 2 {
		paths = append(paths, filepath.Join(debugRoot, ".build-id", of.BuildID[:2], of.BuildID[2:]+".debug"))
	}
	if name := debugLink(code); name != "" {
		dir := filepath.Dir(of.Path)
		if real, err := filepath.EvalSymlinks(of.Path); err == nil {
			dir = filepath.Dir(real)
		}
		paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, ".debug", name), filepath.Join(debugRoot, dir, name))
	}
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir()
	for _, dir := range []string{os.Getenv("DEBUGINFOD_CACHE_PATH"), filepath.Join(cache, "debuginfod_client"), filepath.Join(home, ".debuginfod_client_cache")} {
		if filepath.IsAbs(dir) {
			paths = append(paths, filepath.Join(dir, of.BuildID, "debuginfo"))
		}
	}
	return paths
}

// debugLink returns the name in a file's .gnu_debuglink.
func debugLink(code *elf.File) string {
	if code == nil {
		return ""
	}
	s := code.Section(".gnu_debuglink")
	if s == nil || s.Size > mostNotes || s.Flags&elf.SHF_COMPRESSED != 0 {
		return ""
	}
	text, err := s.Data()
	name, _, ended := strings.Cut(string(text), "\x00")
	if err != nil || !ended || name != filepath.Base(name) || name == "." || name == ".." {
		return ""
	}
	return name
}
