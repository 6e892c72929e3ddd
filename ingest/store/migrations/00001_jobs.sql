-- The first schema. Every key begins with cluster and job, so a sharding engine can split on
-- them; no statement of the ingest path touches two jobs. Times end in _us: microseconds
-- since 1970, UTC. NULL is unknown.

-- +goose Up
CREATE TABLE clusters (
	cluster TEXT NOT NULL PRIMARY KEY
);

-- One attempt of one job (called run up to migration 9). Columns node_… come from the nodes'
-- reports, slurm_… from sacct. start_us and end_us are sacct's if known, else the nodes'.
CREATE TABLE runs (
	cluster         TEXT   NOT NULL,
	job_id          BIGINT NOT NULL, -- raw id
	run             BIGINT NOT NULL, -- 1, 2 … in the order of arrival
	array_job_id    BIGINT NOT NULL DEFAULT 0,
	array_task_id   BIGINT,
	het_job_id      BIGINT NOT NULL DEFAULT 0,
	het_offset      BIGINT,
	sluid           TEXT   NOT NULL DEFAULT '',
	uid             BIGINT NOT NULL,
	user_name       TEXT   NOT NULL DEFAULT '',
	account         TEXT   NOT NULL DEFAULT '',
	partition_name  TEXT   NOT NULL DEFAULT '',
	qos             TEXT   NOT NULL DEFAULT '',
	name            TEXT   NOT NULL DEFAULT '',
	state           TEXT   NOT NULL DEFAULT '', -- '': not known yet
	cancelled_by    BIGINT,
	exit_code       TEXT   NOT NULL DEFAULT '',
	nodelist        TEXT   NOT NULL DEFAULT '',
	nodes           BIGINT NOT NULL DEFAULT 0,
	alloc_cpus      BIGINT NOT NULL DEFAULT 0,
	slurm_submit_us BIGINT,
	slurm_start_us  BIGINT,
	slurm_end_us    BIGINT,
	slurm_elapsed_s BIGINT,
	node_start_us   BIGINT,
	node_end_us     BIGINT,
	start_us        BIGINT GENERATED ALWAYS AS (COALESCE(slurm_start_us, node_start_us)) STORED,
	end_us          BIGINT GENERATED ALWAYS AS (COALESCE(slurm_end_us, node_end_us)) STORED,
	reports         BIGINT NOT NULL DEFAULT 0, -- nodes that reported
	merged          BIGINT NOT NULL DEFAULT 0, -- reports that the columns below include
	changed_us      BIGINT NOT NULL,
	decision        TEXT   NOT NULL DEFAULT '',
	no_data         TEXT   NOT NULL DEFAULT '',
	steps_json      TEXT   NOT NULL DEFAULT '[]',
	warnings_json   TEXT   NOT NULL DEFAULT '[]',
	parallel_efficiency      DOUBLE PRECISION, -- METRICS 1; NULL: no data
	load_balance             DOUBLE PRECISION,
	load_balance_in          DOUBLE PRECISION,
	load_balance_out         DOUBLE PRECISION,
	communication_efficiency DOUBLE PRECISION,
	elapsed_s                DOUBLE PRECISION, -- sum of E over executions
	useful_s                 DOUBLE PRECISION,
	mpi_time_s               DOUBLE PRECISION,
	rank_seconds             DOUBLE PRECISION, -- sum of n E over executions
	ranks                    BIGINT,
	metric_nodes             BIGINT,
	coverage                 DOUBLE PRECISION,
	PRIMARY KEY (cluster, job_id, run)
);
CREATE INDEX runs_by_user ON runs (uid, start_us);
CREATE INDEX runs_by_start ON runs (start_us);
CREATE INDEX runs_by_array ON runs (cluster, array_job_id, array_task_id) WHERE array_job_id > 0;
CREATE INDEX runs_by_het ON runs (cluster, het_job_id) WHERE het_job_id > 0;
CREATE INDEX runs_to_merge ON runs (changed_us) WHERE merged < reports;
CREATE INDEX runs_to_ask ON runs (changed_us) WHERE slurm_end_us IS NULL;

-- Nodes' reports as they came. The key makes a report count once; merges read the body.
CREATE TABLE reports (
	cluster     TEXT   NOT NULL,
	job_id      BIGINT NOT NULL,
	node        TEXT   NOT NULL,
	run_id      TEXT   NOT NULL, -- the nonce, 32 hex digits
	run         BIGINT NOT NULL,
	received_us BIGINT NOT NULL,
	body        BLOB   NOT NULL, -- job.NodeReport, compressed JSON
	PRIMARY KEY (cluster, job_id, node, run_id)
);
CREATE INDEX reports_by_run ON reports (cluster, job_id, run);

CREATE TABLE executions (
	cluster     TEXT   NOT NULL,
	job_id      BIGINT NOT NULL,
	run         BIGINT NOT NULL,
	execution   BIGINT NOT NULL, -- 0, 1 … by start
	key         TEXT   NOT NULL,
	key_from    TEXT   NOT NULL,
	size        BIGINT NOT NULL,
	start_us    BIGINT,
	end_us      BIGINT,
	mpi         TEXT   NOT NULL DEFAULT '',
	executable  TEXT   NOT NULL DEFAULT '',
	build_id    TEXT   NOT NULL DEFAULT '',
	parallel_efficiency      DOUBLE PRECISION,
	load_balance             DOUBLE PRECISION,
	load_balance_in          DOUBLE PRECISION,
	load_balance_out         DOUBLE PRECISION,
	communication_efficiency DOUBLE PRECISION,
	elapsed_s                DOUBLE PRECISION,
	useful_s                 DOUBLE PRECISION,
	mpi_time_s               DOUBLE PRECISION,
	ranks                    BIGINT,
	nodes                    BIGINT,
	coverage                 DOUBLE PRECISION,
	detail      BLOB   NOT NULL, -- job.Execution, compressed JSON
	PRIMARY KEY (cluster, job_id, run, execution)
);

CREATE TABLE calls (
	cluster   TEXT   NOT NULL,
	job_id    BIGINT NOT NULL,
	run       BIGINT NOT NULL,
	execution BIGINT NOT NULL,
	name      TEXT   NOT NULL, -- MPI's C name
	count     BIGINT NOT NULL,
	time_ns   BIGINT NOT NULL, -- sum over ranks
	sent      BIGINT NOT NULL, -- bytes
	received  BIGINT NOT NULL,
	largest   BIGINT NOT NULL,
	PRIMARY KEY (cluster, job_id, run, execution, name)
);

-- Facts about the database: when it began, how far sacct was read.
CREATE TABLE marks (
	name    TEXT   NOT NULL PRIMARY KEY,
	time_us BIGINT NOT NULL
);
