package admin

import (
	"testing"

	"jobeff/cmd/cli"
)

// TestEveryCommandIsHandedOn: jobeff has each of these commands under its name.
func TestEveryCommandIsHandedOn(t *testing.T) {
	all := Command().Commands()
	for _, c := range all {
		if c.Short == "" {
			t.Errorf("cli.DatabaseCommands lacks %s", c.Name())
		}
	}
	if len(all) != len(cli.DatabaseCommands) {
		t.Errorf("%d commands, cli.DatabaseCommands has %d", len(all), len(cli.DatabaseCommands))
	}
}
