package cli

// DatabaseCommands are the commands of jobeffd admin, which open its database, with one line
// of help each. jobeff admin hands these names on to jobeffd.
var DatabaseCommands = map[string]string{
	"alarm":     "Show whether measured jobs end worse than others",
	"backup":    "Back up the database while jobeffd runs",
	"demo-data": "Fill a new database with a year of a made-up site",
	"export":    "Write all jobs as a table, or as JSON for another database",
	"import":    "Add the jobs of another database",
	"migrate":   "Update the database's schema while jobeffd is stopped",
	"notices":   "Show what users would be told, and what is held back",
	"overhead":  "Keep and compare what messages cost on each partition",
	"prune":     "Drop old jobs and keep their sums",
	"restore":   "Restore a backup while jobeffd is stopped",
	"size":      "Show how large the database is and will be",
}
