-- The sums of months are those of the rows. What dropped jobs counted stays.
DELETE FROM month_sums WHERE part >= 0;
INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, part, sum(jobs), sum(measured),
	COALESCE(sum(used_us), 0), COALESCE(sum(judged_us), 0), COALESCE(sum(lost_us), 0)
FROM counted GROUP BY cluster, month, partition_name, account, uid, user_name, part;
