package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node/gpu"
	"jobeff/report/figure"
	"jobeff/report/words"
)

// throttledPart is the part of the time since boot from which lowering the clock against heat slows jobs by as much as
// people look for in slow nodes.
const throttledPart = 0.001

// hardware says what the kernel knows of a compute node that is slower than its like: the clock, lowered against heat,
// and memory errors. What it does not tell is left out.
func (d *doctor) hardware() {
	if !d.node {
		return
	}
	before := len(d.checks)
	d.clock()
	d.throttling()
	d.memoryErrors()
	if len(d.checks) == before {
		d.say(words.OK, "hardware", "the kernel tells neither the clock, nor throttling, nor memory errors here", "")
	}
}

// clock compares the clock that the CPUs may reach with the one that they are made for.
func (d *doctor) clock() {
	var reach, held []int64 // kHz: of all CPUs as it is, and of those that are held back as made
	for _, dir := range d.matches("/sys/devices/system/cpu/cpu[0-9]*/cpufreq") {
		may, known := whole(dir + "/scaling_max_freq")
		made, is := whole(dir + "/cpuinfo_max_freq")
		if !known || !is {
			continue
		}
		if limit, is := whole(dir + "/bios_limit"); is {
			may = min(may, limit)
		}
		if reach = append(reach, may); may < made {
			held = append(held, made)
		}
	}
	if len(reach) == 0 {
		return
	}
	low, high := slices.Min(reach), slices.Max(reach)
	found := fmt.Sprintf("the %s may reach %s", figure.Counted(len(reach), "CPU"), gigahertz(high))
	if low < high {
		found = fmt.Sprintf("of the %s some may reach %s, others %s", figure.Counted(len(reach), "CPU"), gigahertz(low), gigahertz(high))
	}
	if off, known := whole(d.root + "/sys/devices/system/cpu/intel_pstate/no_turbo"); known && off == 1 {
		found += ", turbo is off"
	}
	if len(held) == 0 {
		d.say(words.OK, "clock", found, "")
		return
	}
	d.say(words.Warn, "clock", fmt.Sprintf("%s; %s of them made for up to %s", found, figure.Count(len(held)), gigahertz(slices.Max(held))),
		"unless the site wants it so: cpupower frequency-set --max, and the power settings of the BIOS")
}

// throttling adds up how long the cores lowered their clock against heat since boot.
func (d *doctor) throttling() {
	var times int64
	var longest time.Duration
	counted, timed := false, false
	for _, dir := range d.matches("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle") {
		for _, of := range []string{"core", "package"} {
			n, known := whole(dir + "/" + of + "_throttle_count")
			if !known {
				continue
			}
			counted, times = true, max(times, n)
			if ms, is := whole(dir + "/" + of + "_throttle_total_time_ms"); is {
				timed, longest = true, max(longest, time.Duration(ms)*time.Millisecond)
			}
		}
	}
	up := d.uptime()
	switch {
	case !counted:
	case times == 0:
		d.say(words.OK, "throttling", "no core lowered its clock against heat since boot", "")
	case !timed:
		d.say(words.OK, "throttling", fmt.Sprintf("a core lowered its clock against heat up to %s since boot; for how long, this kernel does not tell", figure.Counted(int(times), "time")), "")
	case up > 0 && float64(longest) >= throttledPart*float64(up):
		d.say(words.Warn, "throttling", fmt.Sprintf("a core lowered its clock against heat for %v of the %v since boot", longest.Round(time.Second), up.Round(time.Minute)),
			"look at the node's fans, heat sinks and air; compare with a node beside it")
	default:
		d.say(words.OK, "throttling", fmt.Sprintf("no core lowered its clock against heat for longer than %v since boot", longest.Round(time.Millisecond)), "")
	}
}

// memoryErrors adds up what the memory controllers counted since boot.
func (d *doctor) memoryErrors() {
	var corrected, lost int64
	known := false
	for _, dir := range d.matches("/sys/devices/system/edac/mc/mc[0-9]*") {
		ce, is := whole(dir + "/ce_count")
		ue, also := whole(dir + "/ue_count")
		known, corrected, lost = known || is && also, corrected+ce, lost+ue
	}
	switch {
	case !known:
	case corrected+lost == 0:
		d.say(words.OK, "memory", "the memory controllers counted no error since boot", "")
	default:
		d.say(words.Warn, "memory", fmt.Sprintf("the memory controllers counted %s corrected and %s uncorrected errors since boot", figure.Count(int(corrected)), figure.Count(int(lost))),
			"see which module it is (ras-mc-ctl --errors, or the service processor's log), and replace it")
	}
}

// gpus says of which GPUs NVIDIA's driver keeps accounts, from which the epilog learns what a job's GPUs did. Without the
// driver it says nothing. program is one that reads them.
func (d *doctor) gpus(program string) {
	if _, err := os.Stat(d.root + gpu.Driver); err != nil || !d.node {
		return
	}
	all, why := gpu.Reader{Program: program, Driver: d.root + gpu.Driver, Most: time.Minute}.Look()
	if why != "" {
		d.say(words.Warn, "gpus", "what jobs' GPUs do is not known: "+words.WhyNoGPU(why), "see whether nvidia-smi answers, as another user than root, too")
		return
	}
	count := map[string]int{}
	for _, g := range all {
		count[g.Why]++
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		of := fmt.Sprintf("%s of %s", figure.Count(count[why]), figure.Counted(len(all), "GPU"))
		switch why {
		case "":
			d.say(words.OK, "gpus", "the driver keeps accounts of "+of, "")
		case job.GPUNoPersistence, job.GPUNoAccounting:
			d.say(words.Warn, "gpus", fmt.Sprintf("what %s do is not known: %s", of, words.WhyNoGPU(why)),
				"systemctl enable --now nvidia-persistenced, and after it at each boot, as root: nvidia-smi -am 1")
		default:
			d.say(words.OK, "gpus", fmt.Sprintf("what %s do is not known: %s", of, words.WhyNoGPU(why)), "")
		}
	}
}

// matches are the paths of a pattern below the root.
func (d *doctor) matches(pattern string) []string {
	found, _ := filepath.Glob(d.root + pattern)
	return found
}

// uptime is how long the machine has been up; 0: not known.
func (d *doctor) uptime() time.Duration {
	text, err := os.ReadFile(d.root + "/proc/uptime")
	first, _, _ := strings.Cut(string(text), " ")
	seconds, wrong := strconv.ParseFloat(first, 64)
	if err != nil || wrong != nil {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// whole reads a whole number from a file of the kernel.
func whole(path string) (n int64, known bool) {
	text, err := os.ReadFile(path)
	if err == nil {
		n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	}
	return n, err == nil && n >= 0
}

// gigahertz writes a clock that is given in kHz.
func gigahertz(kHz int64) string { return figure.Ratio(float64(kHz)/1e6) + " GHz" }
