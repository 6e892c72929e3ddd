-- What jobs count in the sums of their month: all that have ended, as Slurm says. A loss is known of a job if every rank
-- was recorded up to its end and no thread was missed. It is not known of the further hardware threads of its cores.
CREATE VIEW counted AS
SELECT r.*,
	CASE WHEN judged = 1 THEN known_ms ELSE 0 END AS judged_ms,
	CASE WHEN judged = 1 AND known_ms > useful_ms THEN CAST(ROUND(known_ms - useful_ms) AS BIGINT) ELSE 0 END AS lost_ms
FROM (
	SELECT r.*,
		CAST(ROUND(1000 * CASE WHEN used_s > 1e12 THEN 1e12 WHEN used_s > 0 THEN used_s ELSE 0 END) AS BIGINT) AS used_ms,
		CAST(ROUND(1000 * CASE WHEN used_s - smt_s > 1e12 THEN 1e12 WHEN used_s > smt_s THEN used_s - smt_s ELSE 0 END) AS BIGINT) AS known_ms
	FROM (
		SELECT r.*, 1 AS jobs, job_id % 8 AS part,
			CASE WHEN parallel_efficiency IS NOT NULL THEN 1 ELSE 0 END AS measured,
			CASE WHEN parallel_efficiency IS NOT NULL AND coverage >= 1 AND alloc_cpus > 0 AND threaded = 0 AND as_of_us IS NULL THEN 1 ELSE 0 END AS judged,
			CAST(alloc_cpus AS DOUBLE PRECISION) * COALESCE(slurm_elapsed_s, (end_us - start_us) / 1000000.0) AS used_s,
			1000 * COALESCE(thread_useful_s, useful_s, 0) AS useful_ms,
			CASE WHEN end_us BETWEEN 0 AND 253402300799999999 -- the last moment of the year 9999
				THEN CAST(to_char(timestamp '1970-01-01' + end_us / 1000000 * interval '1 second', 'YYYYMM') AS BIGINT) ELSE 0 END AS month
		FROM attempts r WHERE slurm_submit_us IS NOT NULL AND end_us IS NOT NULL
	) r
) r;

-- What a row counted is taken away, and what it counts is added.
CREATE FUNCTION sum_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r    attempts;
	sign BIGINT := 1;
BEGIN
	IF TG_WHEN = 'BEFORE' THEN
		r := OLD;
		sign := -1;
	ELSE
		r := NEW;
	END IF;
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, sign * jobs, sign * measured, sign * used_ms, sign * judged_ms, sign * lost_ms
	FROM counted WHERE cluster = r.cluster AND job_id = r.job_id AND attempt = r.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_ms = month_sums.used_ms + excluded.used_ms,
		judged_ms = month_sums.judged_ms + excluded.judged_ms, lost_ms = month_sums.lost_ms + excluded.lost_ms;
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER attempts_change BEFORE DELETE OR UPDATE OF slurm_submit_us, slurm_start_us, slurm_end_us, slurm_elapsed_s, node_start_us, node_end_us, as_of_us,
	partition_name, account, user_name, alloc_cpus, threaded, parallel_efficiency, coverage, useful_s, thread_useful_s, rank_seconds, run_s, smt_most_s
	ON attempts FOR EACH ROW WHEN (OLD.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_attempt();
CREATE TRIGGER attempts_changed AFTER INSERT OR UPDATE OF slurm_submit_us, slurm_start_us, slurm_end_us, slurm_elapsed_s, node_start_us, node_end_us, as_of_us,
	partition_name, account, user_name, alloc_cpus, threaded, parallel_efficiency, coverage, useful_s, thread_useful_s, rank_seconds, run_s, smt_most_s
	ON attempts FOR EACH ROW WHEN (NEW.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_attempt();
