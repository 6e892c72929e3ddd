-- The next step makes these anew.
DROP TRIGGER IF EXISTS attempts_change ON attempts;
DROP TRIGGER IF EXISTS attempts_changed ON attempts;
DROP FUNCTION IF EXISTS sum_attempt;
DROP VIEW IF EXISTS counted;
