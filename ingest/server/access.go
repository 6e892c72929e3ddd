package server

import (
	"context"
	"os/user"
	"strconv"

	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

// grantsOf turns what Slurm says into grants. A name that is no user of this machine gets nothing.
func grantsOf(a *slurm.Access) (all []store.Grant) {
	if !a.Private {
		all = append(all, store.Grant{UID: store.Everybody})
	}
	for _, name := range a.Admins {
		if uid, ok := lookup(name); ok {
			all = append(all, store.Grant{UID: uid})
		}
	}
	for name, accounts := range a.Coordinators {
		if uid, ok := lookup(name); ok {
			for _, account := range accounts[:min(len(accounts), mostAccounts)] {
				all = append(all, store.Grant{UID: uid, Account: account})
			}
		}
	}
	return all
}

// mostAccounts bounds one coordinator's accounts. Each is an argument of their queries.
const mostAccounts = 10_000

func lookup(name string) (uid int64, ok bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, false
	}
	id, err := strconv.ParseUint(u.Uid, 10, 32)
	return int64(id), err == nil
}

// accessEvery is how many of the poller's intervals pass before it asks Slurm again who may
// see whose jobs.
const accessEvery = 10

// readAccess asks Slurm who may see whose jobs, unless it did so lately. If it cannot, the old
// grants stay.
func (p *Poller) readAccess(ctx context.Context) error {
	if p.now().Sub(p.accessRead).Abs() < accessEvery*p.Interval {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sacctTimeout)
	defer cancel()
	a, err := slurm.ReadAccess(ctx)
	if err == nil {
		err = p.Store.SetGrants(ctx, grantsOf(a))
	}
	if err == nil {
		p.accessRead = p.now()
	}
	return err
}
