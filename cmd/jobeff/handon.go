package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
)

// handedOn returns the commands that open the database. jobeffd carries them out, so jobeff, which every user
// runs, links no database.
func handedOn() (all []*cobra.Command) {
	for _, name := range slices.Sorted(maps.Keys(cli.DatabaseCommands)) {
		all = append(all, &cobra.Command{
			Use:                name,
			Short:              cli.DatabaseCommands[name],
			Long:               cli.DatabaseCommands[name] + ".\njobeffd does this, on the server: there, jobeff admin " + name + " --help says more.",
			DisableFlagParsing: true, // jobeffd knows them
			RunE: func(_ *cobra.Command, args []string) error {
				return handOn(name, append([]string{"admin", name}, args...))
			},
			ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				handOn(name, append(append([]string{cobra.ShellCompRequestCmd, "admin", name}, args...), typed))
				return nil, cobra.ShellCompDirectiveNoFileComp // jobeffd could not be started
			},
		})
	}
	return all
}

// handOn replaces this process by jobeffd. It returns only if that fails.
func handOn(name string, args []string) error {
	path, err := findDaemon()
	if err != nil {
		return fmt.Errorf("jobeffd is not installed on this machine: run jobeff admin %s on the server", name)
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, append([]string{"jobeffd"}, args...), os.Environ())) // #nosec G204 -- jobeffd of this installation, run as the caller
}

// findDaemon returns the path of jobeffd: beside this program, else in the sbin beside its bin, else the first
// in PATH.
func findDaemon() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	here := filepath.Dir(self)
	for _, path := range []string{filepath.Join(here, "jobeffd"), filepath.Join(here, "../sbin/jobeffd"), "jobeffd"} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", errors.New("no jobeffd")
}
