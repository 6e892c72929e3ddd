-- The conditions of a run: machine, CPU time, run-queue wait, threads. Older runs have 'null'.

-- +goose Up
ALTER TABLE workload_runs ADD COLUMN conditions_json TEXT NOT NULL DEFAULT 'null';
