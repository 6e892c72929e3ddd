-- What a row counted is taken away, and what it counts is added.
CREATE TRIGGER executions_open AFTER INSERT ON executions WHEN NEW.parallel_efficiency IS NOT NULL BEGIN
	INSERT INTO program_sums SELECT cluster, day, account, executable, part, runs, used_us, judged_us, lost_us
	FROM ran WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt AND execution = NEW.execution
	ON CONFLICT (cluster, day, account, executable, part) DO UPDATE SET runs = program_sums.runs + excluded.runs, used_us = program_sums.used_us + excluded.used_us,
		judged_us = program_sums.judged_us + excluded.judged_us, lost_us = program_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER executions_drop BEFORE DELETE ON executions WHEN OLD.parallel_efficiency IS NOT NULL BEGIN
	INSERT INTO program_sums SELECT cluster, day, account, executable, part, -runs, -used_us, -judged_us, -lost_us
	FROM ran WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt AND execution = OLD.execution
	ON CONFLICT (cluster, day, account, executable, part) DO UPDATE SET runs = program_sums.runs + excluded.runs, used_us = program_sums.used_us + excluded.used_us,
		judged_us = program_sums.judged_us + excluded.judged_us, lost_us = program_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER attempts_drop_runs BEFORE DELETE ON attempts WHEN OLD.slurm_submit_us IS NOT NULL BEGIN
	INSERT INTO program_sums SELECT cluster, day, account, executable, part, -runs, -used_us, -judged_us, -lost_us
	FROM ran WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, day, account, executable, part) DO UPDATE SET runs = program_sums.runs + excluded.runs, used_us = program_sums.used_us + excluded.used_us,
		judged_us = program_sums.judged_us + excluded.judged_us, lost_us = program_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER attempts_change_runs BEFORE UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, account
	ON attempts WHEN OLD.slurm_submit_us IS NOT NULL AND NOT (NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS OLD.slurm_end_us AND NEW.as_of_us IS OLD.as_of_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS OLD.node_end_us) AND NEW.account = OLD.account) BEGIN
	INSERT INTO program_sums SELECT cluster, day, account, executable, part, -runs, -used_us, -judged_us, -lost_us
	FROM ran WHERE cluster = OLD.cluster AND job_id = OLD.job_id AND attempt = OLD.attempt
	ON CONFLICT (cluster, day, account, executable, part) DO UPDATE SET runs = program_sums.runs + excluded.runs, used_us = program_sums.used_us + excluded.used_us,
		judged_us = program_sums.judged_us + excluded.judged_us, lost_us = program_sums.lost_us + excluded.lost_us;
END;
CREATE TRIGGER attempts_changed_runs AFTER UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, account
	ON attempts WHEN NEW.slurm_submit_us IS NOT NULL AND NOT (OLD.slurm_submit_us IS NOT NULL AND NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS OLD.slurm_end_us AND NEW.as_of_us IS OLD.as_of_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS OLD.node_end_us) AND NEW.account = OLD.account) BEGIN
	INSERT INTO program_sums SELECT cluster, day, account, executable, part, runs, used_us, judged_us, lost_us
	FROM ran WHERE cluster = NEW.cluster AND job_id = NEW.job_id AND attempt = NEW.attempt
	ON CONFLICT (cluster, day, account, executable, part) DO UPDATE SET runs = program_sums.runs + excluded.runs, used_us = program_sums.used_us + excluded.used_us,
		judged_us = program_sums.judged_us + excluded.judged_us, lost_us = program_sums.lost_us + excluded.lost_us;
END;
