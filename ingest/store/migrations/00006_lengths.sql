-- Attempts by their length, in classes (list.go), and start: finds those that ran at a moment of the past, wherever that lies.
CREATE INDEX attempts_by_length ON attempts ((CASE WHEN end_us IS NULL THEN 7 WHEN end_us - start_us < 3600000000 THEN 0 WHEN end_us - start_us < 14400000000 THEN 1
	WHEN end_us - start_us < 57600000000 THEN 2 WHEN end_us - start_us < 230400000000 THEN 3 WHEN end_us - start_us < 921600000000 THEN 4
	WHEN end_us - start_us < 3686400000000 THEN 5 ELSE 6 END), start_us);
