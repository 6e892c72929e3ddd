package node

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/preload/record"
)

// Machine is what a fold needs to know of the machine that it runs on.
type Machine struct {
	BootID     string // 32 hex digits; "" unknown
	OnlineCPUs int    // 0 unknown
	// ThreadsPerCore is how many of these CPUs make one core; 0 unknown.
	ThreadsPerCore int
	// Hardware reads the machine's CPUs and memory; it returns nil if they are not known. A fold
	// asks only once it has an execution: reading it takes a file per CPU.
	Hardware func() *job.Hardware
	// clockError bounds how far CLOCK_REALTIME is from the true time, by the kernel; 0: not known.
	clockError time.Duration
	// Now reads a clock; nil: this machine's clocks say nothing about the record.
	Now func(record.Clock) (record.Pair, bool)
	// alive reports whether the process pid, which ran at the moment mono (ns of
	// CLOCK_MONOTONIC), still does; nil: all processes are gone, as in the epilog.
	alive func(pid int, mono uint64) bool
}

// ThisMachine is the machine that this process runs on.
func ThisMachine() Machine {
	boot, _ := BootID()
	return Machine{BootID: boot, OnlineCPUs: cpusIn("online"), ThreadsPerCore: cpusIn("cpu0/topology/thread_siblings_list"), clockError: clockError(), Now: record.Now, alive: processAlive,
		Hardware: sync.OnceValue(func() *job.Hardware { return hardware("") })}
}

// BootID is this boot's, in 32 hex digits.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("ingest: boot id: %w", err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(b)), "-", ""), nil
}

// clockError returns the kernel's bound, which an NTP or PTP daemon keeps up to date; 0 if none does.
func clockError() time.Duration {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil || state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 || t.Maxerror <= 0 {
		return 0
	}
	return time.Duration(t.Maxerror) * time.Microsecond
}

// cpusIn counts the CPUs in one of the kernel's lists; 0: there is no such list. "online" lists all of the machine,
// also those that this process may not use.
func cpusIn(list string) int {
	b, err := os.ReadFile("/sys/devices/system/cpu/" + list)
	if err != nil {
		return 0
	}
	n := 0
	err = slurmid.EachRange(strings.TrimSpace(string(b)), func(lo, hi int) { n += hi - lo + 1 })
	if err != nil {
		return 0
	}
	return n
}

// userHZ is the kernel's unit of time in /proc, the same on every Linux.
const userHZ = 100

// processAlive reports whether process pid is alive: it exists, is no zombie, and is no younger
// process with the same number.
func processAlive(pid int, mono uint64) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return false
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	const slack = 1e9
	return err == nil && started*(1e9/userHZ) <= mono+slack
}

// hardware reads the machine's CPUs and memory from the files of /proc and /sys below root; nil if
// they do not show its cores.
func hardware(root string) *job.Hardware {
	h := &job.Hardware{}
	cores, sockets, cpus := map[string]bool{}, map[string]bool{}, 0
	dirs, _ := filepath.Glob(root + "/sys/devices/system/cpu/cpu[0-9]*")
	for _, dir := range dirs {
		socket, core := fileText(dir+"/topology/physical_package_id"), fileText(dir+"/topology/core_id")
		if core == "" {
			continue // offline
		}
		cpus++
		sockets[socket], cores[socket+" "+core] = true, true
		kHz, _ := strconv.Atoi(fileText(dir + "/cpufreq/cpuinfo_max_freq"))
		h.MaxMHz = max(h.MaxMHz, kHz/1000)
	}
	if cpus == 0 {
		return nil
	}
	h.Sockets, h.Cores = len(sockets), len(cores)
	h.ThreadsPerCore = (cpus + len(cores) - 1) / len(cores)
	h.Model = fieldOf(root+"/proc/cpuinfo", "model name")
	kB, _, _ := strings.Cut(fieldOf(root+"/proc/meminfo", "MemTotal"), " ")
	KiB, _ := strconv.ParseInt(kB, 10, 64)
	h.MemoryMiB = KiB / 1024
	return h
}

func fileText(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// fieldOf is the value of a file's first line "name : value"; "" where there is none. It reads no
// further: the kernel writes /proc/cpuinfo while it is read, some 1.5 kB for each CPU.
func fieldOf(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}
