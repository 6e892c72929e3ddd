package node

import (
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
)

// crossing is an execution that has ranks on other nodes, too, with the logs of those that are
// here. Only jobeffd, which gets the logs of all nodes, can replay them.
type crossing struct {
	about job.NodeLogs
	span  time.Duration
	logs  []replay.Log
}

// pack makes what travels: the logs of the node whose report is r. Nil: there are none, or they
// have no room.
func (c *crossing) pack(r *job.NodeReport) []byte {
	if c == nil {
		return nil
	}
	about := c.about
	about.Cluster, about.JobID, about.Nonce, about.Node = r.Cluster, r.JobID, r.Nonce, r.Node
	head, err := about.Head()
	if err != nil {
		return nil
	}
	nodes := r.NNodes
	if nodes == 0 {
		nodes = c.about.Size
	}
	return replay.Pack(c.logs, replay.RoomOn(nodes), func(text []byte) []byte { return job.Compress(slices.Concat(head, text)) })
}
