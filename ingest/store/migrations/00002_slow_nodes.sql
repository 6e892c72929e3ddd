-- How fast the nodes of an attempt computed, for policy/slow. Judge writes it, of attempts that say something of their nodes. Those that were
-- judged before this table was there get their row when they are judged again, as a new version of jobeff has it done with all.
CREATE TABLE node_times (
	cluster TEXT   NOT NULL,
	job_id  BIGINT NOT NULL,
	attempt BIGINT NOT NULL,
	end_us  BIGINT NOT NULL, -- as in attempts
	uid     BIGINT NOT NULL,
	times   BYTEA  NOT NULL, -- list of slow.Observation without what the row has, compressed JSON
	PRIMARY KEY (cluster, job_id, attempt)
);
CREATE INDEX node_times_by_end ON node_times (end_us, cluster, job_id, attempt);

-- What the last look at these found, in its one row.
CREATE TABLE slow_nodes (
	id              BIGINT NOT NULL PRIMARY KEY, -- 1
	slow_nodes_json TEXT   NOT NULL -- listing.SlowNodes
);
