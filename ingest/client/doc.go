// Package client speaks to jobeffd: Sender carries a node's outbox to it, and Client asks
// it what people want to know of jobs, workloads and weeks. The forms on the wire are
// package job's; behind this package stands the server.
package client
