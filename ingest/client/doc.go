// Package client speaks to jobeffd. Sender sends it a node's outbox; Client asks it about jobs,
// workloads and weeks. Packages job, listing and wire define what travels. Before this package stands
// package node, after it the server.
package client
