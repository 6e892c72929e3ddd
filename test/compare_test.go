package test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"jobeff/report/view"
)

// TestCompare: the same work on three nodes, then with a node that takes three times as long for it,
// then with another MPI. jobeff names the node and the library, and only their owner sees it.
func TestCompare(t *testing.T) {
	t.Parallel()
	if !openmpi.bySlurm() || !mpich.bySlurm() {
		t.Skip("this Slurm does not start both MPIs")
	}
	// The program has one name, and an input that is known. Rank 0 is on the first node, whose arguments count.
	script := func(f family, slow int) string {
		return fmt.Sprintf(`mkdir -p ~/compare-%[1]s && cp -n %[2]s ~/compare-%[1]s/rounds && echo input >~/compare-%[1]s/input
cd ~/compare-%[1]s && %[3]sbash -c 'ms=100; [ $SLURM_NODEID != 1 ] || ms=%[4]d; exec ./rounds 20 $ms input'`, f.mpi, rounds(t, site, f), srun(t, f), slow)
	}
	args := []string{"-N3", "-n3", "--ntasks-per-node=1"}
	var ids []string
	for _, s := range []string{script(openmpi, 100), script(openmpi, 300), script(mpich, 100)} {
		ids = append(ids, site.run(t, "alice", s, args...))
	}
	for _, id := range ids {
		wantExecutions(t, site.jobeff(t, "alice", id), 1)
	}
	compared := func(args ...string) (c view.Comparison) {
		t.Helper()
		text := site.as(t, "alice", append([]string{"jobeff", "compare", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.Longer
		}
		if math.Abs(sum-c.Longer) > 1e-6 {
			t.Errorf("compare %v: the parts come to %v of %v s", args, sum, c.Longer)
		}
		return c
	}
	part := func(c view.Comparison, code string) float64 {
		return c.Parts[slices.IndexFunc(c.Parts, func(p view.ComparePart) bool { return p.Code == code })].Longer
	}
	slow := compared(ids[0], ids[1])
	if len(slow.ByNode) != 1 || slow.ByNode[0].Name != "node n2" || slow.ByNode[0].After < 6 || part(slow, "load_balance") <= 0 || part(slow, "computing") <= 0 {
		t.Errorf("a slow node: %+v", slow)
	}
	if len(slow.Places) == 0 || !strings.HasPrefix(slow.Places[0].Name, "MPI_Allreduce at rounds") || slow.Places[0].After <= slow.Places[0].Before {
		t.Errorf("the others wait for it at %+v", slow.Places)
	}
	if slow.Usual != nil || slow.Nothing {
		t.Errorf("no other run tells how much they differ: %+v", slow)
	}
	mpi := compared(ids[0], ids[2]).Changed
	if !slices.ContainsFunc(mpi, func(c view.Changed) bool {
		return c.What == "MPI" && strings.HasPrefix(c.Before, "Open MPI") && strings.HasPrefix(c.After, "MPICH")
	}) {
		t.Errorf("another MPI library: changed are %+v", mpi)
	}
	text := site.as(t, "alice", "jobeff", "compare", ids[0], ids[1])
	if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, "Node n2 computed ") || !strings.Contains(words, "times as long as before") || !strings.Contains(words, "MPI_Allreduce at rounds.c:") || strings.Contains(text, "\x1b") {
		t.Errorf("as text:\n%s", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 80 {
			t.Errorf("a line of %d characters: %q", len(line), line)
		}
	}
	if r := site.try(t, "", "as", "bob", "jobeff", "compare", ids[0], ids[1]); !strings.Contains(fmt.Sprint(r), "was not found") {
		t.Errorf("another user sees: %+v", r)
	}
}
