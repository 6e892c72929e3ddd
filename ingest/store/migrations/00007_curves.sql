-- Finds the newest runs of each core count of a workload, which make its curve, without
-- reading all of its runs.

-- +goose Up
CREATE INDEX workload_runs_by_cores ON workload_runs (workload_key, cores, start_us);
