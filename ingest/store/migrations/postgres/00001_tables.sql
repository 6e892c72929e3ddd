-- Newest first, as lists are read. The default order would put NULL first.
CREATE INDEX attempts_by_user ON attempts (uid, start_us DESC NULLS LAST);
CREATE INDEX attempts_by_start ON attempts (start_us DESC NULLS LAST);
