package preload

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leftOut says which functions the table has not, and why: what neither communicates nor
// waits stays useful time.
var leftOut = []struct {
	why   string
	names *regexp.Regexp
}{
	{"tool interface", regexp.MustCompile(`^MPI_T_`)},
	{"extension of one MPI", regexp.MustCompile(`^MPIX_`)},
	{"wrapped in lib/sectioncalls.c", regexp.MustCompile(`^MPI_Pcontrol$`)},
	{"converts a handle or a status", regexp.MustCompile(`_(c2f|f2c|c2f08|f082c|f2f08|f082f|fromint|toint)$`)},
	{"datatypes are local", regexp.MustCompile(`^MPI_Type_\w+$`)},
	{"groups are local", regexp.MustCompile(`^MPI_Group_\w+$`)},
	{"info objects are local", regexp.MustCompile(`^MPI_Info_\w+$`)},
	{"operators are local", regexp.MustCompile(`^MPI_(Op_\w+|Reduce_local)$`)},
	{"errors", regexp.MustCompile(`^MPI_(Error_\w+|Add_error_\w+|Remove_error_\w+|Errhandler_\w+|\w+_errhandler)$`)},
	{"attributes", regexp.MustCompile(`^MPI_(Attr_\w+|Keyval_\w+|\w+_(attr|keyval))$`)},
	{"packing copies memory", regexp.MustCompile(`^MPI_(Pack|Unpack)(_\w+)?$`)},
	{"memory", regexp.MustCompile(`^MPI_(Alloc_mem|Free_mem|\w*[Bb]uffer_attach|\w+_attach_buffer)$`)},
	{"time, addresses", regexp.MustCompile(`^MPI_(Wtime|Wtick|Aint_add|Aint_diff|Get_address|Address)$`)},
	{"local query", regexp.MustCompile(`^MPI_(Initialized|Finalized|Is_thread_main|Query_thread|Get_(version|library_version|processor_name|hw_resource_info|count|elements|elements_x)|Status_[gs]et_\w+|Test_cancelled|Session_[gs]et_\w+|Abi_\w+)$`)},
	{"local query of a communicator", regexp.MustCompile(`^MPI_Comm_(rank|size|remote_size|test_inter|compare|group|remote_group|get_\w+|set_name)$`)},
	{"local query of a topology", regexp.MustCompile(`^MPI_(Dims_create|Topo_test|Cart_(coords|get|map|rank|shift)|Cartdim_get|Graph_(get|map|neighbors|neighbors_count)|Graphdims_get|Dist_graph_neighbors(_count)?)$`)},
	{"local to a window", regexp.MustCompile(`^MPI_Win_(get_\w+|set_name|attach|detach|shared_query)$`)},
	{"local to a file", regexp.MustCompile(`^MPI_(File_get_(amode|atomicity|byte_offset|group|info|position|type_extent|view)|Register_datarep)$`)},
	{"local to a request", regexp.MustCompile(`^MPI_(Cancel|Request_free|Grequest_\w+)$`)},
}

// whyLeftOut is the reason for leaving a function out, "" where there is none.
func whyLeftOut(name string) string {
	for _, l := range leftOut {
		if l.names.MatchString(name) || l.names.MatchString(strings.TrimSuffix(name, "_c")) {
			return l.why
		}
	}
	return ""
}

// declared lists the functions that an MPI's mpi.h has.
func declared(t *testing.T, f family) []string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "all.c")
	must(t, os.WriteFile(source, []byte("#include <mpi.h>\n"), 0o600))
	out, err := exec.Command(f.cc, "-E", "-P", source).Output()
	must(t, err)
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`\b(?:int|double|MPI_\w+) +(MPIX?_[A-Z]\w*) ?\([^*]`).FindAllStringSubmatch(string(out), -1) {
		names[m[1]] = true
	}
	if len(names) < 400 {
		t.Fatalf("only %d functions in mpi.h", len(names))
	}
	return slices.Sorted(maps.Keys(names))
}

// Each function that mpi.h declares is in the table or is left out for a reason.
func TestTableIsComplete(t *testing.T) {
	table := map[string]bool{}
	for _, r := range readRows(t) {
		table["MPI_"+r.name] = true
	}
	eachFamily(t, func(t *testing.T, f family) {
		out := map[string][]string{}
		for _, name := range declared(t, f) {
			switch why := whyLeftOut(name); {
			case table[name]:
			case why == "":
				t.Errorf("%s is neither in mpi_calls.def nor left out for a reason", name)
			default:
				out[why] = append(out[why], name)
			}
		}
		for _, why := range slices.Sorted(maps.Keys(out)) {
			t.Logf("%s: %s", why, strings.Join(out[why], " "))
		}
	})
}

// A reason must not cover what communicates, nor be one for nothing.
func TestReasonsFit(t *testing.T) {
	for _, r := range readRows(t) {
		if why := whyLeftOut("MPI_" + r.name); why != "" && r.name != "Type_free" {
			t.Errorf("MPI_%s is in the table and yet left out: %s", r.name, why)
		}
	}
	var all []string
	for _, f := range families {
		all = append(all, declared(t, f)...)
	}
	for _, l := range leftOut {
		if !slices.ContainsFunc(all, l.names.MatchString) {
			t.Errorf("no function is left out because of %q", l.why)
		}
	}
}
