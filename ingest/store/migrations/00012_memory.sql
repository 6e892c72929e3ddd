-- Which steps of an attempt ran out of memory, from sacct: "0,batch". '' where none did, and of
-- attempts whose steps were read before.

-- +goose Up
ALTER TABLE attempts ADD COLUMN oom_steps TEXT NOT NULL DEFAULT '';
