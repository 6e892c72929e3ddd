package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jobeff/ingest/job"
	"jobeff/report"
)

// completeTimeout bounds what a TAB waits for jobeffd.
const completeTimeout = time.Second

// mostOffered is how many of the caller's last jobs and workloads are offered.
const mostOffered = 100

// offer finds what may stand in a place; what was typed of it is sorted out later.
type offer func(context.Context) ([]cobra.Completion, error)

// offers are what to complete for the words that stand for values in the help of
// commands ("explain JOBID") and of flags ("-S TIME"). FILE is the shell's own.
func (p *program) offers() map[string]offer {
	return map[string]offer{
		"JOBID":      p.offerJobs,
		"NAME|JOBID": p.offerWorkloads,
		"FIELDS":     func(context.Context) ([]cobra.Completion, error) { return offerFields(), nil },
		"STATES":     func(context.Context) ([]cobra.Completion, error) { return offerStates(), nil },
		"USERS":      fixed("me"),
		"USER":       fixed(),
		"TIME":       fixed("-7days", "-30days", "-12hours", "today", "yesterday"),
		"DATE":       fixed("+1week", "+30days", "+90days"),
		"LONG":       fixed("1week", "30days", "90days"),
		"WEEK":       p.offerWeeks,
		"ACCOUNTS":   p.offerOf(func(j *job.Job) string { return j.Account }),
		"ACCOUNT":    p.offerOf(func(j *job.Job) string { return j.Account }),
		"PARTITIONS": p.offerOf(func(j *job.Job) string { return j.Partition }),
		"QOS":        p.offerOf(func(j *job.Job) string { return j.QOS }),
		"CLUSTERS":   p.offerOf(func(j *job.Job) string { return j.Cluster }),
	}
}

// complete gives a command, and those below it, what completes their values.
func complete(c *cobra.Command, offers map[string]offer) {
	c.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	if word, several := argument(c); offers[word] != nil {
		c.ValidArgsFunction = completion(offers[word], several)
	} else if kind, ok := strings.CutPrefix(word, "FILE"); ok {
		c.ValidArgsFunction = file(strings.TrimPrefix(kind, "."))
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		var offered cobra.CompletionFunc
		if word, _ := pflag.UnquoteUsage(f); offers[word] != nil {
			offered = completion(offers[word], true)
		} else if word == "FILE" {
			offered = file("")
		}
		if offered != nil {
			c.RegisterFlagCompletionFunc(f.Name, offered) // fails only where it is done twice
		}
	})
	for _, below := range c.Commands() {
		complete(below, offers)
	}
}

// argument is the word for what a command takes, and whether it takes several.
func argument(c *cobra.Command) (word string, several bool) {
	for _, w := range strings.Fields(c.Use)[1:] {
		if !strings.HasPrefix(w, "-") {
			w = strings.Trim(w, "[]")
			return strings.TrimSuffix(w, "..."), strings.HasSuffix(w, "...")
		}
	}
	return "", false
}

// completion offers to a shell what may follow the last comma; nothing where a command
// has its one argument already. A word that is another's text is made harmless.
func completion(find offer, several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) > 0 && !several {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		found, err := find(ctx)
		if err != nil { // the command itself will say it
			return nil, directive
		}
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for i, text := range found {
			word, doc, _ := strings.Cut(text, "\t")
			found[i] = cobra.CompletionWithDesc(before+report.InertText(word, false), report.InertText(doc, false))
		}
		return found, directive
	}
}

// file leaves it to the shell to offer files, of one kind where it is not "".
func file(kind string) cobra.CompletionFunc {
	if kind != "" {
		return cobra.FixedCompletions([]cobra.Completion{kind}, cobra.ShellCompDirectiveFilterFileExt)
	}
	return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
}

func fixed(words ...cobra.Completion) offer {
	return func(context.Context) ([]cobra.Completion, error) { return words, nil }
}

func offerFields() (all []cobra.Completion) {
	for _, c := range report.AllColumns() {
		all = append(all, cobra.CompletionWithDesc(strings.ToLower(c.Name), c.Doc))
	}
	return all
}

func offerStates() (all []cobra.Completion) {
	for _, short := range slices.Sorted(maps.Keys(shortStates)) {
		all = append(all, cobra.CompletionWithDesc(shortStates[short], short))
	}
	return all
}

// lastJobs are the caller's.
func (p *program) lastJobs(ctx context.Context) ([]job.Job, error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Jobs(ctx, job.JobQuery{User: myself(), Limit: mostOffered})
	if err != nil {
		return nil, err
	}
	return list.Jobs, nil
}

func (p *program) offerJobs(ctx context.Context) (all []cobra.Completion, err error) {
	jobs, err := p.lastJobs(ctx)
	for _, j := range jobs {
		doc := strings.TrimSpace(fmt.Sprintf("%s %s", j.Name, j.State))
		if !j.End.IsZero() {
			doc += j.End.Local().Format(" 2006-01-02 15:04")
		}
		all = append(all, cobra.CompletionWithDesc(j.DisplayID, doc))
	}
	return all, err
}

// offerOf offers what the caller's last jobs have of something.
func (p *program) offerOf(field func(*job.Job) string) offer {
	return func(ctx context.Context) (all []cobra.Completion, err error) {
		jobs, err := p.lastJobs(ctx)
		for i := range jobs {
			if v := field(&jobs[i]); v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		return all, err
	}
}

func (p *program) offerWorkloads(ctx context.Context) (all []cobra.Completion, err error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Workloads(ctx, job.WorkloadQuery{User: myself(), Limit: mostOffered})
	if err != nil {
		return nil, err
	}
	for _, w := range list.Workloads {
		all = append(all, cobra.CompletionWithDesc(w.Name, fmt.Sprintf("%d runs, %d to %d cores", w.Runs, w.FewestCores, w.MostCores)))
	}
	return all, nil
}

// weeksOffered is how many past weeks are offered.
const weeksOffered = 8

func (p *program) offerWeeks(context.Context) (all []cobra.Completion, err error) {
	for i := range weeksOffered {
		year, week := p.now().AddDate(0, 0, -7*(i+1)).ISOWeek()
		all = append(all, fmt.Sprintf("%d-W%02d", year, week))
	}
	return all, nil
}
