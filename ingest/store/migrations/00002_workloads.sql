-- Runs by workload, so that a curve is read without unpacking executions.detail. Older
-- executions have no row: their arguments were not recorded, so their workload is unknown
-- (job.WorkloadKey).

-- +goose Up
CREATE TABLE workload_runs (
	cluster       TEXT   NOT NULL,
	job_id        BIGINT NOT NULL,
	run           BIGINT NOT NULL,
	execution     BIGINT NOT NULL, -- as in executions
	uid           BIGINT NOT NULL, -- as the nodes say; part of the key
	workload_key  TEXT   NOT NULL, -- job.WorkloadKey
	workload_name TEXT   NOT NULL, -- job.WorkloadName
	start_us      BIGINT NOT NULL,
	ranks         BIGINT NOT NULL, -- size of the world
	threads       BIGINT NOT NULL,
	cores         BIGINT NOT NULL, -- ranks x threads
	nodes         BIGINT NOT NULL,
	ended         BIGINT NOT NULL, -- 1: every rank reached MPI_Finalize
	coverage      DOUBLE PRECISION NOT NULL,
	elapsed_s     DOUBLE PRECISION NOT NULL, -- E
	useful_s      DOUBLE PRECISION NOT NULL, -- sum over ranks
	mpi_time_s    DOUBLE PRECISION NOT NULL, -- sum over ranks
	collectives   DOUBLE PRECISION NOT NULL, -- calls per rank
	executable    TEXT   NOT NULL,
	build_id      TEXT   NOT NULL, -- or the file's hash
	input_note    TEXT   NOT NULL, -- why the input is not known
	sections_json TEXT   NOT NULL, -- list of job.RunSection
	counters_json TEXT   NOT NULL, -- job.Counters or null
	PRIMARY KEY (cluster, job_id, run, execution)
);
CREATE INDEX workload_runs_by_key ON workload_runs (workload_key, start_us);
CREATE INDEX workload_runs_by_name ON workload_runs (workload_name, uid, workload_key);
CREATE INDEX workload_runs_by_user ON workload_runs (uid, start_us);

-- Workloads whose owners want no more notices.
CREATE TABLE mutes (
	cluster      TEXT   NOT NULL,
	uid          BIGINT NOT NULL,
	workload_key TEXT   NOT NULL,
	since_us     BIGINT NOT NULL,
	until_us     BIGINT NOT NULL,
	reason       TEXT   NOT NULL, -- the user's words
	PRIMARY KEY (cluster, uid, workload_key)
);
