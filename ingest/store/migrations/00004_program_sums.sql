-- Runs with figures by program, of the jobs that ended on a day, as Slurm says, see hours.go: so that a week's do not cost more as the
-- jobs of a week grow. Triggers keep them, as those of months.
CREATE TABLE program_sums (
	cluster    TEXT   NOT NULL,
	day        BIGINT NOT NULL, -- since 1970, UTC
	account    TEXT   NOT NULL,
	executable TEXT   NOT NULL,
	part       BIGINT NOT NULL, -- of PostgreSQL's lanes
	runs       BIGINT NOT NULL,
	used_us    BIGINT NOT NULL, -- core time inside the program
	judged_us  BIGINT NOT NULL, -- the part of it of which it is known whether it was lost
	lost_us    BIGINT NOT NULL,
	PRIMARY KEY (cluster, day, account, executable, part)
);

-- What an execution counts there. One counts at most 1e11 s, so that a sum of impossible ones stays a whole number. The end of a path has
-- the program's name, and fits an index.
CREATE VIEW ran AS
SELECT r.cluster, r.job_id, r.attempt, e.execution, r.end_us, r.day, r.account, r.part, e.count AS runs,
	substr(e.executable, CASE WHEN length(e.executable) > 255 THEN length(e.executable) - 254 ELSE 1 END) AS executable,
	CAST(ROUND(1e6 * CASE WHEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s * e.threads, 0) < 1e11 THEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s * e.threads, 0) ELSE 1e11 END) AS BIGINT) AS used_us,
	CAST(ROUND(1e6 * CASE WHEN NOT ((e.threads = 1 OR e.thread_span_s IS NOT NULL) AND e.coverage >= 1 AND r.as_of_us IS NULL) THEN 0
		WHEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s) < 1e11 THEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s) ELSE 1e11 END) AS BIGINT) AS judged_us,
	CAST(ROUND(1e6 * CASE WHEN NOT ((e.threads = 1 OR e.thread_span_s IS NOT NULL) AND e.coverage >= 1 AND r.as_of_us IS NULL) THEN 0
		WHEN COALESCE(e.thread_span_s - e.thread_useful_s, e.ranks * e.elapsed_s - e.useful_s) < 1e11 THEN COALESCE(e.thread_span_s - e.thread_useful_s, e.ranks * e.elapsed_s - e.useful_s) ELSE 1e11 END) AS BIGINT) AS lost_us
FROM counted r JOIN executions e ON e.cluster = r.cluster AND e.job_id = r.job_id AND e.attempt = r.attempt WHERE e.parallel_efficiency IS NOT NULL;

INSERT INTO program_sums SELECT cluster, day, account, executable, part, sum(runs), sum(used_us), sum(judged_us), sum(lost_us) FROM ran GROUP BY cluster, day, account, executable, part;

-- The arrays of some days by what they lost, from an index alone: most sums are of no array.
CREATE INDEX day_sums_of_arrays ON day_sums (cluster, day, uid, array_job_id, lost_us) WHERE array_job_id > 0;
