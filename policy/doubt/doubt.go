// Package doubt holds the warnings about figures, and the reasons why a job has none: their codes and
// arguments, which reports and the database store, and their words. Before it in the flow comes
// report/figure; after it come jobs, whose figures they are about, and all that reads one.
package doubt

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"jobeff/report/figure"
)

// Doubt is a warning as it is shown. Those of curves and workloads are made when they are looked at.
type Doubt struct {
	Code  string `json:"code"`
	Text  string `json:"text"` // without the count
	Args  Args   `json:"args,omitzero"`
	Count int    `json:"count,omitempty"`
}

// Args are Arguments with times in seconds, as in all documents.
type Args struct {
	Kind   string  `json:"kind,omitempty"`
	N      int     `json:"n,omitempty"`
	Of     int     `json:"of,omitempty"`
	CPUs   int     `json:"cpus,omitempty"`
	Time   float64 `json:"time,omitempty"`
	OfTime float64 `json:"of_time,omitempty"`
	Name   string  `json:"name,omitempty"`
	Other  string  `json:"other,omitempty"`
	Names  string  `json:"names,omitempty"`
}

// Of makes the Doubt of a warning.
func Of(w Warning) Doubt {
	a := w.Args
	return Doubt{w.Code, Text(w), Args{a.Kind, a.N, a.Of, a.CPUs, a.Time.Seconds(), a.OfTime.Seconds(), a.Name, a.Other, a.Names}, w.Count}
}

// All makes the Doubts of warnings; never nil.
func All(list []Warning) []Doubt {
	all := make([]Doubt, len(list))
	for i, w := range list {
		all[i] = Of(w)
	}
	return all
}

// String words the doubt for people: "its end is not known (3 times)".
func (d Doubt) String() string {
	if d.Count < 2 {
		return d.Text
	}
	return fmt.Sprintf("%s (%s times)", d.Text, figure.Count(d.Count))
}

// Short words the doubt's first clause: what is wrong, without what it means and what helps.
func (d Doubt) Short() string {
	short := d.Text
	for _, end := range []string{": ", "; "} {
		short, _, _ = strings.Cut(short, end)
	}
	d.Text = short
	return d.String()
}

// notYours ends the reasons that only those who run the cluster can remove.
const notYours = "; nothing is wrong with your job; tell your support, with its id"

// texts say what each code means. Those with arguments are in withArgs.
var texts = map[string]string{
	WarnTorn:            "the counters of a process were being changed when it died: they may be off by one call",
	WarnOdd:             "a record held impossible numbers: they were cut to the nearest possible ones",
	WarnAssumedEnd:      "a rank's end is assumed: it left no stamp and Slurm did not see it exit",
	WarnNoFinalize:      "a rank ended without MPI_Finalize: its time is counted up to its end",
	WarnRunning:         "a rank was still running when its record was read: its time is counted up to then",
	WarnLeft:            "the program left an MPI call by an exception or a longjmp: a rank was measured only until that call",
	WarnNoTime:          "a rank left no sign after MPI_Init: it ended before its first MPI call, and how long it ran is not known",
	WarnClock:           "a process's clock cannot be converted to seconds (other boot, or a damaged record): it is left out",
	WarnClockDrift:      "a process's clock ran unevenly: times may be off by more than 0.1 %",
	WarnThreads:         "several threads of a rank called MPI: useful time is that of the thread that called MPI_Init, calls are summed over threads",
	WarnSingletons:      "a process is an MPI world of its own although its step has several tasks: MPI did not connect with the launcher; try srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)",
	WarnExecutables:     "the ranks run different programs: the first rank's is named",
	WarnInitOnly:        "a process ended inside MPI_Init: it is not counted",
	WarnLostFull:        "a process or thread found no free slot in the record: it is not counted",
	WarnLostMemory:      "a process or thread got no memory for its record (job's memory limit, or the record was filled): it is not counted",
	WarnStatic:          "a rank's program has its MPI linked in statically: it cannot be measured (link the shared MPI)",
	WarnPreload:         "LD_PRELOAD keeps MPI calls from libjobeff.so: the job puts another tool before it, or tells mpirun to leave it out; these ranks are not measured (put libjobeff.so first)",
	WarnUnseen:          "calls reach an MPI past libjobeff.so: a program looks them up in the MPI's own library (MPI.jl, Python's ctypes), or names them in an unusual way (Fortran without an underscore); such a program cannot be measured",
	WarnStub:            "a program's MPI is a stand-in for one process, as sequential MUMPS has one: its calls are not measured (link a real MPI to run it on several)",
	WarnCallsCut:        "too many functions to list them for every execution: only the classes of the later ones are there",
	WarnStepsCut:        "too many steps to list: the later ones are left out",
	WarnForeign:         "the record is not the one that was made for this job: it was refused",
	WarnPrologFailed:    "jobeff's part of a node's prolog failed or took longer than 1.9 s: the site's settings were not read there, and the job was measured by the defaults",
	WarnNoProlog:        "no prolog made the job's directory: the facts about the job come from its first step",
	WarnSectionExit:     "a section was left before the section inside it",
	WarnSectionsOpen:    "a section was never left: it is counted up to MPI_Finalize",
	WarnSectionsMany:    "the program has more section labels than are kept: the rest are summed up as (other sections)",
	WarnSectionsDeep:    "a section was entered inside 64 others: its time counts for the one around it",
	WarnSectionsIgnored: "a section was entered or left by a thread that did not call MPI_Init, or inside of MPI: it is not counted",
	WarnSectionsLost:    "the record had no room for the sections of a process: a higher memory limit of the job may help",
	WarnSectionsCut:     "too many sections to list them for every execution: those of the later ones are left out",
	WarnCPUOver:         "Slurm counted more CPU time than the job's cores have",
	WarnUsagePart:       "Slurm counted on only some of the job's nodes: if processes ran on the others without Slurm, as over ssh, the CPU and memory efficiency are too low",
	WarnForeignNode:     "a node sent a report, but Slurm says that the job did not run there: the report is left out",
	WarnOutboxFull:      "the report was dropped on a node: its spool was full",
	WarnRanksDropped:    "the figures of single ranks were dropped for their age: those of the job and of its nodes stay",
	WarnImpossible:      "figures of an MPI program were refused, since they cannot be",
	WarnMerging:         "reports of its nodes are being merged: its figures may change within seconds",
	WarnJobFile:         "the job's file is damaged: facts about the job may be missing",

	WhyNotEnded:   "it has not ended yet; its first figures come some minutes after its start, or when it ends",
	WhyPending:    "it waits, and nothing of it has run",
	WhyMerging:    "its nodes' reports are being merged: ask again in a few seconds",
	WhyOtherTimes: "a report came, but its times or nodes are not those that Slurm says of the job" + notYours,
	WhyReplaced:   "the record of this job was replaced by another one",
	WhyNoSign:     "no rank left a sign after MPI_Init: there is no time to speak of",
	WhyInMPIInit:  "no process came back from MPI_Init",
	WhyNoMemory:   "the records got no memory (the job's memory limit, or the record was filled)",
	WhyNoRoom:     "the records found no room" + notYours,
	WhyNoStep:     "no step of this job ran under the plugin",
	WhyRemoved:    "retention removed the jobs: only the sums of their months are kept",
}

// withArgs makes the text of a code with arguments from the text of the code alone.
var withArgs = map[string]func(text string, a Arguments) string{
	WarnCoverage: func(_ string, a Arguments) string {
		return fmt.Sprintf("%s of %s were recorded: the figures speak of these", figure.Count(a.N), figure.Counted(a.Of, "rank"))
	},
	WarnOversubs: func(_ string, a Arguments) string {
		return fmt.Sprintf("%s share %s (%s)", figure.Counted(a.N, "rank"), figure.Counted(a.CPUs, "CPU"), oneMachine(a))
	},
	WarnProgress: func(_ string, a Arguments) string {
		return fmt.Sprintf("a thread that MPI_Init started (%s) was busy: it needs a core of its own beside each rank's", a.Name)
	},
	WarnThreadsCounted: func(_ string, a Arguments) string {
		return Threaded(a) + ", although nothing in the environment asks for them: the efficiencies speak of MPI only"
	},
	WarnContention: func(_ string, a Arguments) string {
		if a.N > 0 {
			return Crowd(a) + ": useful time contains waiting for a CPU (srun --cpu-bind=cores, -c)"
		}
		return Queue(a) + ": useful time contains this waiting (other programs on the cores, too few CPUs, or a CPU limit)"
	},
	WarnSlept: func(_ string, a Arguments) string {
		return Slept(a) + ", and did not wait for one: they slept, or waited for a file or a device"
	},
	WarnCPUOver: func(text string, a Arguments) string {
		if a.Kind == KindShort {
			return text + ": its times are whole seconds, and the job was short"
		}
		return text + ": its processes are not confined to their cores, or it was given one thread of each core and used more"
	},
	WarnMemoryOver: func(_ string, a Arguments) string {
		if a.Kind == KindCgroup {
			return "the kernel counted more memory in the job's cgroup than the job was given: the site sets no limit, or its limit leaves out part of it, such as file cache"
		}
		return "Slurm counted more memory than the job was given: memory that tasks share counts in each of them, their peaks may lie at different times, and the site may set no limit"
	},
	WarnOutboxFull: func(text string, a Arguments) string {
		if a.N == 0 { // a node's own warning
			return text
		}
		spool := "its spool was full"
		if a.N > 1 {
			spool = "their spools were full"
		}
		return "the report of this job was dropped on " + someNames(a.Names, a.N) + ": " + spool
	},
	WarnInterim: func(_ string, a Arguments) string {
		return fmt.Sprintf("the last report of %s has not come: what is known of its ranks ends %s before the job's end, and what they did since counts as not useful; if the node was lost, it will never come",
			someNames(a.Names, a.N), figure.Clock(a.Time))
	},
	WarnNodesMissing: func(_ string, a Arguments) string { return Reported(a.N, a.Of) },
	WarnImpossible:   func(text string, a Arguments) string { return because(text, a.Other) },
	WarnUnreadable:   unreadable,
	WarnSectionExit:  wrongExit,
	WarnPart:         part,

	WhyNoReport: func(_ string, a Arguments) string {
		switch a.Kind {
		case KindFailed:
			return "no report has arrived from its nodes, and Slurm says " + cmp.Or(a.Name, "that a node failed")
		case KindYet:
			return "no report has arrived from its nodes yet: it should within a minute of the job's end"
		}
		return "no report has arrived from its nodes" + notYours
	},
	WhyOff: func(_ string, a Arguments) string { return cmp.Or(a.Name, offTexts[a.Kind], "measuring was off") },
	WhyThreads: func(_ string, a Arguments) string {
		return "it used no MPI, and what its threads did is not known: " + cmp.Or(a.Name, "some of them are not OpenMP's")
	},
	WhyNoMPI: noMPI,
	WhyFolded: func(_ string, a Arguments) string {
		return "the executions of step " + a.Name + ", if it had any, are summed up with others of their program"
	},
}

func noMPI(_ string, a Arguments) string {
	text := "neither MPI nor OpenMP was seen"
	switch a.Kind {
	case KindStep:
		return text + " in step " + a.Name
	case KindContainer:
		step := "a step"
		if a.Name != "" {
			step = "step " + a.Name
		}
		text += fmt.Sprintf(": %s starts a container, and jobeff sees only into those that hold libjobeff.so and the job's record (doc/ADMIN.md, section 9)", step)
	default:
		text += ": no process called MPI_Init or began a parallel region (static linking, containers without jobeff and jobs that replace LD_PRELOAD hide them)"
	}
	if a.Names != "" {
		text += fmt.Sprintf("; step %s was not measured: %s", a.Names, a.Other)
	}
	return text
}

// because adds a reason, if there is one.
func because(text, why string) string { return strings.TrimSuffix(text+": "+why, ": ") }

// someNames names the first of `of` things: "n1, n2 and 3 more".
func someNames(first string, of int) string {
	names := strings.Split(first, ",")
	if more := of - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return figure.And(names)
}

// Text words a warning, without its count. An unknown code is its own text; no code has none.
func Text(w Warning) string {
	text := texts[w.Code]
	if with := withArgs[w.Code]; with != nil {
		return with(text, w.Args)
	}
	if text == "" {
		return w.Code
	}
	return text
}

func oneMachine(a Arguments) string {
	if a.Of <= 1 {
		return "node " + a.Names
	}
	return "nodes " + someNames(a.Names, a.Of) + " are one machine"
}

func unreadable(_ string, a Arguments) string {
	switch a.Kind {
	case KindFile:
		return fmt.Sprintf("the job's file %q was not read: %s", a.Name, a.Other)
	case KindMissing:
		return "the job's record file is missing"
	case KindEndsEarly:
		return "the record ends early: what follows is lost"
	case KindGivenUp:
		return "folding this node's record failed again and again (slurmd's log says how), so jobeff gave it up"
	}
	return because("the record was not read", a.Other)
}

func wrongExit(text string, a Arguments) string {
	if a.Name == "" { // those beyond the first few have no names
		return text
	}
	return fmt.Sprintf("a section was left that is not the innermost: %s was left, %s was open", a.Name, a.Other)
}

func part(_ string, a Arguments) string {
	what := "a job array"
	switch a.Kind {
	case KindStep:
		return fmt.Sprintf("job %s has so many executions that most are summed up by program: of a step, only those are shown that are kept one by one", a.Name)
	case KindHet:
		what = "a het job"
	}
	return fmt.Sprintf("this is %s, a part of %s: see also %s", a.Name, what, strings.ReplaceAll(a.Names, ",", ", "))
}

// Reported says how many nodes have reported: "1 of 2 nodes have reported".
func Reported(n, of int) string {
	verb := "have"
	if of == 1 {
		verb = "has"
	}
	return fmt.Sprintf("%s of %s %s reported", figure.Count(n), figure.Counted(of, "node"), verb)
}

// Threaded says how many ranks had threads: "2 of 4 ranks had busy threads that do not call MPI".
func Threaded(a Arguments) string {
	ranks := figure.Count(a.N) + " of " + figure.Counted(a.Of, "rank")
	switch {
	case a.Of == 1:
		ranks = "the rank"
	case a.N == a.Of:
		ranks = "all " + figure.Counted(a.Of, "rank")
	}
	return ranks + " had busy threads that do not call MPI"
}

// Crowd names the fullest group of ranks: "4 busy threads of 4 ranks share 2 CPUs (0-1)".
func Crowd(a Arguments) string {
	cpus := "CPU " + a.Name
	if a.CPUs != 1 {
		cpus = fmt.Sprintf("%s (%s)", figure.Counted(a.CPUs, "CPU"), a.Name)
	}
	return fmt.Sprintf("%s of %s share %s", figure.Counted(a.N, "busy thread"), figure.Counted(a.Of, "rank"), cpus)
}

// Queue says how long threads waited: "busy threads waited for a CPU in 42 % of their time".
func Queue(a Arguments) string {
	return fmt.Sprintf("busy threads waited for a CPU in %s of their time", figure.Part(a.Time.Seconds(), a.OfTime.Seconds()))
}

// Slept says how long ranks slept: "outside MPI, ranks used no CPU in at least 42 % of their time".
func Slept(a Arguments) string {
	return fmt.Sprintf("outside MPI, ranks used no CPU in at least %s of their time", figure.Part(a.Time.Seconds(), a.OfTime.Seconds()))
}
