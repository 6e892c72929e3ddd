package cli

// DatabaseCommands are the commands that open jobeffd's database, and what each does.
// They are jobeffd's (jobeffd admin NAME); jobeff admin NAME hands on to them.
var DatabaseCommands = map[string]string{
	"backup":    "Copy the database as it is now, while jobeffd goes on",
	"demo-data": "Fill a scratch database with a year of a made-up site",
	"export":    "Write all jobs as a table, or as JSON for another database",
	"import":    "Take in the jobs of another database",
	"migrate":   "Bring the database to this version's schema, while jobeffd is stopped",
	"prune":     "Drop old jobs, and keep their sums",
	"restore":   "Put a backup in the database's place, while jobeffd is stopped",
	"size":      "Say how large the database is, and what it comes to",
}
