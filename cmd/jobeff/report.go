package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/ingest/job"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/view"
)

const reportHelp = `jobeff report writes what is known about a job, and the curve of its workload, as one
HTML page with pictures. The file needs no network and no other file, and runs no
script. It can be printed, mailed and kept, and follows the browser's light or dark
colours. An existing FILE is never overwritten; - is standard output.

Where the site has set it up, jobeffd shows the same page at /jobs/JOBID.

--talp writes the figures of the job's largest run as JSON instead, in the form that TALP
writes and TALP-Pages reads. So a program's pages can show production jobs.`

// reportCommand writes a job's page.
func (p *program) reportCommand() *cobra.Command {
	var file, talp string
	c := &cobra.Command{
		Use:   "report JOBID|FILE.json --html FILE",
		Short: "Write a job as an HTML page with pictures, or as TALP's JSON",
		Long:  reportHelp,
		Example: `  jobeff report 123 --html job123.html
  jobeff report run.json --html run.html             # of a file that jobeff run --json wrote
  jobeff report 123 --talp talp/melt/job123.json     # then: talp ci-report -i talp -o pages`,
		Args: cli.One("job", 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.report(cmd.Context(), args[0], file, talp) },
	}
	c.Flags().StringVar(&file, "html", "", "write a page to the new `FILE`; - is standard output")
	c.Flags().StringVar(&talp, "talp", "", "write TALP's JSON to the new `FILE`; - is standard output")
	return c
}

func (p *program) report(ctx context.Context, id, file, talp string) error {
	if (file == "") == (talp == "") {
		return cli.Usagef("name a file: jobeff report %s --html FILE, or --talp FILE; - is standard output", id)
	}
	var a judgedJob
	var err error
	if isFile(id) {
		a.found, err = readDocument(id)
	} else {
		a, err = p.judged(ctx, id)
	}
	if err != nil {
		return err
	}
	switch {
	case a.found.Tasks != nil && talp != "":
		return fmt.Errorf("%s is an array: name one of its tasks, as %s_1, for TALP's JSON", id, id)
	case a.found.Tasks != nil:
		return p.save(file, func(w io.Writer) error { return report.PageOfArray(w, view.NewArray(a.found, true), report.Links{}) })
	case talp != "":
		return p.save(talp, func(w io.Writer) error { return writeTALP(w, a.found.Job) })
	}
	source.Find(ctx, a.found.Job, false)
	return p.save(file, func(w io.Writer) error { return report.PageOfJob(w, a.view(true), report.Links{}) })
}

// writeTALP writes a job's figures as TALP does.
func writeTALP(w io.Writer, j *job.Job) error {
	v, err := view.NewTALP(j)
	if err != nil {
		return err
	}
	return view.Write(w, v)
}

// save writes a new file, and says so on standard error.
func (p *program) save(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(p.stdout)
	}
	if err := newFile(path, write); err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err == nil {
		fmt.Fprintf(p.stderr, "jobeff: wrote %s, %s\n", inert.Text(path, p.reader(p.stderr).Unicode), figure.Bytes(uint64(st.Size())))
	}
	return err
}

// newFile writes a new file, whole or not at all.
func newFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // only the caller may see these jobs
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists and is not overwritten: name another file, or remove it", path)
	}
	if err != nil {
		return fmt.Errorf("%w: name a file in a folder that exists and that you may write to", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
