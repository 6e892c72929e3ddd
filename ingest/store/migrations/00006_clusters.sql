-- Nodes of two clusters may have the same name. The cluster of those that reported so far is that of their reports.
CREATE TABLE nodes_of (
	cluster   TEXT   NOT NULL,
	node      TEXT   NOT NULL,
	heard_us  BIGINT NOT NULL, -- the rest as in 00001
	outbox_us BIGINT NOT NULL DEFAULT 0,
	waiting   BIGINT NOT NULL DEFAULT 0,
	oldest_us BIGINT NOT NULL DEFAULT 0,
	refused   BIGINT NOT NULL DEFAULT 0,
	cut       BIGINT NOT NULL DEFAULT 0,
	lost      BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (cluster, node)
);
INSERT INTO nodes_of SELECT COALESCE(r.cluster, (SELECT min(cluster) FROM clusters), ''), n.*
	FROM nodes n LEFT JOIN (SELECT DISTINCT cluster, node FROM reports) r ON r.node = n.node;
DROP TABLE nodes;
ALTER TABLE nodes_of RENAME TO nodes;

-- A uid is another person's on another cluster. '': jobeffd tells no clusters apart.
CREATE TABLE grants_of (
	cluster TEXT   NOT NULL,
	uid     BIGINT NOT NULL, -- as in 00001
	account TEXT   NOT NULL,
	PRIMARY KEY (cluster, uid, account)
);
INSERT INTO grants_of SELECT '', uid, account FROM grants;
DROP TABLE grants;
ALTER TABLE grants_of RENAME TO grants;
