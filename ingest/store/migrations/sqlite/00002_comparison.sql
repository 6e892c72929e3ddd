-- The next step makes these anew.
DROP TRIGGER IF EXISTS attempts_change;
DROP TRIGGER IF EXISTS attempts_changed;
DROP TRIGGER IF EXISTS attempts_open;
DROP TRIGGER IF EXISTS attempts_drop;
DROP VIEW IF EXISTS counted;
