-- Mails that were decided on, what users were told, and what a digest reads.

-- +goose Up
-- The key makes sure that each mail is decided once, by whichever daemon:
-- digest:DAY:ADDRESS, notice:DAY:CLUSTER:UID.
CREATE TABLE mails (
	mail_key   TEXT   NOT NULL PRIMARY KEY,
	message_id TEXT   NOT NULL,
	kind       TEXT   NOT NULL,
	cluster    TEXT   NOT NULL DEFAULT '',
	uid        BIGINT NOT NULL DEFAULT 0,
	shadow     BIGINT NOT NULL DEFAULT 0,
	decided_us BIGINT NOT NULL,
	next_us    BIGINT NOT NULL, -- not tried before
	lease_us   BIGINT NOT NULL DEFAULT 0, -- until then a daemon is sending it
	attempts   BIGINT NOT NULL DEFAULT 0, -- tries that failed
	sent_us    BIGINT,
	failed_us  BIGINT, -- given up
	error      TEXT   NOT NULL DEFAULT '', -- of the last try
	letter     BLOB   NOT NULL -- job.Letter, compressed JSON
);
CREATE INDEX mails_to_send ON mails (next_us) WHERE sent_us IS NULL AND failed_us IS NULL;

-- What users were told; written with the mail that tells it.
CREATE TABLE notices (
	cluster      TEXT   NOT NULL,
	uid          BIGINT NOT NULL,
	subject      TEXT   NOT NULL, -- what the cool-down counts
	at_us        BIGINT NOT NULL,
	mail_key     TEXT   NOT NULL, -- '': no mail, the user had muted it
	shadow       BIGINT NOT NULL,
	user_name    TEXT   NOT NULL,
	workload_key TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	rule         TEXT   NOT NULL,
	job          TEXT   NOT NULL,
	cores        BIGINT NOT NULL,
	advised      BIGINT NOT NULL, -- cores; 0: no advice
	jobs         BIGINT NOT NULL,
	lost_h       DOUBLE PRECISION NOT NULL,
	useful_s     DOUBLE PRECISION NOT NULL, -- median of the runs that the notice is about
	hours        DOUBLE PRECISION NOT NULL, -- core-hours of such a run, median
	cleared_us   BIGINT, -- when the user got the all-clear
	PRIMARY KEY (cluster, uid, subject, at_us)
);
CREATE INDEX notices_by_time ON notices (at_us);

ALTER TABLE workload_runs ADD COLUMN lineage TEXT NOT NULL DEFAULT ''; -- job.Lineage
CREATE INDEX workload_runs_by_lineage ON workload_runs (lineage, start_us);
CREATE INDEX workload_runs_by_start ON workload_runs (start_us);
CREATE INDEX runs_by_end ON runs (end_us);
CREATE INDEX reports_by_node ON reports (node, received_us);
