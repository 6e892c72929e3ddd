-- The metrics of ranks with threads (METRICS 2): sums over threads. NULL where no rank has several, or
-- what they did is not known; attempts.threaded says the latter now.

-- +goose Up
ALTER TABLE attempts ADD COLUMN hybrid_parallel_efficiency DOUBLE PRECISION; -- of all threads; without hybrid_: of MPI alone
ALTER TABLE attempts ADD COLUMN hybrid_communication_efficiency DOUBLE PRECISION;
ALTER TABLE attempts ADD COLUMN all_threads BIGINT; -- of all ranks; of several executions the most that one had
ALTER TABLE attempts ADD COLUMN thread_useful_s DOUBLE PRECISION;
ALTER TABLE attempts ADD COLUMN thread_mpi_s DOUBLE PRECISION;
ALTER TABLE attempts ADD COLUMN thread_io_s DOUBLE PRECISION;
ALTER TABLE attempts ADD COLUMN imbalance_s DOUBLE PRECISION; -- waiting in barriers, for tasks and at the ends of regions
ALTER TABLE attempts ADD COLUMN scheduling_s DOUBLE PRECISION; -- with waiting for locks
ALTER TABLE attempts ADD COLUMN serial_s DOUBLE PRECISION; -- outside of regions, while another thread of the rank computed

ALTER TABLE executions ADD COLUMN hybrid_parallel_efficiency DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN hybrid_load_balance DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN hybrid_communication_efficiency DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN all_threads BIGINT;
ALTER TABLE executions ADD COLUMN thread_span_s DOUBLE PRECISION; -- threads times elapsed; of an attempt it is rank_seconds
ALTER TABLE executions ADD COLUMN thread_useful_s DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN thread_mpi_s DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN thread_io_s DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN imbalance_s DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN scheduling_s DOUBLE PRECISION;
ALTER TABLE executions ADD COLUMN serial_s DOUBLE PRECISION;
