-- What jobs count in the sums of their month, see months.go: all that have ended, as Slurm says.
CREATE VIEW counted AS
SELECT r.*, 1 AS jobs, job_id % 8 AS part,
	CASE WHEN parallel_efficiency IS NOT NULL THEN 1 ELSE 0 END AS measured,
	CASE WHEN end_us BETWEEN 0 AND 253402300799999999 -- the last moment of the year 9999
		THEN CAST(to_char(timestamp '1970-01-01' + end_us / 1000000 * interval '1 second', 'YYYYMM') AS BIGINT) ELSE 0 END AS month
FROM attempts r WHERE slurm_submit_us IS NOT NULL AND end_us IS NOT NULL;

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
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, sign * jobs, sign * measured,
		sign * COALESCE(used_us, 0), sign * COALESCE(judged_us, 0), sign * COALESCE(lost_us, 0)
	FROM counted WHERE cluster = r.cluster AND job_id = r.job_id AND attempt = r.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us;
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER attempts_change BEFORE DELETE OR UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us
	ON attempts FOR EACH ROW WHEN (OLD.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_attempt();
CREATE TRIGGER attempts_changed AFTER INSERT OR UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us
	ON attempts FOR EACH ROW WHEN (NEW.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_attempt();
