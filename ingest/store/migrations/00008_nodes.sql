-- When each node was heard last. The index that told it was on the way of every report, and
-- half of what a report wrote: a node's entries lie far apart. The other's rows are few, as
-- a job has few runs, and the primary key finds them.

-- +goose Up
CREATE TABLE nodes (
	node     TEXT   NOT NULL PRIMARY KEY,
	heard_us BIGINT NOT NULL
);
INSERT INTO nodes (node, heard_us) SELECT node, max(received_us) FROM reports GROUP BY node;
DROP INDEX reports_by_node;
DROP INDEX reports_by_run;
