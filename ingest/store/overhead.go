package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/overhead"
)

// AddOverheads keeps curves of jobeff-overhead. One that is there already stays as it is; added
// counts the others.
func (s *Store) AddOverheads(ctx context.Context, curves []overhead.Curve) (added int, err error) {
	err = s.do(ctx, func(w *writer) error {
		added = 0
		for i := range curves {
			n, err := w.addOverhead(&curves[i])
			if err != nil {
				return err
			}
			added += n
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("store: overhead: %w", err)
	}
	return added, nil
}

func (w *writer) addOverhead(c *overhead.Curve) (added int, err error) {
	points, err := json.Marshal(c.Points)
	if err != nil {
		return 0, err
	}
	var cluster string
	err = w.one(`INSERT INTO overhead_curves (cluster, partition_name, mpi, direction, nodes, measured_us, points_json)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING cluster`,
		[]any{clean(c.Cluster), clean(c.Partition), clean(c.MPI), c.Direction, c.Nodes, c.Measured.UnixMicro(), string(points)}, []any{&cluster})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return 1, err
}

// Overheads lists all curves, those that may be compared one after the other, the newest last.
func (s *Store) Overheads(ctx context.Context) ([]overhead.Curve, error) {
	return s.overheads(ctx, "TRUE ORDER BY cluster, partition_name, direction, nodes, measured_us")
}

// addOverheads gives the job the curves of its MPIs.
func (s *Store) addOverheads(ctx context.Context, j *job.Job) error {
	if len(j.Executions) == 0 {
		return nil
	}
	curves, err := s.overheads(ctx, "cluster = ? AND partition_name = ? ORDER BY measured_us DESC", j.Cluster, j.Partition)
	if err != nil {
		return err
	}
	j.AddOverheads(curves)
	return nil
}

// overheads reads the curves that a condition selects.
func (s *Store) overheads(ctx context.Context, where string, args ...any) (all []overhead.Curve, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT cluster, partition_name, mpi, direction, nodes, measured_us, points_json FROM overhead_curves WHERE "+where, args...)
	err = eachOf(rows, err, func(rows *sql.Rows) error {
		var c overhead.Curve
		var measured int64
		var points string
		if err := rows.Scan(&c.Cluster, &c.Partition, &c.MPI, &c.Direction, &c.Nodes, &measured, &points); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(points), &c.Points); err != nil {
			return fmt.Errorf("store: overhead of %s: %w", c.Partition, err)
		}
		c.Measured = time.UnixMicro(measured).UTC()
		all = append(all, c)
		return nil
	})
	return all, unavailable(err)
}
