-- Every key begins with cluster and job, so a sharding engine can split on them; no statement of
-- the ingest path touches two jobs, but for the sums of their month. Times end in _us: microseconds since 1970, UTC. NULL is unknown.
-- SQLite and PostgreSQL read the same text; what each needs in its own words follows in sqlite/ and postgres/, under the same name.

CREATE TABLE clusters (
	cluster TEXT NOT NULL PRIMARY KEY
);

-- One attempt of one job. Columns node_… come from the nodes' reports, slurm_… from sacct. start_us
-- and end_us are sacct's if known, else the nodes'. While the job runs, node_end_us is when a node reported last.
CREATE TABLE attempts (
	cluster         TEXT   NOT NULL,
	job_id          BIGINT NOT NULL, -- raw id
	attempt         BIGINT NOT NULL, -- 1, 2 … in the order of arrival
	sender          TEXT   NOT NULL DEFAULT '', -- whose report opened it, and for which node it spoke; '': sacct did
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
	gpus            BIGINT NOT NULL DEFAULT 0,
	tres            TEXT   NOT NULL DEFAULT '', -- AllocTRES
	slurm_submit_us BIGINT,
	eligible_us     BIGINT, -- sacct's
	time_limit_s    BIGINT NOT NULL DEFAULT 0, -- 0: none, or not known
	slurm_start_us  BIGINT,
	slurm_end_us    BIGINT,
	slurm_elapsed_s BIGINT,
	usage_read      BIGINT NOT NULL DEFAULT 0, -- 1: sacct was asked for the next six
	total_cpu_us    BIGINT, -- sum over steps
	memory_b        BIGINT, -- most bytes that steps held at once
	memory_task_b   BIGINT, -- MaxRSS
	memory_alloc_b  BIGINT,
	part_of_nodes   BIGINT NOT NULL DEFAULT 0, -- 1: steps ran on some nodes only
	oom_steps       TEXT   NOT NULL DEFAULT '', -- that ran out of memory: "0,batch"
	node_start_us   BIGINT,
	node_end_us     BIGINT,
	start_us        BIGINT GENERATED ALWAYS AS (COALESCE(slurm_start_us, node_start_us)) STORED,
	as_of_us        BIGINT, -- of when the figures are of nodes that reported only while the job ran, the oldest; NULL: there are none
	end_us          BIGINT GENERATED ALWAYS AS (COALESCE(slurm_end_us, CASE WHEN as_of_us IS NULL THEN node_end_us END)) STORED,
	reports         BIGINT NOT NULL DEFAULT 0, -- nodes that reported
	changed_us      BIGINT NOT NULL, -- when a report came last
	unmerged        BIGINT NOT NULL DEFAULT 0, -- 0: the columns below are up to date; else when (us, or a little later) something came that they lack
	trimmed         BIGINT NOT NULL DEFAULT 0, -- 1: the figures of each rank and the text of the reports were dropped
	judged_by       BIGINT NOT NULL DEFAULT 0, -- the mark of the rules that judged it; negative: when (us) its figures were made, and no rules have judged them
	flags           TEXT   NOT NULL DEFAULT '', -- names of the rules that flag it, with a comma between; those in shadow are left out
	decision        TEXT   NOT NULL DEFAULT '',
	no_data         TEXT   NOT NULL DEFAULT '', -- why there are no figures, likewise; '': there are
	steps_json      TEXT   NOT NULL DEFAULT '[]',
	script_args     TEXT   NOT NULL DEFAULT '', -- hash of the batch script's arguments; '': none, or not known
	tasks           BIGINT NOT NULL DEFAULT 0, -- that its script was given, or that one of its steps had; 0: not known
	warnings_json   TEXT   NOT NULL DEFAULT '[]', -- codes and arguments; policy/doubt has the words
	cgroup_json     TEXT   NOT NULL DEFAULT '', -- job.Cgroup: what the kernel counted of its memory and CPU limits; '': not known
	threaded        BIGINT NOT NULL DEFAULT 0, -- 1: useful time does not speak of all its cores
	parallel_efficiency      DOUBLE PRECISION, -- of all threads where all_threads is known (METRICS 2), else of MPI; NULL: no data
	load_balance             DOUBLE PRECISION,
	communication_efficiency DOUBLE PRECISION,
	mpi_parallel_efficiency  DOUBLE PRECISION, -- METRICS 1, of MPI alone
	mpi_communication_efficiency DOUBLE PRECISION,
	load_balance_in          DOUBLE PRECISION, -- times load_balance_out: MPI's load balance
	load_balance_out         DOUBLE PRECISION,
	elapsed_s                DOUBLE PRECISION, -- sum of E over executions
	useful_s                 DOUBLE PRECISION,
	mpi_time_s               DOUBLE PRECISION,
	io_time_s                DOUBLE PRECISION, -- in MPI_File_*, sum over ranks
	wait_time_s              DOUBLE PRECISION, -- part of mpi_time_s, in calls that only wait
	rank_seconds             DOUBLE PRECISION, -- sum of n E over executions
	used_us                  BIGINT, -- core time, alloc_cpus x elapsed; of a job that runs so far
	judged_us                BIGINT, -- the part of it of which package policy knows whether it was lost; NULL: none, or not worked out yet
	lost_us                  BIGINT, -- the part of that which was lost (METRICS 6); known where judged_us is
	ranks                    BIGINT,
	metric_nodes             BIGINT,
	coverage                 DOUBLE PRECISION,
	all_threads     BIGINT, -- of all ranks; of several executions the most that one had; NULL where no rank has several, or what they did is not known
	thread_useful_s DOUBLE PRECISION,
	thread_mpi_s    DOUBLE PRECISION,
	thread_io_s     DOUBLE PRECISION,
	imbalance_s     DOUBLE PRECISION, -- waiting in barriers, for tasks and at the ends of regions
	scheduling_s    DOUBLE PRECISION, -- with waiting for locks
	serial_s        DOUBLE PRECISION, -- outside of regions, while another thread of the rank computed
	PRIMARY KEY (cluster, job_id, attempt)
);
CREATE INDEX attempts_by_end ON attempts (end_us);
CREATE INDEX attempts_by_array ON attempts (cluster, array_job_id, array_task_id) WHERE array_job_id > 0;
CREATE INDEX attempts_by_het ON attempts (cluster, het_job_id) WHERE het_job_id > 0;
CREATE INDEX attempts_to_merge ON attempts (changed_us) WHERE unmerged > 0;
CREATE INDEX attempts_to_ask ON attempts (changed_us) WHERE slurm_end_us IS NULL;
CREATE INDEX attempts_to_weigh ON attempts (slurm_end_us) WHERE usage_read = 0 AND slurm_end_us IS NOT NULL;
CREATE INDEX attempts_to_judge ON attempts (judged_by, start_us DESC);
CREATE INDEX attempts_to_trim ON attempts (start_us) WHERE trimmed = 0;
-- By length, in classes (list.go), and start: finds those that ran at a moment of the past, wherever that lies.
CREATE INDEX attempts_by_length ON attempts ((CASE WHEN end_us IS NULL THEN 7 WHEN end_us - start_us < 3600000000 THEN 0 WHEN end_us - start_us < 14400000000 THEN 1
	WHEN end_us - start_us < 57600000000 THEN 2 WHEN end_us - start_us < 230400000000 THEN 3 WHEN end_us - start_us < 921600000000 THEN 4
	WHEN end_us - start_us < 3686400000000 THEN 5 ELSE 6 END), start_us);

-- The sums, see months.go.
CREATE TABLE month_sums (
	cluster        TEXT   NOT NULL,
	month          BIGINT NOT NULL, -- 202611, UTC; 0: of an end that no calendar has
	partition_name TEXT   NOT NULL,
	account        TEXT   NOT NULL,
	uid            BIGINT NOT NULL,
	user_name      TEXT   NOT NULL,
	part           BIGINT NOT NULL, -- of PostgreSQL's lanes; -1 - part: of dropped jobs
	jobs           BIGINT NOT NULL,
	measured       BIGINT NOT NULL, -- … that have figures
	used_us        BIGINT NOT NULL,
	judged_us      BIGINT NOT NULL,
	lost_us        BIGINT NOT NULL,
	PRIMARY KEY (cluster, month, partition_name, account, uid, user_name, part)
);

-- The same of the jobs that ended on a day. Totals of lists read them, see totals.go.
CREATE TABLE day_sums (
	cluster        TEXT   NOT NULL,
	day            BIGINT NOT NULL, -- since 1970, UTC
	partition_name TEXT   NOT NULL,
	account        TEXT   NOT NULL,
	uid            BIGINT NOT NULL,
	array_job_id   BIGINT NOT NULL, -- 0: of all that are of no array
	part           BIGINT NOT NULL, -- of PostgreSQL's lanes
	jobs           BIGINT NOT NULL,
	measured       BIGINT NOT NULL,
	used_us        BIGINT NOT NULL,
	judged_us      BIGINT NOT NULL,
	lost_us        BIGINT NOT NULL,
	PRIMARY KEY (cluster, day, partition_name, account, uid, array_job_id, part)
);

-- Nodes' reports as they came. The key makes a report count once.
CREATE TABLE reports (
	cluster     TEXT   NOT NULL,
	job_id      BIGINT NOT NULL,
	node        TEXT   NOT NULL,
	nonce       TEXT   NOT NULL, -- the node's own, 32 hex digits
	sequence    BIGINT NOT NULL, -- a higher one has replaced the lower ones
	attempt     BIGINT NOT NULL, -- negative: set aside, as that attempt did not have the node
	received_us BIGINT NOT NULL,
	still_json  TEXT   NOT NULL DEFAULT '', -- hang.Still, what it and those before it say; '': it is no interim report
	body        BYTEA  NOT NULL, -- job.NodeReport, compressed JSON; empty: trimmed
	PRIMARY KEY (cluster, job_id, node, nonce)
);

-- What jobeffd's replay told of an execution on several nodes. It is merged with the report of
-- rank 0's node.
CREATE TABLE windows (
	cluster      TEXT   NOT NULL,
	job_id       BIGINT NOT NULL,
	node         TEXT   NOT NULL, -- of rank 0
	nonce        TEXT   NOT NULL, -- of its report
	world        TEXT   NOT NULL, -- the execution's key
	start_us     BIGINT NOT NULL, -- of the execution on this node
	windows_json TEXT   NOT NULL, -- job.Windows
	PRIMARY KEY (cluster, job_id, node, nonce, world, start_us)
);

CREATE TABLE executions (
	cluster     TEXT   NOT NULL,
	job_id      BIGINT NOT NULL,
	attempt     BIGINT NOT NULL,
	execution   BIGINT NOT NULL, -- 0, 1 … by start
	key         TEXT   NOT NULL,
	key_from    TEXT   NOT NULL,
	size        BIGINT NOT NULL,
	start_us    BIGINT,
	end_us      BIGINT,
	mpi         TEXT   NOT NULL DEFAULT '',
	executable  TEXT   NOT NULL DEFAULT '',
	build_id    TEXT   NOT NULL DEFAULT '',
	count       BIGINT NOT NULL, -- how many it stands for: folded rows stand for many
	threads     BIGINT NOT NULL, -- of each rank
	parallel_efficiency      DOUBLE PRECISION, -- these as in attempts
	load_balance             DOUBLE PRECISION,
	communication_efficiency DOUBLE PRECISION,
	mpi_parallel_efficiency  DOUBLE PRECISION,
	mpi_communication_efficiency DOUBLE PRECISION,
	load_balance_in          DOUBLE PRECISION,
	load_balance_out         DOUBLE PRECISION,
	elapsed_s                DOUBLE PRECISION,
	useful_s                 DOUBLE PRECISION,
	mpi_time_s               DOUBLE PRECISION,
	io_time_s                DOUBLE PRECISION,
	wait_time_s              DOUBLE PRECISION,
	ranks                    BIGINT,
	nodes                    BIGINT,
	coverage                 DOUBLE PRECISION,
	all_threads     BIGINT,
	thread_span_s   DOUBLE PRECISION, -- threads times elapsed; of an attempt it is rank_seconds
	thread_useful_s DOUBLE PRECISION,
	thread_mpi_s    DOUBLE PRECISION,
	thread_io_s     DOUBLE PRECISION,
	imbalance_s     DOUBLE PRECISION,
	scheduling_s    DOUBLE PRECISION,
	serial_s        DOUBLE PRECISION,
	detail      BYTEA  NOT NULL, -- job.Execution, compressed JSON
	PRIMARY KEY (cluster, job_id, attempt, execution)
);

-- Runs by workload, so that a curve is read without unpacking executions.detail. They are the
-- executions of attempts that Slurm has confirmed, but for folded and costly ones.
CREATE TABLE workload_runs (
	cluster         TEXT   NOT NULL,
	job_id          BIGINT NOT NULL,
	attempt         BIGINT NOT NULL,
	execution       BIGINT NOT NULL, -- as in executions
	uid             BIGINT NOT NULL, -- as the nodes say; part of the key
	workload_key    TEXT   NOT NULL, -- job.WorkloadKey
	workload_name   TEXT   NOT NULL, -- job.WorkloadName
	lineage         TEXT   NOT NULL, -- job.Lineage
	start_us        BIGINT NOT NULL,
	ranks           BIGINT NOT NULL, -- size of the world
	threads         BIGINT NOT NULL,
	cores           BIGINT NOT NULL, -- ranks x threads
	nodes           BIGINT NOT NULL,
	ended           BIGINT NOT NULL, -- 1: every rank reached MPI_Finalize
	coverage        DOUBLE PRECISION NOT NULL,
	elapsed_s       DOUBLE PRECISION NOT NULL, -- E
	useful_s        DOUBLE PRECISION NOT NULL, -- sum over ranks
	mpi_time_s      DOUBLE PRECISION NOT NULL, -- sum over ranks
	collectives     DOUBLE PRECISION NOT NULL, -- calls per rank
	used_core_hours DOUBLE PRECISION NOT NULL, -- cores x elapsed; 0: its times cannot be
	lost_core_hours DOUBLE PRECISION NOT NULL, -- of these not useful; -1: not known
	executable      TEXT   NOT NULL,
	build_id        TEXT   NOT NULL, -- or the file's hash
	input_note      TEXT   NOT NULL, -- why the input is not known
	sections_json   TEXT   NOT NULL, -- list of job.RunSection
	counters_json   TEXT   NOT NULL, -- job.Counters or null
	conditions_json TEXT   NOT NULL, -- machine, CPU time, run-queue wait, threads
	PRIMARY KEY (cluster, job_id, attempt, execution)
);
CREATE INDEX workload_runs_by_key ON workload_runs (workload_key, start_us, job_id, attempt, execution);
CREATE INDEX workload_runs_by_name ON workload_runs (workload_name, uid, workload_key);
CREATE INDEX workload_runs_by_user ON workload_runs (uid, start_us);
CREATE INDEX workload_runs_by_lineage ON workload_runs (lineage, start_us);
-- A week's runs by lineage, and by workload and cores, from an index alone.
CREATE INDEX workload_runs_by_start ON workload_runs (start_us, lineage, ended, used_core_hours, workload_key, cores, lost_core_hours);
-- The newest runs of each core count make a curve; the sums are of all runs.
CREATE INDEX workload_runs_by_cores ON workload_runs (workload_key, cores, start_us, job_id, attempt, execution, used_core_hours, lost_core_hours);

-- Logs of windows of executions on several nodes, each a row of one node, until jobeffd has replayed
-- them.
CREATE TABLE window_logs (
	cluster     TEXT   NOT NULL,
	job_id      BIGINT NOT NULL,
	node        TEXT   NOT NULL,
	nonce       TEXT   NOT NULL, -- of the node's report
	world       TEXT   NOT NULL, -- the execution's key
	uid         BIGINT NOT NULL, -- of the job
	sender      TEXT   NOT NULL, -- whose part of the room they take; '': nobody's, they came through this machine's socket
	size        BIGINT NOT NULL, -- ranks of the execution
	ranks       BIGINT NOT NULL, -- … of these logs
	entries     BIGINT NOT NULL, -- … of these logs
	start_us    BIGINT NOT NULL, -- of the execution on this node
	received_us BIGINT NOT NULL,
	tries       BIGINT NOT NULL DEFAULT 0, -- replays that began
	tried_us    BIGINT NOT NULL DEFAULT 0, -- when the last one did
	bytes       BIGINT NOT NULL, -- of body
	body        BYTEA  NOT NULL, -- packed, as it came
	PRIMARY KEY (cluster, job_id, node, nonce)
);
CREATE INDEX window_logs_by_age ON window_logs (received_us, uid, sender, node, bytes);

-- What stays of pruned jobs: a row per month, user, account and workload. All columns but the key
-- and the names add up.
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

-- What jobeff-overhead measured: a curve for each cluster, partition, MPI and direction. The newest
-- counts; the older ones show what an upgrade changed.
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

-- Mails that were decided on. The key makes sure that each is decided once, by whichever daemon:
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
	letter     BYTEA  NOT NULL -- notice.Letter, compressed JSON
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
	cleared_us   BIGINT, -- when the user got the all-clear
	running      BIGINT NOT NULL DEFAULT 0, -- 1: of a job that ran; it counts for no cool-down
	wrong_us     BIGINT, -- when somebody who got it said that it was wrong
	wrong_by     BIGINT NOT NULL DEFAULT 0, -- their uid
	wrong        TEXT   NOT NULL DEFAULT '', -- in their words
	PRIMARY KEY (cluster, uid, subject, at_us)
);
CREATE INDEX notices_by_time ON notices (at_us);
CREATE INDEX notices_by_job ON notices (job, rule);
CREATE INDEX notices_wrong ON notices (wrong_us) WHERE wrong_us IS NOT NULL;

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

-- When each node reported last, and what it said of its outbox.
CREATE TABLE nodes (
	node      TEXT   NOT NULL PRIMARY KEY,
	heard_us  BIGINT NOT NULL,
	outbox_us BIGINT NOT NULL DEFAULT 0, -- when the node said the columns below; 0: never
	waiting   BIGINT NOT NULL DEFAULT 0,
	oldest_us BIGINT NOT NULL DEFAULT 0,
	refused   BIGINT NOT NULL DEFAULT 0,
	cut       BIGINT NOT NULL DEFAULT 0,
	lost      BIGINT NOT NULL DEFAULT 0
);

-- What Slurm gives the jobs of a cluster, read by the process that asks it, for every process that answers people.
CREATE TABLE rooms (
	cluster    TEXT   NOT NULL PRIMARY KEY,
	read_us    BIGINT NOT NULL,
	rooms_json TEXT   NOT NULL -- slurm.Rooms
);

-- What Slurm grants, read by the process that asks it, for every process that answers people.
CREATE TABLE grants (
	uid     BIGINT NOT NULL, -- -1: everybody
	account TEXT   NOT NULL, -- whose jobs a coordinator sees; '': all jobs
	PRIMARY KEY (uid, account)
);

-- Lines of Slurm's queue as it was at the last look: what waits. Each look changes what differs from it. No job of
-- these has an attempt, so nothing that measures, matches or sums up reads this.
CREATE TABLE pending (
	cluster        TEXT   NOT NULL,
	job_id         BIGINT NOT NULL, -- raw id
	head_id        BIGINT NOT NULL, -- of its array or het job, else its own
	id             TEXT   NOT NULL, -- as people write it
	uid            BIGINT NOT NULL,
	account        TEXT   NOT NULL,
	partition_name TEXT   NOT NULL, -- those that it may start in, with commas
	qos            TEXT   NOT NULL,
	name           TEXT   NOT NULL,
	cpus           BIGINT NOT NULL,
	submit_us      BIGINT NOT NULL,
	line_json      TEXT   NOT NULL, -- slurmid.Pending
	PRIMARY KEY (cluster, job_id)
);
CREATE INDEX pending_by_user ON pending (uid, submit_us);
CREATE INDEX pending_by_job ON pending (job_id);
CREATE INDEX pending_by_head ON pending (head_id);

CREATE TABLE pending_looks (
	cluster   TEXT   NOT NULL PRIMARY KEY,
	looked_us BIGINT NOT NULL,
	until_us  BIGINT NOT NULL, -- after it the lines are too old to be told
	left_out  BIGINT NOT NULL  -- lines of the queue that are not kept
);

-- Alarms that measured jobs end worse. One of a kind may be up.
CREATE TABLE alarms (
	kind       TEXT   NOT NULL,
	at_us      BIGINT NOT NULL,
	cleared_us BIGINT, -- when an operator looked; NULL: it is up
	alarm_json TEXT   NOT NULL, -- harm.Alarm
	PRIMARY KEY (kind, at_us)
);
CREATE UNIQUE INDEX alarms_up ON alarms (kind) WHERE cleared_us IS NULL;

-- What could be seen by now of a harm, in its one row.
CREATE TABLE comparison (
	id              BIGINT NOT NULL PRIMARY KEY, -- 1
	comparison_json TEXT   NOT NULL -- harm.Comparison
);

-- Facts about the database: when it began, how far sacct was read, which rules judge.
CREATE TABLE marks (
	name    TEXT   NOT NULL PRIMARY KEY,
	time_us BIGINT NOT NULL
);
INSERT INTO marks (name, time_us) VALUES ('merge', 0); -- held by the daemon that merges
