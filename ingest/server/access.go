package server

import (
	"context"
	"os/user"
	"strconv"

	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

// rights is what Slurm grants, by uid; nil grants nothing.
type rights struct {
	all      bool // everybody may see every job
	admins   map[uint32]bool
	accounts map[uint32][]string // that a coordinator sees the jobs of
}

// viewer is what a reader may see: his own jobs, a coordinator also his accounts',
// an operator (ours or Slurm's) and root all.
func (s *Server) viewer(by who) store.Viewer {
	v := store.Viewer{UID: by.uid, All: s.trusted[by.uid] || s.operators[by.uid]}
	if r := s.rights.Load(); r != nil {
		v.All = v.All || r.all || r.admins[by.uid]
		v.Accounts = r.accounts[by.uid]
	}
	return v
}

// SetAccess takes over what Slurm says of who may see whose jobs. Names that are
// no users of this machine get nothing.
func (s *Server) SetAccess(a *slurm.Access) {
	r := &rights{all: s.open && !a.Private, admins: map[uint32]bool{}, accounts: map[uint32][]string{}}
	for _, name := range a.Admins {
		if uid, ok := lookup(name); ok {
			r.admins[uid] = true
		}
	}
	for name, accounts := range a.Coordinators {
		if uid, ok := lookup(name); ok {
			r.accounts[uid] = append(r.accounts[uid], accounts[:min(len(accounts), mostAccounts)]...)
		}
	}
	s.rights.Store(r)
}

// mostAccounts bounds one coordinator's accounts, each an argument of his queries.
const mostAccounts = 10_000

func lookup(name string) (uint32, bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, false
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(uid), err == nil
}

// accessEvery is after how many intervals of the poller Slurm is asked again who
// may see whose jobs.
const accessEvery = 10

// readAccess asks Slurm who may see whose jobs, if that was not done lately. Where
// it cannot, what is known stays.
func (p *Poller) readAccess(ctx context.Context) error {
	if p.Access == nil || p.now().Sub(p.accessRead).Abs() < accessEvery*p.Interval {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sacctTimeout)
	defer cancel()
	a, err := slurm.ReadAccess(ctx)
	if err != nil {
		return err
	}
	p.accessRead = p.now()
	p.Access(a)
	return nil
}
