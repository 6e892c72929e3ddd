-- What an attempt was given and what its steps used, from sacct; and whether its ranks had
-- threads, from its nodes.

-- +goose Up
ALTER TABLE runs ADD COLUMN gpus BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN tres TEXT NOT NULL DEFAULT ''; -- AllocTRES
ALTER TABLE runs ADD COLUMN usage_read BIGINT NOT NULL DEFAULT 0; -- 1: sacct was asked for the columns below
ALTER TABLE runs ADD COLUMN total_cpu_us BIGINT; -- sum over steps; here and below NULL: unknown
ALTER TABLE runs ADD COLUMN memory_b BIGINT; -- most bytes that steps held at once
ALTER TABLE runs ADD COLUMN memory_task_b BIGINT; -- MaxRSS
ALTER TABLE runs ADD COLUMN memory_alloc_b BIGINT;
ALTER TABLE runs ADD COLUMN part_of_nodes BIGINT NOT NULL DEFAULT 0; -- 1: steps ran on some nodes only
ALTER TABLE runs ADD COLUMN threaded BIGINT NOT NULL DEFAULT 0; -- 1: useful time does not speak of all its cores
CREATE INDEX runs_to_weigh ON runs (slurm_end_us) WHERE usage_read = 0 AND slurm_end_us IS NOT NULL;
