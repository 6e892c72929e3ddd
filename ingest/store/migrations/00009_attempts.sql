-- A job's start is now called attempt, since a run is a point of a workload's curve. No row is
-- rewritten, and indexes keep their names. Two times get columns, like the other metrics.
-- These stay NULL until fillTimes reads them from executions.detail.

-- +goose Up
ALTER TABLE runs RENAME TO attempts;
ALTER TABLE attempts RENAME COLUMN run TO attempt;
ALTER TABLE executions RENAME COLUMN run TO attempt;
ALTER TABLE calls RENAME COLUMN run TO attempt;
ALTER TABLE workload_runs RENAME COLUMN run TO attempt;
ALTER TABLE reports RENAME COLUMN run TO attempt;
ALTER TABLE reports RENAME COLUMN run_id TO nonce;

ALTER TABLE attempts ADD COLUMN io_time_s DOUBLE PRECISION; -- in MPI_File_*, sum over ranks
ALTER TABLE attempts ADD COLUMN wait_time_s DOUBLE PRECISION; -- part of mpi_time_s, in calls that only wait
ALTER TABLE executions ADD COLUMN io_time_s DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN wait_time_s DOUBLE PRECISION;
CREATE INDEX attempts_to_time ON attempts (changed_us) WHERE ranks > 0 AND io_time_s IS NULL;
