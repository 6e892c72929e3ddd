-- What Slurm lets people see beside their own jobs. The daemon that asks Slurm writes it, and
-- every process that answers people reads it.

-- +goose Up
CREATE TABLE grants (
	uid     BIGINT NOT NULL, -- -1: everybody
	account TEXT   NOT NULL, -- whose jobs a coordinator sees; '': all jobs
	PRIMARY KEY (uid, account)
);
