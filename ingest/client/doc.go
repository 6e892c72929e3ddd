// Package client speaks to jobeffd. Sender sends it a node's outbox; Client asks it about
// jobs, workloads and weeks. Package job has the forms on the wire. Before this package
// stands package node, after it the server.
package client
