-- What a job used and lost, in whole microseconds. Package policy works it out when the rules are asked, so they are asked again.
ALTER TABLE attempts DROP COLUMN smt_s;
ALTER TABLE attempts DROP COLUMN smt_most_s;
ALTER TABLE attempts DROP COLUMN run_s;
ALTER TABLE attempts ADD COLUMN used_us BIGINT; -- alloc_cpus x elapsed, of a job that runs so far
ALTER TABLE attempts ADD COLUMN judged_us BIGINT; -- of these, those of which it is known whether they were lost; NULL: that is not known, or not worked out yet
ALTER TABLE attempts ADD COLUMN lost_us BIGINT; -- of these (METRICS 6); known where judged_us is
UPDATE attempts SET used_us = 1000000 * alloc_cpus * slurm_elapsed_s
	WHERE alloc_cpus > 0 AND slurm_elapsed_s > 0 AND CAST(alloc_cpus AS DOUBLE PRECISION) * slurm_elapsed_s <= 1e12; -- as job.UsedCoreTime does
UPDATE attempts SET judged_by = 0 WHERE judged_by > 0;

ALTER TABLE month_sums RENAME COLUMN used_ms TO used_us;
ALTER TABLE month_sums RENAME COLUMN judged_ms TO judged_us;
ALTER TABLE month_sums RENAME COLUMN lost_ms TO lost_us;
UPDATE month_sums SET used_us = 1000 * used_us, judged_us = 1000 * judged_us, lost_us = 1000 * lost_us;
