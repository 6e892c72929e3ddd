package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jobeff/report/inert"
)

// completeTimeout bounds how long a TAB waits for jobeffd.
const completeTimeout = time.Second

// Offer finds the words that fit an argument or a flag's value. It need not look at what was typed so far.
type Offer func(context.Context) ([]cobra.Completion, error)

// Complete sets the completions of a command and of its subcommands. The key of offers is the
// placeholder of the value, such as JOBID, in a command's Use or in a flag's help.
func Complete(c *cobra.Command, offers map[string]Offer) {
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
			c.RegisterFlagCompletionFunc(f.Name, offered) // fails only if a flag is registered twice
		}
	})
	for _, below := range c.Commands() {
		Complete(below, offers)
	}
}

// argument returns the placeholder of a command's argument, and whether the command takes several.
func argument(c *cobra.Command) (word string, several bool) {
	words := strings.Fields(c.Use)[1:]
	for i, w := range words {
		if !strings.HasPrefix(w, "-") {
			w = strings.Trim(w, "[]")
			return strings.TrimSuffix(w, "..."), strings.HasSuffix(w, "...") || slices.Contains(words[i+1:], "["+w+"]")
		}
	}
	return "", false
}

// completion offers what may follow the last comma, and nothing to a command that has its
// one argument already. Words may come from other users, so they are made harmless.
func completion(find Offer, several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) > 0 && !several {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		found, err := find(ctx)
		if err != nil { // the command itself will report it
			return nil, directive
		}
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for i, text := range found {
			word, doc, _ := strings.Cut(text, "\t")
			found[i] = cobra.CompletionWithDesc(before+inert.Text(word, false), inert.Text(doc, false))
		}
		return found, directive
	}
}

// file lets the shell offer files. If kind is not "", only files with that extension are offered.
func file(kind string) cobra.CompletionFunc {
	if kind != "" {
		return cobra.FixedCompletions([]cobra.Completion{kind}, cobra.ShellCompDirectiveFilterFileExt)
	}
	return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
}

// Fixed always offers the same words.
func Fixed(words ...cobra.Completion) Offer {
	return func(context.Context) ([]cobra.Completion, error) { return words, nil }
}
