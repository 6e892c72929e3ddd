-- What stays of pruned jobs: a row per month, user, account and workload. All columns but
-- the key and the names add up.

-- +goose Up
CREATE TABLE rollup_months (
	cluster       TEXT   NOT NULL,
	month         BIGINT NOT NULL, -- 202611: when the jobs ended, UTC
	uid           BIGINT NOT NULL,
	account       TEXT   NOT NULL,
	workload_key  TEXT   NOT NULL, -- of the job's largest execution; '': none
	user_name     TEXT   NOT NULL, -- the last known
	workload_name TEXT   NOT NULL,
	jobs          BIGINT NOT NULL, -- attempts
	completed     BIGINT NOT NULL, -- … that sacct calls COMPLETED
	measured      BIGINT NOT NULL, -- … that have figures
	core_s        DOUBLE PRECISION NOT NULL, -- allocated CPUs x elapsed
	cpu_s         DOUBLE PRECISION NOT NULL, -- TotalCPU
	rank_s        DOUBLE PRECISION NOT NULL, -- sum of n E over executions
	useful_s      DOUBLE PRECISION NOT NULL,
	mpi_time_s    DOUBLE PRECISION NOT NULL,
	PRIMARY KEY (cluster, month, uid, account, workload_key)
);

-- 1: the figures of each rank and the text of the reports were dropped.
ALTER TABLE runs ADD COLUMN trimmed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_to_trim ON runs (start_us) WHERE trimmed = 0;
