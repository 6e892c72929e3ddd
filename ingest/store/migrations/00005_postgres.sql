-- Newest first, as lists are read. PostgreSQL's default order would put NULL first.

-- +goose Up
-- +postgres DROP INDEX runs_by_user;
-- +postgres DROP INDEX runs_by_start;
-- +postgres CREATE INDEX runs_by_user ON runs (uid, start_us DESC NULLS LAST);
-- +postgres CREATE INDEX runs_by_start ON runs (start_us DESC NULLS LAST);
