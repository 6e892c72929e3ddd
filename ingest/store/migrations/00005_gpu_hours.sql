-- GPU time, beside core time: job.GPUTime. What was known of jobs before this step counts when they are judged again, as a new version
-- of jobeff has it done with all.
ALTER TABLE attempts ADD COLUMN gpu_us BIGINT NOT NULL DEFAULT 0; -- gpus x elapsed; of a job that runs so far; 0: none, or not known
ALTER TABLE attempts ADD COLUMN gpu_known_us BIGINT NOT NULL DEFAULT 0; -- the part of it of GPUs of which it is known what they did
ALTER TABLE attempts ADD COLUMN gpu_idle_us BIGINT NOT NULL DEFAULT 0; -- the part of that in which no kernel ran, at least
ALTER TABLE month_sums ADD COLUMN gpu_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE month_sums ADD COLUMN gpu_known_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE month_sums ADD COLUMN gpu_idle_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_sums ADD COLUMN gpu_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_sums ADD COLUMN gpu_known_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_sums ADD COLUMN gpu_idle_us BIGINT NOT NULL DEFAULT 0;
