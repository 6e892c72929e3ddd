-- What only the process that takes the reports knew, but every process that answers people
-- needs: what Slurm grants, and what nodes said of their outboxes.

-- +goose Up
CREATE TABLE grants (
	uid     BIGINT NOT NULL, -- -1: everybody
	account TEXT   NOT NULL, -- whose jobs a coordinator sees; '': all jobs
	PRIMARY KEY (uid, account)
);
ALTER TABLE nodes ADD COLUMN outbox_us BIGINT NOT NULL DEFAULT 0; -- when the node said the columns below; 0: never
ALTER TABLE nodes ADD COLUMN waiting   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN oldest_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN refused   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN cut       BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN lost      BIGINT NOT NULL DEFAULT 0;
