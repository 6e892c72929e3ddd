-- What a digest counts of executions: folded rows stand for many, and neither they nor costly ones
-- are runs of a workload, which would tell their threads.

-- +goose Up
ALTER TABLE executions ADD COLUMN count BIGINT NOT NULL DEFAULT 1;
ALTER TABLE executions ADD COLUMN threads BIGINT; -- of each rank; NULL: written before
