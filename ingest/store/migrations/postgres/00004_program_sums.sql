-- What a row counted is taken away, and what it counts is added.
CREATE FUNCTION sum_programs() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r     RECORD;
	sign  BIGINT := 1;
	first BIGINT := 0;
	last  BIGINT := 9223372036854775807;
BEGIN
	IF TG_WHEN = 'BEFORE' THEN
		r := OLD;
		sign := -1;
	ELSE
		r := NEW;
	END IF;
	IF TG_TABLE_NAME = 'executions' THEN
		first := r.execution;
		last := r.execution;
	END IF;
	INSERT INTO program_sums SELECT cluster, day, account, executable, part, sign * sum(runs), sign * sum(used_us), sign * sum(judged_us), sign * sum(lost_us)
	FROM ran WHERE cluster = r.cluster AND job_id = r.job_id AND attempt = r.attempt AND execution >= first AND execution <= last
	GROUP BY cluster, day, account, executable, part
	ON CONFLICT (cluster, day, account, executable, part) DO UPDATE SET runs = program_sums.runs + excluded.runs, used_us = program_sums.used_us + excluded.used_us,
		judged_us = program_sums.judged_us + excluded.judged_us, lost_us = program_sums.lost_us + excluded.lost_us;
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER executions_open AFTER INSERT ON executions FOR EACH ROW WHEN (NEW.parallel_efficiency IS NOT NULL) EXECUTE FUNCTION sum_programs();
CREATE TRIGGER executions_drop BEFORE DELETE ON executions FOR EACH ROW WHEN (OLD.parallel_efficiency IS NOT NULL) EXECUTE FUNCTION sum_programs();
CREATE TRIGGER attempts_drop_runs BEFORE DELETE ON attempts FOR EACH ROW WHEN (OLD.slurm_submit_us IS NOT NULL) EXECUTE FUNCTION sum_programs();
CREATE TRIGGER attempts_change_runs BEFORE UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, account
	ON attempts FOR EACH ROW WHEN (OLD.slurm_submit_us IS NOT NULL AND NOT (NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS NOT DISTINCT FROM OLD.slurm_end_us AND NEW.as_of_us IS NOT DISTINCT FROM OLD.as_of_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS NOT DISTINCT FROM OLD.node_end_us) AND NEW.account = OLD.account)) EXECUTE FUNCTION sum_programs();
CREATE TRIGGER attempts_changed_runs AFTER UPDATE OF slurm_submit_us, slurm_end_us, node_end_us, as_of_us, account
	ON attempts FOR EACH ROW WHEN (NEW.slurm_submit_us IS NOT NULL AND NOT (OLD.slurm_submit_us IS NOT NULL AND NEW.slurm_submit_us IS NOT NULL AND NEW.slurm_end_us IS NOT DISTINCT FROM OLD.slurm_end_us AND NEW.as_of_us IS NOT DISTINCT FROM OLD.as_of_us
	AND (NEW.slurm_end_us IS NOT NULL OR NEW.node_end_us IS NOT DISTINCT FROM OLD.node_end_us) AND NEW.account = OLD.account)) EXECUTE FUNCTION sum_programs();
