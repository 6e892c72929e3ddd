package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	difference "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"jobeff/cmd/jobeffd/admin"
	"jobeff/report/mail"
	"jobeff/report/words"
)

var update = flag.Bool("update", false, "write the man page and the completions")

// TestDocsAreUpToDate compares packaging/ with what the command line says now.
func TestDocsAreUpToDate(t *testing.T) {
	root := (&program{stdout: io.Discard}).command()
	showHandedOn(root)
	files, err := docs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join("../../packaging", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "man/") {
			if said, err := exec.Command("groff", "-Kutf8", "-man", "-wall", "-z", "-Tutf8", path).CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("groff of %s: %v\n%s", path, err, said)
			}
		}
		if diff := difference.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is old: go test ./cmd/jobeff -update writes it (-want +got)\n%s", path, diff)
		}
	}
}

// showHandedOn replaces the commands that jobeff hands on by jobeffd's own ones, which have the help.
func showHandedOn(root *cobra.Command) {
	under, _, _ := root.Find([]string{"admin"})
	for _, c := range admin.Command().Commands() {
		old, _, _ := under.Find([]string{c.Name()})
		under.RemoveCommand(old)
		under.AddCommand(c)
	}
}

// manDate is the date in the pages: the date of a build would change them each day.
var manDate = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// docs makes the files, named relative to packaging/.
func docs(root *cobra.Command) (map[string][]byte, error) {
	page, err := manPage(root)
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile("../../etc/jobeff.toml")
	rare, err2 := os.ReadFile("../../etc/rare.toml")
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	var bash, zsh, fish bytes.Buffer
	if err := errors.Join(root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true)); err != nil {
		return nil, err
	}
	return map[string][]byte{
		"man/jobeff.1":            page,
		"man/jobeff.toml.5":       configPage(config, rare),
		"completions/jobeff":      []byte(plainCommas.Replace(bash.String())),
		"completions/_jobeff":     zsh.Bytes(),
		"completions/jobeff.fish": fish.Bytes(),
	}, nil
}

// plainCommas mends cobra's script for bash. The script quotes the commas of what it offers
// ("jobid\,pe"), and then finds no offer that begins with what was typed.
var plainCommas = strings.NewReplacer(
	`[[ $comp == "$cur"* ]] ||`, `comp=${comp//\\,/,}; [[ $comp == "$cur"* ]] ||`,
	`COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]%%$tab*}")`, `COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]%%$tab*}"); COMPREPLY[0]=${COMPREPLY[0]//\\,/,}`)

// manPage is jobeff(1): the root's help, that of every command, and what no help says.
func manPage(root *cobra.Command) ([]byte, error) {
	root.InitDefaultVersionFlag()
	root.DisableAutoGenTag = true
	plain := root.Long
	root.Long = strings.ReplaceAll(plain, "_", `\_`) // it goes through Markdown
	defer func() { root.Long = plain }()
	var b bytes.Buffer
	header := &doc.GenManHeader{Title: "JOBEFF", Section: "1", Date: &manDate, Source: "jobeff", Manual: "jobeff"}
	if err := doc.GenMan(root, header, &b); err != nil {
		return nil, err
	}
	page, _, _ := strings.Cut(b.String(), ".SH SEE ALSO")
	page = strings.ReplaceAll(page, "[=false]", "") // cobra's form of an option without a value
	var commands, admins strings.Builder
	for _, c := range root.Commands() {
		if c.Name() == "admin" {
			manCommand(&admins, c)
		} else {
			manCommand(&commands, c)
		}
	}
	var fields strings.Builder
	for _, c := range words.AllColumns() {
		fmt.Fprintf(&fields, ".TP\n\\fB%s\\fP\n%s\n", roff(c.Name), roff(c.Doc))
	}
	return []byte(page + ".SH FIELDS\nThe fields of \\fB-o\\fP, and of \\fB--sort\\fP where they are numbers. A width may follow each: user%20.\n" + fields.String() + ".SH COMMANDS\n" + commands.String() + ".SH ADMINISTRATION\n" + admins.String() + manTail), nil
}

// manCommand writes the help of a command and of those below it.
func manCommand(b *strings.Builder, c *cobra.Command) {
	if !c.IsAvailableCommand() || c.Name() == "completion" {
		return
	}
	if c.Runnable() {
		text := cmp.Or(c.Long, c.Short)
		if flags := strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(78), "\n"); flags != "" {
			text += "\n\n" + flags
		}
		fmt.Fprintf(b, ".SS %s\n.nf\n%s\n.fi\n", roff(c.UseLine()), roff(text))
	}
	for _, below := range c.Commands() {
		manCommand(b, below)
	}
}

const manTail = `.SH JSON
.B \-\-json
prints one object, for a list an object whose
.B jobs
are such objects. Times are in seconds, sizes in bytes, efficiencies fractions.
Fields are only ever added. A job has what Slurm says about it
.RB ( id ,
.BR job_id ,
.BR state ,
.BR job_elapsed ,
\&...), POP's figures, null without data
.RB ( parallel_efficiency ,
.BR load_balance ,
.BR load_balance_in ,
.BR load_balance_out ,
.BR communication_efficiency ,
.BR elapsed ,
.BR useful ,
.BR mpi_time ,
.BR io_time ,
.BR wait_time ,
.BR useful_instructions ,
.BR useful_cycles ,
.BR useful_ipc ,
.BR useful_frequency ,
.BR ranks ,
.BR nodes ,
.BR coverage ,
.BR calls ,
.BR classes ,
.BR sections ),
why there are none
.RB ( no_data ),
.BR endings ,
.B warnings
and
.BR executions ,
a list with the same figures for each MPI program of the job. In a list of jobs
.BR calls ,
.B steps
and
.B executions
are left empty.
.B verdicts
is what each rule says about a job, flagged or not:
.BR rule ,
.B outcome
(flagged, passed, cannot_tell, not_asked),
.BR reason ,
.BR figures ,
the core-hours used and lost (null: not known),
.B recommended
core counts and
.BR confidence .
.B overlap
is what computing could hide of the time in point\-to\-point calls (absent: no curve of
.BR jobeff\-overhead (1)
fits).
.B workload
compares the job with the other runs of its workload (null: not known). The
document of
.B jobeff workload
NAME has
.BR counts ,
what was measured on each core count, its
.B curve
as
.B jobeff curve
prints it,
.BR recommended ,
.BR section_bounds ,
the
.B runs
of the curve, and the runs that were left out of it
.RB ( splits ,
.BR left_out ),
each with the reason.
.SH EXIT STATUS
0: jobeff printed what was asked for. 1: it could not (no such job, jobeffd cannot
be reached, a check of doctor failed). 2: the command line cannot be understood.
Errors go to standard error and say what to do next.
.SH ENVIRONMENT
.TP
.B JOBEFF_CONFIG
the configuration file, instead of /etc/jobeff/jobeff.toml
.TP
.B NO_COLOR
if set, jobeff prints no colours
.TP
.B LC_ALL, LC_CTYPE, LANG
unless the locale's characters are UTF-8, jobeff prints only ASCII
.TP
.B JOBEFF=off
in the environment of a job or a step: jobeff does not measure it
.TP
.B JOBEFF_WORKLOAD=NAME
there: the name of its workload; sbatch --jobeff-workload=NAME overrides it
.SH FILES
.TP
.I /etc/jobeff/jobeff.toml
where to find jobeffd, see
.BR jobeff.toml (5)
.TP
.I /etc/jobeff/off
while it exists, no new step on this machine is measured
.TP
.I /usr/share/doc/jobeff/doc
the guides: USERS.md what each figure means and what to do, ADMIN.md for those who run
the cluster, API.md for programs
.SH SEE ALSO
.BR jobeff.toml (5),
.BR jobeffd (8),
.BR jobeff-ingest (8),
.BR jobeff\-overhead (1),
.BR sacct (1)
`

// TestHelpIsOneScreen: what jobeff --help prints is one screen, and names every option and command.
func TestHelpIsOneScreen(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"--help"}, os.Getenv, &out, &out); code != 0 {
		t.Fatal(code, out.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
	if len(lines) > 40 {
		t.Errorf("%d lines", len(lines))
	}
	named := strings.FieldsFunc(out.String(), func(r rune) bool { return strings.ContainsRune(" ,.\n", r) })
	root := new(program).command()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if !c.Hidden && !slices.Contains(named, c.Name()) {
			t.Errorf("%s is not there", c.Name())
		}
	}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(named, "--"+f.Name) && (f.Shorthand == "" || !slices.Contains(named, "-"+f.Shorthand)) {
			t.Errorf("--%s is not there", f.Name)
		}
	})
}

// configPage is jobeff.toml(5): the shipped file and that of rare settings explain each key beside it.
func configPage(shipped, rare []byte) []byte {
	return []byte(`.TH "JOBEFF.TOML" "5" "Nov 2026" "jobeff" "jobeff"
.SH NAME
jobeff.toml \- configuration of jobeff
.SH DESCRIPTION
.I /etc/jobeff/jobeff.toml
is read by the plugin on the compute nodes, by
.BR jobeffd (8),
.BR jobeff-ingest (8)
and
.BR jobeff (1);
the commands read the file that JOBEFF_CONFIG names instead, if set. A key that is
left out has the default below; so has every key where the file is missing. An unknown
key is an error that names its line.
.SH THE SHIPPED FILE
.nf
` + roff(string(shipped)) + `.fi
.SH FURTHER SETTINGS
.nf
` + roff(string(rare)) + `.fi
.SH TEMPLATES
Files in the folder that mail.templates names replace the built-in letters: digest.txt
and notice.txt in the language of Go's text/template, digest.html and notice.html in
that of html/template, which escapes. When jobeffd starts, it tries each one on made-up
data, and does not start if one fails. Texts are harmless already: they have no control
characters and no line breaks.
.nf

` + roff(mail.Contract()) + `.fi
.SH SEE ALSO
.BR jobeff (1),
.BR jobeffd (8)
`)
}

// roff escapes a text for a man page.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
