-- The sums of the jobs that ended on a day, as month_sums has those of a month. Totals of lists read them, see totals.go.
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
