// Package storetest does in tests what the daemon does with its database over time. Before it stands
// ingest/store; after it the tests of the programs that open a database.
package storetest

import (
	"context"
	"time"

	"jobeff/ingest/store"
)

// Merge merges what has come, also of jobs that miss a node: lists show it then.
func Merge(ctx context.Context, db *store.Store) error {
	for {
		if _, err := db.Merge(ctx); err != nil {
			return err
		}
		if n, err := db.Unmerged(ctx); n == 0 || err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
