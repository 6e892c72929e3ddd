package main

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"jobeff/ingest/node"
	"jobeff/report/figure"
	"jobeff/report/words"
)

// pluginName is the file that plugstack.conf names.
const pluginName = "jobeff_spank.so"

// slurmConfDirs are where plugstack.conf may be: from packages, from source, and where
// configless Slurm puts it.
var slurmConfDirs = []string{
	"/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc", "/usr/local/etc/slurm", "/opt/slurm/etc",
	"/run/slurm/conf", "/var/spool/slurmd/conf-cache", "/var/spool/slurm/d/conf-cache",
}

// pluginDirs are the usual folders of Slurm's plugins. They are tried after PluginDir of slurm.conf.
var pluginDirs = []string{
	"/usr/lib/*-linux-gnu/slurm-wlm", "/usr/lib/*-linux-gnu/slurm", "/usr/lib64/slurm", "/usr/lib/slurm",
	"/usr/local/lib/slurm", "/usr/local/lib64/slurm", "/opt/slurm/lib/slurm", "/opt/slurm/lib64/slurm",
}

// entry is jobeff's line in plugstack.conf.
type entry struct {
	where    string   // the file that holds it
	optional bool     // required plugins drain nodes
	path     string   // of the plugin, as written
	args     []string // preload=, body=, config=, sender=
}

// arg is the value of a word=value argument.
func (e *entry) arg(word, otherwise string) string {
	for _, a := range e.args {
		if v, ok := strings.CutPrefix(a, word+"="); ok {
			return v
		}
	}
	return otherwise
}

// plugin checks Slurm's entry, the plugin, its Go body and the library.
func (d *doctor) plugin(slurm string) {
	e := d.findEntry()
	if e == nil {
		d.needed("plugstack", "no plugstack.conf of this machine has a line with "+pluginName,
			"install the package jobeff-node, and add `include /usr/lib/jobeff/plugstack.d/*.conf` to plugstack.conf beside slurm.conf")
		return
	}
	if e.optional {
		d.say(words.OK, "plugstack", e.where, "")
	} else {
		d.say(words.Fail, "plugstack", e.where+" makes the plugin `required`: a node where it cannot be loaded drains", "write `optional` there")
	}
	file := d.findPlugin(e.path)
	if file == "" {
		d.needed("plugin", e.path+" is in no plugin directory of Slurm", "install the package jobeff-node, or write the plugin's whole path into "+e.where)
		return
	}
	d.pluginVersion(file, slurm)
	folder := filepath.Dir(file)
	if real, err := filepath.EvalSymlinks(file); err == nil {
		folder = filepath.Dir(real)
	}
	d.object("body", d.arg(e, "body", folder+"/jobeff_spank_body.so"))
	d.library(d.arg(e, "preload", folder+"/$PLATFORM/libjobeff.so"))
}

// libFolders are the folders that ld.so tries for $PLATFORM in a 64-bit process, as in spank/inject.c.
var libFolders = []string{"x86_64", "aarch64"}

// library checks the file that a 64-bit process loads for a name with $PLATFORM. Without
// the folders that $PLATFORM stands for, it checks the file in the plugin's folder.
func (d *doctor) library(name string) {
	before, after, _ := strings.Cut(name, "/$PLATFORM/")
	if before == name {
		d.object("library", name)
		return
	}
	for _, folder := range libFolders {
		link := filepath.Join(before, folder, after)
		if _, err := os.Lstat(link); err != nil {
			continue
		}
		if why := d.badPermission(filepath.Dir(link)); why != "" {
			d.say(words.Fail, "library", why, "chmod 755 the directory, chown root it")
			return
		}
		if target, err := os.Readlink(link); err == nil {
			link = filepath.Join(filepath.Dir(link), target)
		}
		d.object("library", link)
		return
	}
	d.object("library", filepath.Join(before, after))
}

// arg returns a path from the entry's arguments, below the doctor's root.
func (d *doctor) arg(e *entry, word, otherwise string) string {
	if v := e.arg(word, ""); v != "" {
		return d.root + v
	}
	return otherwise
}

func (d *doctor) findEntry() *entry {
	dirs := slurmConfDirs
	if conf := os.Getenv("SLURM_CONF"); conf != "" {
		dirs = append([]string{filepath.Dir(conf)}, dirs...)
	}
	for _, dir := range dirs {
		if e := findInStack(d.root+dir+"/plugstack.conf", 0); e != nil {
			return e
		}
	}
	return nil
}

// findInStack looks for the plugin in a plugstack.conf and what it includes.
func findInStack(file string, depth int) *entry {
	f, err := os.Open(file) // #nosec G703 -- SLURM_CONF belongs to whoever calls doctor
	if err != nil || depth > 5 {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "include":
			pattern := fields[1]
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(file), pattern)
			}
			names, _ := filepath.Glob(pattern)
			for _, name := range names {
				if e := findInStack(name, depth+1); e != nil {
					return e
				}
			}
		case "optional", "required":
			if filepath.Base(fields[1]) == pluginName {
				return &entry{where: file, optional: fields[0] == "optional", path: fields[1], args: fields[2:]}
			}
		}
	}
	return nil
}

// findPlugin returns the path of the plugin's file; "": there is none.
func (d *doctor) findPlugin(path string) string {
	if filepath.IsAbs(path) {
		if _, err := os.Stat(d.root + path); err == nil {
			return d.root + path
		}
		return ""
	}
	for _, pattern := range append(d.configuredPluginDirs(), pluginDirs...) {
		names, _ := filepath.Glob(d.root + pattern + "/" + path)
		if len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

// configuredPluginDirs reads PluginDir from slurm.conf.
func (d *doctor) configuredPluginDirs() []string {
	for _, dir := range slurmConfDirs {
		text, err := os.ReadFile(d.root + dir + "/slurm.conf")
		if err != nil {
			continue
		}
		for _, l := range strings.Split(string(text), "\n") {
			key, value, ok := strings.Cut(strings.TrimSpace(l), "=")
			if ok && strings.EqualFold(strings.TrimSpace(key), "PluginDir") {
				return strings.Split(strings.TrimSpace(value), ":")
			}
		}
	}
	return nil
}

// pluginVersion compares the releases that the plugin is for with the one that is installed.
func (d *doctor) pluginVersion(file, slurm string) {
	if !d.object("plugin", file) {
		return
	}
	oldest, newest, err := releases(file)
	span := fmt.Sprintf("for Slurm %s to %s", oldest, newest)
	switch {
	case err != nil:
		d.say(words.Fail, "plugin", fmt.Sprintf("%s is not jobeff's plugin: %v", file, err), "install the package jobeff-node again")
	case slurm == "":
		d.say(words.OK, "plugin", span+"; which one is installed is not known", "")
	case slurm < oldest || slurm > newest+".~":
		d.say(words.Fail, "plugin", fmt.Sprintf("%s, but %s is installed: no job is measured", span, slurm), "install a jobeff-node that knows Slurm "+slurm)
	default:
		d.say(words.OK, "plugin", fmt.Sprintf("%s, %s is installed", span, slurm), "")
	}
}

// releases reads the oldest and the newest major.minor that a plugin is for, as spank/release.c
// has them.
func releases(file string) (oldest, newest string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return "", "", err
	}
	for _, s := range symbols {
		if s.Name != "jobeff_releases" || int(s.Section) >= len(f.Sections) {
			continue
		}
		sec := f.Sections[s.Section]
		var b [8]byte
		if _, err := sec.ReadAt(b[:], int64(s.Value-sec.Addr)); err != nil {
			return "", "", err
		}
		name := func(v uint32) string { return fmt.Sprintf("%02d.%02d", v>>16&0xff, v>>8&0xff) }
		return name(f.ByteOrder.Uint32(b[:])), name(f.ByteOrder.Uint32(b[4:])), nil
	}
	return "", "", errors.New("it has no jobeff_releases")
}

// machines are the ELF names of the architectures that Slurm clusters have.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
}

// object checks that a shared object exists, fits this machine, can be read by every user
// and can be changed only by root.
func (d *doctor) object(what, file string) bool {
	f, err := elf.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		d.needed(what, file+" does not exist", "install the package jobeff-node; where its parts are elsewhere, say so in plugstack.conf (preload=FILE body=FILE)")
		return false
	}
	if err != nil {
		d.say(words.Fail, what, fmt.Sprintf("%s cannot be read as a shared object: %v", file, err), "install the package jobeff-node again")
		return false
	}
	defer f.Close()
	if m, known := machines[runtime.GOARCH]; known && f.Machine != m || f.Type != elf.ET_DYN || f.ByteOrder != binary.ByteOrder(binary.LittleEndian) && runtime.GOARCH != "s390x" {
		d.say(words.Fail, what, fmt.Sprintf("%s is for %s, this machine is %s", file, f.Machine, runtime.GOARCH), "install the package for this architecture")
		return false
	}
	if why := d.badPermission(file); why != "" {
		d.say(words.Fail, what, why, "chmod 644 the file, 755 the directories above it, chown root them")
		return false
	}
	if what != "plugin" {
		d.say(words.OK, what, file, "")
	}
	return true
}

// badPermission says why not every user can read file, or why not only root can change it.
func (d *doctor) badPermission(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	need := fs.FileMode(0o4)
	for p := file; len(p) > len(d.root) && p != "/"; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return err.Error()
		}
		if info.Mode().Perm()&need != need {
			return p + " cannot be read by every user: tasks could not load it"
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && (st.Uid != 0 || info.Mode().Perm()&0o022 != 0) {
			return p + " can be changed by others than root"
		}
		need = 0o1
	}
	return ""
}

// tmpfsMagic is statfs's number for tmpfs.
const tmpfsMagic = 0x01021994

// records checks the directory of the records of running jobs.
func (d *doctor) records() {
	const dir, mend = "/run/jobeff", "systemctl enable --now run-jobeff.mount"
	info, err := os.Lstat(d.root + dir)
	if err == nil && !info.IsDir() { // chmod and chown would follow a link
		d.say(words.Fail, "tmpfs", dir+" is no directory", "rm "+dir+"; "+mend)
		return
	}
	if err != nil {
		d.needed("tmpfs", dir+" is not there", mend)
		return
	}
	var fsys syscall.Statfs_t
	if err := syscall.Statfs(d.root+dir, &fsys); err != nil {
		d.say(words.Fail, "tmpfs", err.Error(), mend)
		return
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case st == nil || st.Uid != 0 || info.Mode().Perm() != 0o711:
		d.say(words.Fail, "tmpfs", fmt.Sprintf("%s has mode %04o and belongs to uid %d", dir, info.Mode().Perm(), st.Uid), "chown root:root "+dir+"; chmod 0711 "+dir)
	case uint32(fsys.Type) != tmpfsMagic:
		d.needed("tmpfs", dir+" is not a tmpfs", mend)
	case fsys.Flags&unix.ST_RDONLY != 0:
		d.say(words.Fail, "tmpfs", dir+" is mounted read-only", "mount -o remount,rw "+dir)
	default:
		d.room(dir)
	}
}

// room says how full the run directories are.
func (d *doctor) room(dir string) {
	s, err := node.ReadRunDirs(d.root + dir)
	switch {
	case err != nil:
		d.say(words.Fail, "tmpfs", err.Error(), "")
	case s.Notes >= 90:
		d.say(words.Warn, "tmpfs", fmt.Sprintf("%s is %s full: new jobs may not be measured", dir, figure.Percent(float64(s.Notes)/100)),
			"raise size= in run-jobeff.mount")
	default:
		d.say(words.OK, "tmpfs", fmt.Sprintf("%s is %s full, %s in use", dir, figure.Percent(float64(s.Notes)/100), figure.Counted(s.Records, "record")), "")
	}
	if s.Full > 0 {
		d.say(words.Warn, "records", fmt.Sprintf("%s of %s in %s are full: further processes of these jobs are not measured", figure.Count(s.Full), figure.Counted(s.Records, "record"), dir),
			"raise [measure] record_mib")
	}
	if n := node.FailedPrologs(d.root + dir); n > 0 {
		d.say(words.Warn, "prolog", fmt.Sprintf("for %s since boot jobeff's part of the prolog failed or took longer than 1.9 s: they were measured without the site's settings", figure.Counted(int(n), "job")),
			"slurmd's log says which; rm "+dir+"/notes/failed once it is mended")
	}
	if s.Held > 0 {
		d.say(words.Warn, "held", fmt.Sprintf("processes hold %s of records of jobs that have ended", figure.Bytes(uint64(s.Held))),
			"end what users' jobs left running: fuser -m "+dir+"/notes/.gone-*/record")
	}
	if strays, err := node.Strays(d.root + dir); err != nil {
		d.say(words.Warn, "mounts", err.Error(), "")
	} else if len(strays) > 0 {
		d.say(words.Warn, "mounts", fmt.Sprintf("%s in %s without a job: they keep memory", figure.Counted(len(strays), "mount"), dir), "jobeff-ingest tidy")
	}
}
