-- What a run ran under: machine, CPU time, run-queue wait, threads. 'null' of runs before.

-- +goose Up
ALTER TABLE workload_runs ADD COLUMN conditions_json TEXT NOT NULL DEFAULT 'null';
