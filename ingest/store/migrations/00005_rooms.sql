-- What Slurm gives the jobs of a cluster, read by the process that asks it, for every process that answers people.
CREATE TABLE rooms (
	cluster    TEXT   NOT NULL PRIMARY KEY,
	read_us    BIGINT NOT NULL,
	rooms_json TEXT   NOT NULL -- slurm.Rooms
);
