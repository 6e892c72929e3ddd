-- What jobeff-overhead measured: a curve for each cluster, partition, MPI and direction. The newest
-- counts; the older ones show what an upgrade changed.

-- +goose Up
CREATE TABLE overhead_curves (
	cluster        TEXT   NOT NULL,
	partition_name TEXT   NOT NULL,
	mpi            TEXT   NOT NULL, -- with its version
	direction      TEXT   NOT NULL, -- send, receive
	nodes          BIGINT NOT NULL, -- 1: both ranks on one; 2; 0: not known
	measured_us    BIGINT NOT NULL,
	points_json    TEXT   NOT NULL,
	PRIMARY KEY (cluster, partition_name, mpi, direction, nodes, measured_us)
);
