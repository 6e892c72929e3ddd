-- The view has the columns that attempts had when it was made.
DROP VIEW counted;
CREATE VIEW counted AS
SELECT r.*, 1 AS jobs, job_id % 8 AS part, end_us / 86400000000 AS day,
	CASE WHEN parallel_efficiency IS NOT NULL THEN 1 ELSE 0 END AS measured,
	CASE WHEN end_us BETWEEN 0 AND 253402300799999999 -- the last moment of the year 9999
		THEN CAST(to_char(timestamp '1970-01-01' + end_us / 1000000 * interval '1 second', 'YYYYMM') AS BIGINT) ELSE 0 END AS month
FROM attempts r WHERE slurm_submit_us IS NOT NULL AND end_us IS NOT NULL;
