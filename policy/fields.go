package policy

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// Fields are what a rule's condition and text may read, under the names in their
// tags. Their comments are what `jobeff admin policy fields` prints, which is why
// each tells its unit and its source. What is not known of a job stands in
// Case.Unknown.
type Fields struct {
	// The job's owner, as Slurm names him.
	User string `expr:"user"`
	// Slurm's account that the job is charged to.
	Account string `expr:"account"`
	// Slurm's partition.
	Partition string `expr:"partition"`
	// Slurm's quality of service, from sacct.
	QOS string `expr:"qos"`
	// The job's name, from sacct; its owner chose it.
	Name string `expr:"name"`
	// How the job ended, from sacct, one word: COMPLETED, TIMEOUT, OUT_OF_MEMORY ...
	State string `expr:"state"`
	// The file name of the MPI program with the most core time, without folders.
	Program string `expr:"program"`
	// The MPI library of that program: "Open MPI", "MPICH" ...
	MPI string `expr:"mpi"`
	// The codes of all warnings about the job's figures: "no_finalize" in warnings.
	Warnings []string `expr:"warnings"`

	// Nodes that Slurm gave the job.
	Nodes int `expr:"nodes"`
	// Nodes on which ranks of an MPI program ran; known once all nodes reported.
	NodesUsed int `expr:"nodes_used"`
	// CPUs that Slurm gave the job: sacct's AllocCPUS, hardware threads where it counts these.
	AllocCores int `expr:"alloc_cores"`
	// MPI programs (MPI_COMM_WORLDs) that ran in the job.
	Executions int `expr:"executions"`
	// Recorded ranks; of several MPI programs the most that one of them had.
	Ranks int `expr:"ranks"`
	// Ranks recorded / ranks that ran, 0 to 1.
	Coverage float64 `expr:"coverage"`
	// A rank had more than one thread, or more than one CPU of its own.
	Threaded bool `expr:"threaded"`
	// MPI programs of one rank in a step of several tasks: ranks that never met.
	Singletons int `expr:"singletons"`
	// GPUs that Slurm gave the job, from sacct. A rule without gpus = true cannot tell of such a job.
	GPUs int `expr:"gpus"`

	// The name of the job's workload, that of its MPI program with the most core time.
	Workload string `expr:"workload"`
	// Runs of it that the following stand on: those that can share a curve with the job.
	WorkloadRuns int `expr:"workload_runs"`
	// Cores that it ran on in this job: ranks.
	Cores int `expr:"cores"`
	// Fewer cores were measured to be faster, beyond the spread of the runs.
	PastInflexion bool `expr:"past_inflexion"`
	// Not past it, but more than 0.6 of the run time on these cores was overhead.
	NearInflexion bool `expr:"near_inflexion"`
	// The core count of the workload's runs with the shortest time.
	FastestCores int `expr:"fastest_cores"`
	// How much longer the job's core count took than fastest_cores, as a fraction: 0.1 is 10 %.
	SlowerBy float64 `expr:"slower_by"`
	// Cores with the shortest time, from the workload's curve; known where more were measured to be slower.
	NFast float64 `expr:"n_fast"`
	// The most cores that keep a parallel efficiency of 0.8, from the workload's curve.
	NEff float64 `expr:"n_eff"`

	// Seconds from the job's start to its end, Slurm's Elapsed.
	Runtime float64 `expr:"runtime"`
	// Seconds in which an MPI program was between MPI_Init and MPI_Finalize.
	MPIRuntime float64 `expr:"mpi_runtime"`
	// Core-hours used: alloc_cores x runtime / 3600.
	CoreHours float64 `expr:"core_hours"`
	// Core-hours lost: those used, less the ranks' useful time.
	LostCoreHours float64 `expr:"lost_core_hours"`
	// Of these in MPI.
	LostMPI float64 `expr:"lost_mpi_core_hours"`
	// Of these in MPI_File_*, which neither computes nor communicates.
	LostIO float64 `expr:"lost_io_core_hours"`
	// Of these on cores that had no rank while an MPI program ran.
	LostIdle float64 `expr:"lost_idle_core_hours"`
	// Of these outside MPI_Init to MPI_Finalize.
	LostOutside float64 `expr:"lost_outside_core_hours"`

	// Useful time / (ranks x elapsed), 0 to 1; not known for ranks with threads.
	ParallelEfficiency float64 `expr:"parallel_efficiency"`
	// The same of MPI alone, known for ranks with threads too.
	MPIParallelEfficiency float64 `expr:"mpi_parallel_efficiency"`
	// Mean useful time / the most useful time of a rank, 0 to 1.
	LoadBalance float64 `expr:"load_balance"`
	// The part of load_balance inside the nodes, 0 to 1.
	LoadBalanceIn float64 `expr:"load_balance_in"`
	// The part of load_balance between nodes, 0 to 1.
	LoadBalanceOut float64 `expr:"load_balance_out"`
	// The most useful time of a rank / elapsed, 0 to 1.
	CommunicationEfficiency float64 `expr:"communication_efficiency"`
	// Ranks that computed for less than 5 % of their program's time; of several
	// programs the most that one of them had.
	IdleRanks int `expr:"idle_ranks"`
	// The part of ranks x elapsed, over all MPI programs, that such ranks had, 0 to 1.
	IdleRankShare float64 `expr:"idle_rank_share"`
}

// Field describes one of Fields.
type Field struct {
	Name string // as a condition writes it
	Type string // "text", "list of texts", "whole number", "number" or "true or false"
	Doc  string // what it is, its unit and source
}

//go:embed fields.go
var fieldsSource []byte

var fieldsType = reflect.TypeFor[Fields]()

// typeNames are Go's types in the words of people.
var typeNames = map[string]string{
	"string": "text", "[]string": "list of texts", "int": "whole number", "float64": "number", "bool": "true or false",
}

// AllFields lists Fields in their order.
func AllFields() []Field {
	docs := fieldDocs()
	var all []Field
	for i := range fieldsType.NumField() {
		f := fieldsType.Field(i)
		all = append(all, Field{Name: f.Tag.Get("expr"), Type: typeNames[f.Type.String()], Doc: docs[f.Name]})
	}
	return all
}

// fieldDocs reads the comments of Fields, by Go's name, out of this very file.
func fieldDocs() map[string]string {
	docs := map[string]string{}
	file, err := parser.ParseFile(token.NewFileSet(), "fields.go", fieldsSource, parser.ParseComments)
	if err != nil {
		return docs // cannot be: this file was compiled; a test holds that each field has its comment
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if t, is := n.(*ast.TypeSpec); is && t.Name.Name != "Fields" {
			return false
		}
		if f, is := n.(*ast.Field); is && len(f.Names) == 1 {
			docs[f.Names[0].Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
		return true
	})
	return docs
}

// fieldIndex is where in Fields a name is.
var fieldIndex = func() map[string]int {
	index := map[string]int{}
	for i := range fieldsType.NumField() {
		index[fieldsType.Field(i).Tag.Get("expr")] = i
	}
	return index
}()

// value is the field of that name.
func (f *Fields) value(name string) any {
	return reflect.ValueOf(f).Elem().Field(fieldIndex[name]).Interface()
}
