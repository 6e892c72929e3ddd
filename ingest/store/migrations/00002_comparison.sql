-- What could be seen by now of a harm, in its one row. Some databases of version 1 have it already.
CREATE TABLE IF NOT EXISTS comparison (
	id              BIGINT NOT NULL PRIMARY KEY, -- 1
	comparison_json TEXT   NOT NULL -- harm.Comparison
);
