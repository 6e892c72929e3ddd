-- The triggers of months and days, with GPU time.
DROP TRIGGER attempts_open;
DROP TRIGGER attempts_drop;
DROP TRIGGER attempts_change;
DROP TRIGGER attempts_changed;
DROP TRIGGER attempts_differ;
-- What a row counted is taken away, and what it counts is added. A trigger of SQLite is for one kind of change.
CREATE TRIGGER attempts_open AFTER INSERT ON attempts WHEN NEW.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, jobs, measured,
		COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0), gpu_us, gpu_known_us, gpu_idle_us
	FROM counted WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us,
		gpu_us = month_sums.gpu_us + excluded.gpu_us, gpu_known_us = month_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = month_sums.gpu_idle_us + excluded.gpu_idle_us;
	INSERT INTO day_sums SELECT cluster, day, partition_name, account, uid, array_job_id, part, jobs, measured,
		COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0), gpu_us, gpu_known_us, gpu_idle_us
	FROM counted WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, day, partition_name, account, uid, array_job_id, part) DO UPDATE SET jobs = day_sums.jobs + excluded.jobs,
		measured = day_sums.measured + excluded.measured, used_us = day_sums.used_us + excluded.used_us,
		judged_us = day_sums.judged_us + excluded.judged_us, lost_us = day_sums.lost_us + excluded.lost_us,
		gpu_us = day_sums.gpu_us + excluded.gpu_us, gpu_known_us = day_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = day_sums.gpu_idle_us + excluded.gpu_idle_us;
END;
CREATE TRIGGER attempts_drop BEFORE DELETE ON attempts WHEN OLD.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, -jobs, -measured,
		-COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0),
		-gpu_us, -gpu_known_us, -gpu_idle_us
	FROM counted WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us,
		gpu_us = month_sums.gpu_us + excluded.gpu_us, gpu_known_us = month_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = month_sums.gpu_idle_us + excluded.gpu_idle_us;
	INSERT INTO day_sums SELECT cluster, day, partition_name, account, uid, array_job_id, part, -jobs, -measured,
		-COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0),
		-gpu_us, -gpu_known_us, -gpu_idle_us
	FROM counted WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, day, partition_name, account, uid, array_job_id, part) DO UPDATE SET jobs = day_sums.jobs + excluded.jobs,
		measured = day_sums.measured + excluded.measured, used_us = day_sums.used_us + excluded.used_us,
		judged_us = day_sums.judged_us + excluded.judged_us, lost_us = day_sums.lost_us + excluded.lost_us,
		gpu_us = day_sums.gpu_us + excluded.gpu_us, gpu_known_us = day_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = day_sums.gpu_idle_us + excluded.gpu_idle_us;
END;
CREATE TRIGGER attempts_change BEFORE UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, array_job_id, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us
	ON attempts WHEN OLD.slurm_submit_us IS NOT NULL AND NOT (NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS OLD.slurm_end_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS OLD.node_end_us AND NEW.as_of_us IS OLD.as_of_us)
	AND NEW.array_job_id = OLD.array_job_id AND NEW.partition_name = OLD.partition_name AND NEW.account = OLD.account AND NEW.user_name = OLD.user_name) BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, -jobs, -measured,
		-COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0),
		-gpu_us, -gpu_known_us, -gpu_idle_us
	FROM counted WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us,
		gpu_us = month_sums.gpu_us + excluded.gpu_us, gpu_known_us = month_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = month_sums.gpu_idle_us + excluded.gpu_idle_us;
	INSERT INTO day_sums SELECT cluster, day, partition_name, account, uid, array_job_id, part, -jobs, -measured,
		-COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0),
		-gpu_us, -gpu_known_us, -gpu_idle_us
	FROM counted WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, day, partition_name, account, uid, array_job_id, part) DO UPDATE SET jobs = day_sums.jobs + excluded.jobs,
		measured = day_sums.measured + excluded.measured, used_us = day_sums.used_us + excluded.used_us,
		judged_us = day_sums.judged_us + excluded.judged_us, lost_us = day_sums.lost_us + excluded.lost_us,
		gpu_us = day_sums.gpu_us + excluded.gpu_us, gpu_known_us = day_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = day_sums.gpu_idle_us + excluded.gpu_idle_us;
END;
CREATE TRIGGER attempts_changed AFTER UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, array_job_id, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us
	ON attempts WHEN NEW.slurm_submit_us IS NOT NULL AND NOT (OLD.slurm_submit_us IS NOT NULL AND NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS OLD.slurm_end_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS OLD.node_end_us AND NEW.as_of_us IS OLD.as_of_us)
	AND NEW.array_job_id = OLD.array_job_id AND NEW.partition_name = OLD.partition_name AND NEW.account = OLD.account AND NEW.user_name = OLD.user_name) BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, jobs, measured,
		COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0), gpu_us, gpu_known_us, gpu_idle_us
	FROM counted WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us,
		gpu_us = month_sums.gpu_us + excluded.gpu_us, gpu_known_us = month_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = month_sums.gpu_idle_us + excluded.gpu_idle_us;
	INSERT INTO day_sums SELECT cluster, day, partition_name, account, uid, array_job_id, part, jobs, measured,
		COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0), gpu_us, gpu_known_us, gpu_idle_us
	FROM counted WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, day, partition_name, account, uid, array_job_id, part) DO UPDATE SET jobs = day_sums.jobs + excluded.jobs,
		measured = day_sums.measured + excluded.measured, used_us = day_sums.used_us + excluded.used_us,
		judged_us = day_sums.judged_us + excluded.judged_us, lost_us = day_sums.lost_us + excluded.lost_us,
		gpu_us = day_sums.gpu_us + excluded.gpu_us, gpu_known_us = day_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = day_sums.gpu_idle_us + excluded.gpu_idle_us;
END;
-- Most changes leave a row in its sums: of these, the difference is added.
CREATE TRIGGER attempts_differ AFTER UPDATE OF parallel_efficiency, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us
	ON attempts WHEN OLD.slurm_submit_us IS NOT NULL AND NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS OLD.slurm_end_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS OLD.node_end_us AND NEW.as_of_us IS OLD.as_of_us)
	AND NEW.array_job_id = OLD.array_job_id AND NEW.partition_name = OLD.partition_name AND NEW.account = OLD.account AND NEW.user_name = OLD.user_name AND NEW.end_us IS NOT NULL BEGIN
	UPDATE month_sums SET measured = measured + (NEW.parallel_efficiency IS NOT NULL) - (OLD.parallel_efficiency IS NOT NULL),
		used_us = used_us + COALESCE(NEW.used_us, 0) - COALESCE(OLD.used_us, 0), judged_us = judged_us + COALESCE(NEW.judged_us, 0) - COALESCE(OLD.judged_us, 0),
		lost_us = lost_us + COALESCE(NEW.lost_us, 0) - COALESCE(OLD.lost_us, 0), gpu_us = gpu_us + NEW.gpu_us - OLD.gpu_us,
		gpu_known_us = gpu_known_us + NEW.gpu_known_us - OLD.gpu_known_us, gpu_idle_us = gpu_idle_us + NEW.gpu_idle_us - OLD.gpu_idle_us
	WHERE cluster = NEW.cluster AND month = CASE WHEN NEW.end_us BETWEEN 0 AND 253402300799999999 THEN CAST(strftime('%Y%m', NEW.end_us / 1000000, 'unixepoch') AS BIGINT) ELSE 0 END
		AND partition_name = NEW.partition_name AND account = NEW.account AND uid = NEW.uid AND user_name = NEW.user_name AND part = 0;
	UPDATE day_sums SET measured = measured + (NEW.parallel_efficiency IS NOT NULL) - (OLD.parallel_efficiency IS NOT NULL),
		used_us = used_us + COALESCE(NEW.used_us, 0) - COALESCE(OLD.used_us, 0), judged_us = judged_us + COALESCE(NEW.judged_us, 0) - COALESCE(OLD.judged_us, 0),
		lost_us = lost_us + COALESCE(NEW.lost_us, 0) - COALESCE(OLD.lost_us, 0), gpu_us = gpu_us + NEW.gpu_us - OLD.gpu_us,
		gpu_known_us = gpu_known_us + NEW.gpu_known_us - OLD.gpu_known_us, gpu_idle_us = gpu_idle_us + NEW.gpu_idle_us - OLD.gpu_idle_us
	WHERE cluster = NEW.cluster AND day = NEW.end_us / 86400000000
		AND partition_name = NEW.partition_name AND account = NEW.account AND uid = NEW.uid AND array_job_id = NEW.array_job_id AND part = 0;
END;

-- The GPU time of jobs that are there, from their core time: of one that was resized as if it had a part of its GPUs with each core.
UPDATE attempts SET gpu_us = used_us / alloc_cpus * gpus WHERE gpus > 0 AND alloc_cpus > 0 AND used_us > 0 AND used_us / alloc_cpus < 1000000000000000000 / gpus;
