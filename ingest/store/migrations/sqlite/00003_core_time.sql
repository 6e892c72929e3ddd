-- What jobs count in the sums of their month, see months.go: all that have ended, as Slurm says.
CREATE VIEW counted AS
SELECT r.*, 1 AS jobs, 0 AS part,
	CASE WHEN parallel_efficiency IS NOT NULL THEN 1 ELSE 0 END AS measured,
	CASE WHEN end_us BETWEEN 0 AND 253402300799999999 -- the last moment of the year 9999
		THEN CAST(strftime('%Y%m', end_us / 1000000, 'unixepoch') AS BIGINT) ELSE 0 END AS month
FROM attempts r WHERE slurm_submit_us IS NOT NULL AND end_us IS NOT NULL;

-- What a row counted is taken away, and what it counts is added. A trigger of SQLite is for one kind of change.
CREATE TRIGGER attempts_change BEFORE UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us
	ON attempts WHEN OLD.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, -jobs, -measured,
		-COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0)
	FROM counted WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER attempts_changed AFTER UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, partition_name, account, user_name,
	parallel_efficiency, used_us, judged_us, lost_us
	ON attempts WHEN NEW.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, jobs, measured,
		COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0)
	FROM counted WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER attempts_open AFTER INSERT ON attempts WHEN NEW.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, jobs, measured,
		COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0)
	FROM counted WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER attempts_drop BEFORE DELETE ON attempts WHEN OLD.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, -jobs, -measured,
		-COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0)
	FROM counted WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, month, partition_name, account, uid, user_name, part) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us;
END;
