package view

import "time"

// Site is what letters say of the site they come from.
type Site struct {
	Zone *time.Location // of the dates
	Help string         // whom to ask
	Link string         // of jobeffd's pages; "": none
	Late time.Duration  // how long after its time the letter is made; 0: in time
}

// DigestWords are what digest.txt and digest.html are given. Texts are harmless and ready to be
// shown; hours are core-hours.
type DigestWords struct {
	Subject      string        `doc:"-"`
	Span         string        `doc:"'9 to 15 November 2026'"`
	Accounts     string        `doc:"the digest is of these and of this cluster only; '': of all"`
	Late         string        `doc:"why it comes late; '': it does not"`
	Part         string        `doc:"why it is not of seven days; '': it is"`
	Headline     string        `doc:"one sentence; alarms come before it"`
	Facts        []string      `doc:"what the headline stands on, a sentence each"`
	Lists        []List        `doc:"by account, by user, by application"`
	Savings      []SavingWords `doc:"the biggest first, at most ten"`
	Losses       []string      `doc:"the largest losses without advice, a few sentences each"`
	Changes      []string      `doc:"workloads that got slower or faster, a sentence each"`
	Followed     []string      `doc:"what was saved after advice, a sentence each"`
	FollowedMore string        `doc:"how many are not shown; '': none"`
	Saved        string        `doc:"sum of all that was saved after advice; '': nothing yet"`
	Wrong        []string      `doc:"what those who got notices said was wrong in them, a sentence each"`
	Health       []Remark      `doc:"how jobeff itself does"`
	Earlier      string        `doc:"the week before by its ISO number, '2026-W45'"`
	Link         string        `doc:"of jobeffd's pages; '': none"`
	Help         string        `doc:"whom to ask"`
}

// List is a table of those who lost most.
type List struct {
	Title   string `doc:"'By account'"`
	Column  string `doc:"'account'"`
	Counted string `doc:"what Row.Jobs counts: 'jobs', or 'runs' of a program, of which a job may have many"`
	Rows    []Row
	More    string `doc:"how many are not shown; '': none"`
}

// Row is one line of a List.
type Row struct {
	Name, Jobs, Used string
	Judged           string `doc:"hours of Used of which it is known what was lost"`
	Lost             string `doc:"of Judged"`
	Share            string `doc:"Lost of Judged, '34 %'"`
	Change           string `doc:"of Share since the week before, in points: '+3'; '': none, or not known"`
	LostBar          int    `doc:"length of a bar of Lost, in percent of the list's longest of Judged"`
	RestBar          int    `doc:"… of the rest of Judged, behind it"`
}

// SavingWords are one of the biggest savings.
type SavingWords struct {
	Number                   int
	Name, User, Account, Job string
	Page                     string `doc:"of Job; '': there are no pages"`
	JobName                  string `doc:"of Job in Slurm; '': none"`
	Hours                    string `doc:"'1,234 core-hours'"`
	Text                     string `doc:"what to do, one sentence"`
	Muted                    bool
}

// Remark is a line on jobeff's own health.
type Remark struct {
	Text string
	Bad  bool `doc:"somebody should look"`
}

// NoticeWords are what notice.txt and notice.html are given. Texts are harmless and ready to be
// shown.
type NoticeWords struct {
	Subject string `doc:"-"`
	User    string
	Name    string `doc:"to greet by: what mail.address_command prints, else User"`
	Cluster string
	Shadow  string   `doc:"whom it would have gone to; '': it goes to them"`
	Summary string   `doc:"one sentence; '': there are no items"`
	Items   []Item   `doc:"at most five"`
	Losses  []string `doc:"the largest losses without advice, a few sentences each"`
	More    string   `doc:"how many workloads are left out; '': none"`
	List    string   `doc:"the command that lists their jobs"`
	Better  []string `doc:"workloads that got better, a sentence each"`
	Help    string   `doc:"whom to ask"`
	Link    string   `doc:"of jobeffd's pages; '': none"`
}

// Item is one workload that its user is told of.
type Item struct {
	Name    string
	Jobs    string   `doc:"'12 jobs'"`
	Lost    string   `doc:"'1,234 core-hours'; '': not known"`
	Job     string   `doc:"id of the one that lost most"`
	JobName string   `doc:"… its name in Slurm; '': none"`
	Ended   string   `doc:"… when"`
	Cores   int      `doc:"… on how many"`
	Texts   []string `doc:"what the rules say, for people"`
	Links   []string `doc:"where to read more"`
	Advice  string   `doc:"what to change; '': not known"`
	Sbatch  string   `doc:"the line to try; '': none"`
	Show    string   `doc:"the command that shows more"`
	Mute    string   `doc:"the command that ends such mails"`
	JobPage string   `doc:"'': there are no pages"`
	Wrong   string   `doc:"the page to say that this was wrong; '': there are no pages"`
}
