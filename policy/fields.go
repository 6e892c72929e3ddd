package policy

import "reflect"

// Fields are what a rule's condition and text may read. The tags hold the name that a rule
// uses and the help that `jobeff admin policy fields` prints, with unit and source. Fields
// that are not known for a job are in Case.Unknown.
type Fields struct {
	User      string   `expr:"user" doc:"The job's owner, as Slurm names them."`
	Account   string   `expr:"account" doc:"Slurm's account that the job is charged to."`
	Cluster   string   `expr:"cluster" doc:"Slurm's name of the cluster."`
	Partition string   `expr:"partition" doc:"Slurm's partition."`
	QOS       string   `expr:"qos" doc:"Slurm's quality of service, from sacct."`
	Name      string   `expr:"name" doc:"The job's name, from sacct; its owner chose it."`
	State     string   `expr:"state" doc:"How the job ended, from sacct, one word: COMPLETED, TIMEOUT, OUT_OF_MEMORY (also where the step of its ranks did) ..."`
	Program   string   `expr:"program" doc:"The file name of the MPI program with the most core time, without folders."`
	MPI       string   `expr:"mpi" doc:"The MPI library of that program: \"Open MPI\", \"MPICH\" ..."`
	Warnings  []string `expr:"warnings" doc:"The codes of all warnings about the job's figures: \"no_finalize\" in warnings."`

	Cause     string `expr:"cause" doc:"What cost most of the lost time, or why that cannot be said: communication, between_nodes, contention ... (doc/RULES.md); empty: there is nothing to explain."`
	CauseText string `expr:"cause_text" doc:"The cause in words, with what may help."`
	Ask       string `expr:"request" doc:"What the next such job is to ask for, in a sentence; empty: nothing better is known."`
	Advised   int    `expr:"advised_cores" doc:"The smaller core count that the runs of its workload recommend; 0: none is known, or the number of cores is not the cause."`

	Hung     bool   `expr:"hung" doc:"It runs, and nothing of it has moved for server.hung_after: no call ended, no CPU time outside MPI, no byte, on all of its nodes. Only a rule with while_running = true can see it."`
	HungText string `expr:"hung_text" doc:"Since when, which ranks are in which call, and how to see where in the program; empty where it does not hang."`

	Nodes      int     `expr:"nodes" doc:"Nodes that Slurm gave the job."`
	NodesUsed  int     `expr:"nodes_used" doc:"Nodes on which ranks of an MPI program ran; known once all nodes reported."`
	AllocCores int     `expr:"alloc_cores" doc:"CPUs that Slurm gave the job: sacct's AllocCPUS, hardware threads where it counts these."`
	Executions int     `expr:"executions" doc:"MPI programs (MPI_COMM_WORLDs) that ran in the job."`
	Ranks      int     `expr:"ranks" doc:"Recorded ranks; of several MPI programs the most that one of them had."`
	Coverage   float64 `expr:"coverage" doc:"Ranks recorded / ranks that ran, 0 to 1."`
	Threaded   bool    `expr:"threaded" doc:"Ranks had threads that computed. Of ranks whose threads were not counted, the environment is believed."`
	Singletons int     `expr:"singletons" doc:"MPI programs of one rank in a step of several tasks, with the same arguments and input: ranks that never met."`
	Unused     int     `expr:"unused_nodes" doc:"Nodes without a rank, where Slurm counted hardly any CPU time beside that of the ranks; 0: there are none."`
	GPURanks   int     `expr:"gpu_ranks" doc:"Ranks that opened a GPU, whether Slurm tracks GPUs or not. A rule without gpus = true answers \"cannot tell\" for such a job."`
	GPUs       int     `expr:"gpus" doc:"GPUs that Slurm gave the job, from sacct or its nodes. A rule without gpus = true answers \"cannot tell\" for such a job."`
	UnusedGPUs int     `expr:"unused_gpus" doc:"GPUs of the job that no process used, from the driver's accounts; known if these tell of all of its GPUs, and not of GPUs that came with whole nodes; 0 without GPUs."`

	DeviceEfficiency float64 `expr:"device_parallel_efficiency" doc:"The part of the time in which a kernel ran on its GPUs, 0 to 1, at most where processes shared one; known as unused_gpus is; 1 without GPUs."`

	Workload      string  `expr:"workload" doc:"The name of the job's workload, that of its MPI program with the most core time."`
	WorkloadRuns  int     `expr:"workload_runs" doc:"Runs of the workload that can share a curve with the job. The following fields come from them."`
	Cores         int     `expr:"cores" doc:"Cores that the workload ran on in this job: ranks x threads."`
	PastInflexion bool    `expr:"past_inflexion" doc:"Fewer cores were measured to be faster, beyond the spread of the runs."`
	NearInflexion bool    `expr:"near_inflexion" doc:"Not past it, but more than 0.6 of its run time was overhead, and of that of two jobs or more on these cores; other core counts were run, too, and none was faster."`
	FastestCores  int     `expr:"fastest_cores" doc:"The core count of the workload's runs with the shortest time."`
	SlowerBy      float64 `expr:"slower_by" doc:"How much longer the job's core count took than fastest_cores, as a fraction: 0.1 is 10 %."`
	SlowerThan    float64 `expr:"slower_than_before" doc:"How much longer the workload's runs on as many cores take since some run before the job, surely, as a fraction; 0: they do not."`
	Compare       string  `expr:"compare" doc:"The command that compares the job with the median run before that; empty: slower_than_before is 0."`
	NFast         float64 `expr:"n_fast" doc:"Cores with the shortest time, from the workload's curve; known where more were measured to be slower."`
	NEff          float64 `expr:"n_eff" doc:"The most cores that keep a parallel efficiency of 0.8, from the workload's curve."`

	CPUEfficiency    float64 `expr:"cpu_efficiency" doc:"CPU time / (alloc_cores x runtime), from sacct; known without MPI, too. A rank that waits in MPI is busy."`
	BusyCores        float64 `expr:"busy_cores" doc:"CPUs that were busy, the mean of the job's time: cpu_efficiency x alloc_cores."`
	RequestedMemory  float64 `expr:"requested_memory" doc:"GiB that the job was given on all nodes, from sacct's AllocTRES."`
	NeededMemory     float64 `expr:"needed_memory" doc:"GiB that it needed, on all nodes together: what its nodes read often enough, else at most; not known where it ran out of memory."`
	LeastMemory      float64 `expr:"least_memory" doc:"GiB that it needed at least; known where its node read them while it ran."`
	MemoryEfficiency float64 `expr:"memory_efficiency" doc:"needed_memory / requested_memory; not known of a job that had whole nodes, whose memory nobody else could have had."`
	WholeNodes       bool    `expr:"whole_nodes" doc:"It had all CPUs of its nodes; known where all of them told how many they have."`
	NeededNodes      int     `expr:"needed_nodes" doc:"Nodes that would have held a fifth more than the mean of its busy CPUs, and than its memory; known where no ranks were measured."`
	TimeLimit        float64 `expr:"time_limit" doc:"Seconds that it asked for (--time), from sacct."`
	TimeEfficiency   float64 `expr:"time_efficiency" doc:"runtime / time_limit."`
	QueueTime        float64 `expr:"queue_time" doc:"Seconds that it waited for resources: from when it could have started to its start, from sacct."`
	ArrayTasks       int     `expr:"array_tasks" doc:"Completed tasks of its array, known once none runs or waits; of many tasks those among the 200 with the highest numbers; 0: it is no array's."`
	ArrayMean        float64 `expr:"array_mean_time" doc:"Seconds that one of these ran, their mean; 0: it is no array's."`

	Runtime       float64 `expr:"runtime" doc:"Seconds from the job's start to its end, Slurm's Elapsed."`
	MPIRuntime    float64 `expr:"mpi_runtime" doc:"Seconds in which an MPI program was between MPI_Init and MPI_Finalize."`
	CoreHours     float64 `expr:"core_hours" doc:"Core-hours used: alloc_cores x runtime / 3600."`
	SMT           float64 `expr:"smt_core_hours" doc:"Of these on further hardware threads of cores that had a rank, where Slurm counts hardware threads as CPUs: they are not lost."`
	LostCoreHours float64 `expr:"lost_core_hours" doc:"Core-hours lost: those used, less smt_core_hours and the ranks' useful time."`
	LostMPI       float64 `expr:"lost_mpi_core_hours" doc:"Of these in MPI."`
	LostIO        float64 `expr:"lost_io_core_hours" doc:"Of these in MPI_File_*, which neither computes nor communicates."`
	LostOpenMP    float64 `expr:"lost_openmp_core_hours" doc:"Of these in OpenMP: threads that waited, began regions, handed out loops and tasks, or idled in serial parts."`
	LostIdle      float64 `expr:"lost_idle_core_hours" doc:"Of these on cores that had no rank while an MPI program ran."`
	LostOutside   float64 `expr:"lost_outside_core_hours" doc:"Of these outside MPI_Init to MPI_Finalize."`

	ParallelEfficiency         float64 `expr:"parallel_efficiency" doc:"Useful time / (threads of all ranks x elapsed), 0 to 1; not known where threads computed that were not measured."`
	MPIParallelEfficiency      float64 `expr:"mpi_parallel_efficiency" doc:"The same of MPI alone, known for ranks with threads too."`
	Threads                    int     `expr:"threads" doc:"Threads of all ranks that OpenMP ran, one for a rank without it; of several programs the most that one of them had."`
	OpenMPEfficiency           float64 `expr:"openmp_parallel_efficiency" doc:"How well threads were used outside of MPI, 0 to 1: the product of the next three, which are DLB's; 1 without OpenMP."`
	OpenMPLoadBalance          float64 `expr:"openmp_load_balance" doc:"The part of it that waiting in barriers and at the ends of regions leaves, 0 to 1."`
	OpenMPScheduling           float64 `expr:"openmp_scheduling_efficiency" doc:"The part of it that beginning regions, handing out loops and tasks, and locks leave, 0 to 1."`
	OpenMPSerialisation        float64 `expr:"openmp_serialisation_efficiency" doc:"The part of it that the serial parts leave, 0 to 1."`
	LoadBalance                float64 `expr:"load_balance" doc:"Mean useful time / the most useful time of a thread, 0 to 1."`
	CommunicationEfficiency    float64 `expr:"communication_efficiency" doc:"The most useful time of a thread / elapsed, 0 to 1."`
	MPILoadBalance             float64 `expr:"mpi_load_balance" doc:"Of MPI alone: mean useful time / the most useful time of a rank, 0 to 1."`
	MPICommunicationEfficiency float64 `expr:"mpi_communication_efficiency" doc:"Of MPI alone: the most useful time of a rank / elapsed, 0 to 1."`
	LoadBalanceIn              float64 `expr:"load_balance_in" doc:"The part of mpi_load_balance inside the nodes, 0 to 1."`
	LoadBalanceOut             float64 `expr:"load_balance_out" doc:"The part of mpi_load_balance between nodes, 0 to 1."`
	Serialisation              float64 `expr:"serialisation_efficiency" doc:"The part of mpi_communication_efficiency that waiting for other ranks' work leaves, 0 to 1; known where windows of the run were sampled."`
	Transfer                   float64 `expr:"transfer_efficiency" doc:"The part of it that the transfer of messages leaves, 0 to 1; likewise."`
	IdleRanks                  int     `expr:"idle_ranks" doc:"Ranks that computed for less than 5 % of their program's time, and less than a quarter of what its busiest rank did; of several programs the most that one of them had."`
	IdleRankShare              float64 `expr:"idle_rank_share" doc:"The part of ranks x elapsed, over all MPI programs, that such ranks had, 0 to 1."`
}

// Field describes one of Fields.
type Field struct {
	Name string // as a condition writes it
	Type string // "text", "list of texts", "whole number", "number" or "true or false"
	Doc  string // what it is, its unit and source
}

var fieldsType = reflect.TypeFor[Fields]()

// typeNames are Go's types in the words of people.
var typeNames = map[string]string{
	"string": "text", "[]string": "list of texts", "int": "whole number", "float64": "number", "bool": "true or false",
}

// AllFields lists Fields in their order.
func AllFields() []Field {
	var all []Field
	for i := range fieldsType.NumField() {
		f := fieldsType.Field(i)
		all = append(all, Field{Name: f.Tag.Get("expr"), Type: typeNames[f.Type.String()], Doc: f.Tag.Get("doc")})
	}
	return all
}

// fieldIndex holds the index in Fields of each name.
var fieldIndex = func() map[string]int {
	index := map[string]int{}
	for i := range fieldsType.NumField() {
		index[fieldsType.Field(i).Tag.Get("expr")] = i
	}
	return index
}()

// Value returns the field of that name: a string, a []string, an int, a float64 or a bool; nil: there is no
// such field.
func (f *Fields) Value(name string) any {
	i, known := fieldIndex[name]
	if !known {
		return nil
	}
	return reflect.ValueOf(f).Elem().Field(i).Interface()
}
