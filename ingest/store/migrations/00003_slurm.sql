-- What a run was given and what its steps used, as sacct says it; and whether its
-- ranks had threads, as its nodes said.

-- +goose Up
ALTER TABLE runs ADD COLUMN gpus BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN tres TEXT NOT NULL DEFAULT ''; -- AllocTRES
ALTER TABLE runs ADD COLUMN usage_read BIGINT NOT NULL DEFAULT 0; -- 1: what follows was asked for
ALTER TABLE runs ADD COLUMN total_cpu_us BIGINT; -- sum over steps; NULL: not known, as for the rest
ALTER TABLE runs ADD COLUMN memory_b BIGINT; -- bytes that steps held at once
ALTER TABLE runs ADD COLUMN memory_task_b BIGINT; -- MaxRSS
ALTER TABLE runs ADD COLUMN memory_alloc_b BIGINT;
ALTER TABLE runs ADD COLUMN part_of_nodes BIGINT NOT NULL DEFAULT 0; -- 1: steps ran on some nodes only
ALTER TABLE runs ADD COLUMN threaded BIGINT NOT NULL DEFAULT 0; -- 1: its useful time is not that of all its cores
CREATE INDEX runs_to_weigh ON runs (slurm_end_us) WHERE usage_read = 0 AND slurm_end_us IS NOT NULL;
