-- The views have the columns that attempts had when they were made.
DROP VIEW ran;
DROP VIEW counted;
CREATE VIEW counted AS
SELECT r.*, 1 AS jobs, job_id % 8 AS part, end_us / 86400000000 AS day,
	CASE WHEN parallel_efficiency IS NOT NULL THEN 1 ELSE 0 END AS measured,
	CASE WHEN end_us BETWEEN 0 AND 253402300799999999 -- the last moment of the year 9999
		THEN CAST(to_char(timestamp '1970-01-01' + end_us / 1000000 * interval '1 second', 'YYYYMM') AS BIGINT) ELSE 0 END AS month
FROM attempts r WHERE slurm_submit_us IS NOT NULL AND end_us IS NOT NULL;
CREATE VIEW ran AS
SELECT r.cluster, r.job_id, r.attempt, e.execution, r.end_us, r.day, r.account, r.part, e.count AS runs,
	substr(e.executable, CASE WHEN length(e.executable) > 255 THEN length(e.executable) - 254 ELSE 1 END) AS executable,
	CAST(ROUND(1e6 * CASE WHEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s * e.threads, 0) < 1e11 THEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s * e.threads, 0) ELSE 1e11 END) AS BIGINT) AS used_us,
	CAST(ROUND(1e6 * CASE WHEN NOT ((e.threads = 1 OR e.thread_span_s IS NOT NULL) AND e.coverage >= 1 AND r.as_of_us IS NULL) THEN 0
		WHEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s) < 1e11 THEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s) ELSE 1e11 END) AS BIGINT) AS judged_us,
	CAST(ROUND(1e6 * CASE WHEN NOT ((e.threads = 1 OR e.thread_span_s IS NOT NULL) AND e.coverage >= 1 AND r.as_of_us IS NULL) THEN 0
		WHEN COALESCE(e.thread_span_s - e.thread_useful_s, e.ranks * e.elapsed_s - e.useful_s) < 1e11 THEN COALESCE(e.thread_span_s - e.thread_useful_s, e.ranks * e.elapsed_s - e.useful_s) ELSE 1e11 END) AS BIGINT) AS lost_us
FROM counted r JOIN executions e ON e.cluster = r.cluster AND e.job_id = r.job_id AND e.attempt = r.attempt WHERE e.parallel_efficiency IS NOT NULL;

-- The sums of months and days, with GPU time.
DROP TRIGGER attempts_change ON attempts;
DROP TRIGGER attempts_changed ON attempts;
CREATE OR REPLACE FUNCTION sum_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r    attempts;
	sign BIGINT := 1;
	same BOOLEAN := false;
BEGIN
	IF TG_OP = 'UPDATE' THEN
		same := OLD.slurm_submit_us IS NOT NULL AND NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS NOT DISTINCT FROM OLD.slurm_end_us
		AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS NOT DISTINCT FROM OLD.node_end_us AND NEW.as_of_us IS NOT DISTINCT FROM OLD.as_of_us)
		AND NEW.array_job_id = OLD.array_job_id AND NEW.partition_name = OLD.partition_name AND NEW.account = OLD.account AND NEW.user_name = OLD.user_name;
	END IF;
	IF same THEN
		IF TG_WHEN = 'AFTER' AND NEW.end_us IS NOT NULL THEN
			UPDATE month_sums SET measured = measured + (NEW.parallel_efficiency IS NOT NULL)::INT - (OLD.parallel_efficiency IS NOT NULL)::INT,
				used_us = used_us + COALESCE(NEW.used_us, 0) - COALESCE(OLD.used_us, 0), judged_us = judged_us + COALESCE(NEW.judged_us, 0) - COALESCE(OLD.judged_us, 0),
				lost_us = lost_us + COALESCE(NEW.lost_us, 0) - COALESCE(OLD.lost_us, 0), gpu_us = gpu_us + NEW.gpu_us - OLD.gpu_us,
				gpu_known_us = gpu_known_us + NEW.gpu_known_us - OLD.gpu_known_us, gpu_idle_us = gpu_idle_us + NEW.gpu_idle_us - OLD.gpu_idle_us
			WHERE cluster = NEW.cluster AND month = CASE WHEN NEW.end_us BETWEEN 0 AND 253402300799999999 THEN CAST(to_char(timestamp '1970-01-01' + NEW.end_us / 1000000 * interval '1 second', 'YYYYMM') AS BIGINT) ELSE 0 END
				AND partition_name = NEW.partition_name AND account = NEW.account AND uid = NEW.uid AND user_name = NEW.user_name AND part = NEW.job_id % 8;
			UPDATE day_sums SET measured = measured + (NEW.parallel_efficiency IS NOT NULL)::INT - (OLD.parallel_efficiency IS NOT NULL)::INT,
				used_us = used_us + COALESCE(NEW.used_us, 0) - COALESCE(OLD.used_us, 0), judged_us = judged_us + COALESCE(NEW.judged_us, 0) - COALESCE(OLD.judged_us, 0),
				lost_us = lost_us + COALESCE(NEW.lost_us, 0) - COALESCE(OLD.lost_us, 0), gpu_us = gpu_us + NEW.gpu_us - OLD.gpu_us,
				gpu_known_us = gpu_known_us + NEW.gpu_known_us - OLD.gpu_known_us, gpu_idle_us = gpu_idle_us + NEW.gpu_idle_us - OLD.gpu_idle_us
			WHERE cluster = NEW.cluster AND day = NEW.end_us / 86400000000
				AND partition_name = NEW.partition_name AND account = NEW.account AND uid = NEW.uid AND array_job_id = NEW.array_job_id AND part = NEW.job_id % 8;
		END IF;
		RETURN NEW;
	END IF;
	IF TG_WHEN = 'BEFORE' THEN
		r := OLD;
		sign := -1;
	ELSE
		r := NEW;
	END IF;
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, sign * jobs, sign * measured,
		sign * COALESCE(used_us, 0), sign * COALESCE(judged_us, 0), sign * COALESCE(lost_us, 0),
		sign * gpu_us, sign * gpu_known_us, sign * gpu_idle_us
	FROM counted WHERE cluster = r.cluster AND job_id = r.job_id AND attempt = r.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us,
		gpu_us = month_sums.gpu_us + excluded.gpu_us, gpu_known_us = month_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = month_sums.gpu_idle_us + excluded.gpu_idle_us;
	INSERT INTO day_sums SELECT cluster, day, partition_name, account, uid, array_job_id, part, sign * jobs, sign * measured,
		sign * COALESCE(used_us, 0), sign * COALESCE(judged_us, 0), sign * COALESCE(lost_us, 0),
		sign * gpu_us, sign * gpu_known_us, sign * gpu_idle_us
	FROM counted WHERE cluster = r.cluster AND job_id = r.job_id AND attempt = r.attempt
	ON CONFLICT (cluster, day, partition_name, account, uid, array_job_id, part) DO UPDATE SET jobs = day_sums.jobs + excluded.jobs,
		measured = day_sums.measured + excluded.measured, used_us = day_sums.used_us + excluded.used_us,
		judged_us = day_sums.judged_us + excluded.judged_us, lost_us = day_sums.lost_us + excluded.lost_us,
		gpu_us = day_sums.gpu_us + excluded.gpu_us, gpu_known_us = day_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = day_sums.gpu_idle_us + excluded.gpu_idle_us;
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER attempts_change BEFORE DELETE OR UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, array_job_id, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us
	ON attempts FOR EACH ROW WHEN (OLD.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_attempt();
CREATE TRIGGER attempts_changed AFTER INSERT OR UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, array_job_id, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us
	ON attempts FOR EACH ROW WHEN (NEW.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_attempt();

-- The GPU time of jobs that are there, from their core time: of one that was resized as if it had a part of its GPUs with each core.
UPDATE attempts SET gpu_us = used_us / alloc_cpus * gpus WHERE gpus > 0 AND alloc_cpus > 0 AND used_us > 0 AND used_us / alloc_cpus < 1000000000000000000 / gpus;
