package cli

import (
	"jobeff/etc"
	"jobeff/ingest/munge"
)

// Munge returns where this site's munged listens, and whose signed answers count.
func Munge(cfg *etc.Config) munge.Site {
	return munge.Site{Socket: cfg.Munge.Socket, Of: cfg.Munge.Cluster, Servers: cfg.Report.ServerUsers}
}
