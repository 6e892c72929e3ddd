-- Logs of windows of executions on several nodes, each a row of one node, until jobeffd has replayed
-- them. They are no part of an attempt: what the replay tells goes into the report of rank 0's node.

-- +goose Up
CREATE TABLE window_logs (
	cluster     TEXT   NOT NULL,
	job_id      BIGINT NOT NULL,
	node        TEXT   NOT NULL,
	nonce       TEXT   NOT NULL, -- of the node's report
	world       TEXT   NOT NULL, -- the execution's key
	size        BIGINT NOT NULL, -- ranks of the execution
	ranks       BIGINT NOT NULL, -- … of these logs
	received_us BIGINT NOT NULL,
	tries       BIGINT NOT NULL DEFAULT 0, -- replays that began
	tried_us    BIGINT NOT NULL DEFAULT 0, -- when the last one did
	bytes       BIGINT NOT NULL, -- of body
	body        BLOB   NOT NULL, -- packed, as it came
	PRIMARY KEY (cluster, job_id, node, nonce)
);
CREATE INDEX window_logs_by_age ON window_logs (received_us, bytes);
