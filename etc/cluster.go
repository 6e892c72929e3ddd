package etc

import (
	"cmp"
	"fmt"
	"strings"
)

// Cluster is one [[cluster]] table: one of several clusters that a jobeffd serves. Each has a munge key of its
// own, and users of its own.
type Cluster struct {
	Name  string `toml:"name"`  // Slurm's ClusterName
	Munge string `toml:"munge"` // socket of a munged with the cluster's key; "": munge.socket, and the cluster is this machine's own
	// How Slurm's commands are asked of the cluster; both empty: as this machine has them.
	SlurmConf string   `toml:"slurm_conf"` // SLURM_CONF
	SlurmVia  []string `toml:"slurm_via"`  // a command that runs them on another machine: its words, then theirs
}

// Several are the clusters if jobeffd must tell them apart. One is as none: jobeffd serves whoever has the key.
func (c *Config) Several() []Cluster {
	if len(c.Clusters) < 2 {
		return nil
	}
	return c.Clusters
}

// SeveralNames are the names of Several.
func (c *Config) SeveralNames() (names []string) {
	for _, one := range c.Several() {
		names = append(names, one.Name)
	}
	return names
}

// checkClusters refuses clusters that cannot be told apart. Its errors begin with file:line.
func (c *Config) checkClusters(file *File) error {
	names, sockets := map[string]int{}, map[string]int{}
	for i, one := range c.Clusters {
		place := Place{File: file, Table: "cluster", Index: i}
		wrong := func(key, msg string) error { return fmt.Errorf("%s: cluster.%s: %s", place.At(key), key, msg) }
		if msg := checkClusterName(one.Name, false); msg != "" {
			return wrong("name", msg)
		}
		if msg := checkPath(one.Munge, true); msg != "" {
			return wrong("munge", msg)
		}
		if first, twice := names[one.Name]; twice {
			return wrong("name", fmt.Sprintf("a second cluster has the name %q: the first stands at %s", one.Name, Place{file, "cluster", first}.At("name")))
		}
		if msg := checkPath(one.SlurmConf, true); msg != "" {
			return wrong("slurm_conf", msg)
		}
		if msg := checkCommand(one.SlurmVia); msg != "" {
			return wrong("slurm_via", msg)
		}
		socket := cmp.Or(one.Munge, c.Munge.Socket)
		if first, twice := sockets[socket]; twice {
			return wrong("munge", fmt.Sprintf("cluster %q has the same socket: each cluster has a key, and so a munged, of its own", c.Clusters[first].Name))
		}
		names[one.Name], sockets[socket] = i, i
	}
	return nil
}

// checkClusterName allows the names that reports may have. Slurm writes a cluster's name in small letters.
func checkClusterName(s string, mayBeEmpty bool) string {
	other := func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.", r))
	}
	switch {
	case s == "" && mayBeEmpty:
	case s == "":
		return "is missing: the cluster's name in Slurm, as `scontrol show config` has it in ClusterName"
	case len(s) > 64, strings.ContainsFunc(s, other):
		return fmt.Sprintf("%q is no cluster's name in Slurm: small letters, digits, _, - and ., at most 64", s)
	case s == "all":
		return "\"all\" means all clusters: no cluster can have this name"
	}
	return ""
}
