package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
)

// roomsTold is how long Slurm's word of its partitions counts: they change by hand, and seldom.
const roomsTold = 24 * time.Hour

// SetRooms keeps what Slurm gives the jobs of a cluster, as it said at a time.
func (s *Store) SetRooms(ctx context.Context, cluster string, at time.Time, rooms *slurm.Rooms) error {
	text, err := json.Marshal(rooms)
	if err == nil {
		err = s.do(ctx, func(w *writer) error {
			return w.exec(`INSERT INTO rooms (cluster, read_us, rooms_json) VALUES (?, ?, ?)
				ON CONFLICT (cluster) DO UPDATE SET read_us = excluded.read_us, rooms_json = excluded.rooms_json`, cluster, at.UnixMicro(), string(text))
		})
	}
	if err != nil {
		return fmt.Errorf("store: rooms: %w", err)
	}
	return nil
}

// roomIn is what Slurm gives a job of a partition and QOS; nil: its answer is missing or too old.
func (s *Store) roomIn(ctx context.Context, cluster, partition, qos string) (*job.Room, error) {
	var text []byte
	err := s.read.QueryRowContext(ctx, "SELECT rooms_json FROM rooms WHERE cluster = ? AND read_us > ?", cluster, time.Now().Add(-roomsTold).UnixMicro()).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	rooms := new(slurm.Rooms)
	if err == nil {
		err = json.Unmarshal(text, rooms)
	}
	if err != nil {
		return nil, fmt.Errorf("rooms: %w", err)
	}
	return rooms.Of(partition, qos), nil
}

// addRoom fills in the room of a job: what Slurm said, else a node like those that it had.
func (s *Store) addRoom(ctx context.Context, j *job.Job) (err error) {
	if j.Room, err = s.roomIn(ctx, j.Cluster, j.Partition, j.QOS); j.Room == nil {
		j.Room = j.RoomOfNodes()
	}
	return err
}
