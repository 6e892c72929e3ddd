-- What stays of jobs that were pruned: a row per month, user, account and workload.
-- Every column beyond the key adds up.

-- +goose Up
CREATE TABLE rollup_months (
	cluster       TEXT   NOT NULL,
	month         BIGINT NOT NULL, -- 202611: in which the jobs ended, UTC
	uid           BIGINT NOT NULL,
	account       TEXT   NOT NULL,
	workload_key  TEXT   NOT NULL, -- of the job's largest execution; '': none
	user_name     TEXT   NOT NULL, -- the last known
	workload_name TEXT   NOT NULL,
	jobs          BIGINT NOT NULL, -- runs
	completed     BIGINT NOT NULL, -- … that sacct calls COMPLETED
	measured      BIGINT NOT NULL, -- … that have figures
	core_s        DOUBLE PRECISION NOT NULL, -- allocated CPUs x elapsed
	cpu_s         DOUBLE PRECISION NOT NULL, -- TotalCPU
	rank_s        DOUBLE PRECISION NOT NULL, -- sum of n E over executions
	useful_s      DOUBLE PRECISION NOT NULL,
	mpi_time_s    DOUBLE PRECISION NOT NULL,
	PRIMARY KEY (cluster, month, uid, account, workload_key)
);

-- 1: what was kept of each rank, and the reports' own text, are gone.
ALTER TABLE runs ADD COLUMN trimmed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_to_trim ON runs (start_us) WHERE trimmed = 0;
