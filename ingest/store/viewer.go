package store

import (
	"cmp"
	"slices"
	"strings"
)

// Viewer is who asks. Jobs that they may not see are not found.
type Viewer struct {
	UID      uint32
	All      bool     // root and operators, and guests
	Guest    bool     // they see all only as everybody does: of others' jobs they change nothing
	Accounts []string // whose jobs they see too, as a coordinator
	Cluster  string   // of several, the only one whose jobs they see: UID and Accounts are of it; "": any
	Of       string   // of those that they see, the only one about which they ask; "": any
}

// cluster is the only one about which a viewer is told; "": any.
func (v Viewer) cluster() string { return cmp.Or(v.Cluster, v.Of) }

// Operates says that a viewer runs the site: they also see how it does, and what others were told. Whoever runs
// one of several clusters does not.
func (v Viewer) Operates() bool { return v.All && !v.Guest && v.Cluster == "" }

// is says that a user of a cluster is the viewer.
func (v Viewer) is(cluster string, uid uint32) bool {
	return uid == v.UID && (v.Cluster == "" || cluster == v.Cluster)
}

// Coordinates are the accounts, by name, whose sums a coordinator may have.
func (v Viewer) Coordinates() []string {
	return slices.DeleteFunc(slices.Clone(v.Accounts), func(a string) bool { return a == "" })
}

// onlyOwn says that a viewer sees their own jobs alone.
func (v Viewer) onlyOwn() bool { return !v.All && len(v.Coordinates()) == 0 }

// sees is the SQL condition that the viewer may see a row r; "" if they see all.
func (v Viewer) sees() (condition string, args []any) {
	condition, args = v.seesOf()
	of, cluster := ofCluster("r", v.cluster())
	if condition == "" {
		of = strings.TrimPrefix(of, " AND ")
	}
	return condition + of, append(args, cluster...)
}

// seesOf is sees among the rows of the viewer's cluster. An attempt whose account is unknown belongs to no
// coordinator. Accounts have no index, so a coordinator gains nothing by that on users.
func (v Viewer) seesOf() (condition string, args []any) {
	if v.All {
		return "", nil
	}
	args = []any{v.UID}
	for _, a := range v.Coordinates() {
		args = append(args, a)
	}
	if len(args) == 1 {
		return "r.uid = ?", args
	}
	return "(r.uid + 0 = ? OR r.account IN (?" + strings.Repeat(", ?", len(args)-2) + "))", args
}
