-- Newest first, as lists are read. SQLite reads an index from either end.
CREATE INDEX attempts_by_user ON attempts (uid, start_us);
CREATE INDEX attempts_by_start ON attempts (start_us);
