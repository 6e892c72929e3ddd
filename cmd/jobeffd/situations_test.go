package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/cmd/jobeffd/notify"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/ingest/store/storetest"
	"jobeff/policy/notice"
	"jobeff/report/mail"
	"jobeff/report/view"
)

// situation is what happened to some users in a week, and what may be said of it.
type situation struct {
	name  string
	mails int // how many are right
	jobs  string
	// earlier are jobs of a week that ended ago days before, or 14. Mails of that week go
	// out, and do not count.
	earlier string
	ago     int
	several bool         // more than one core count is right, for example with several workloads
	weekly  bool         // the digest is looked at though nothing is claimed of it
	muted   int          // days from now until which the user muted the workload; 0: it is not
	rules   string       // of the site, as TOML
	rooms   *slurm.Rooms // what Slurm tells of its partitions and QOS; nil: nothing
	// says and never are regular expressions. "mail: 64 cores" must, or must not, be found in
	// a mail. Other places are job (`jobeff ID`, with and without --full), workload (`jobeff workload ID`) and page
	// (/jobs/ID), each of the last line's last job, the week's digest, and compare (`jobeff compare ID`, and what the digest
	// names to compare). One that names no place may be found in any of them; one of never must be in none.
	says, never []string
}

// situationsNow is when the situations are looked at. The notices of that morning are due.
var situationsNow = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// TestSituations holds what jobeff says of each situation against what may be said, on the
// real path: reports over HTTP, Slurm's word, the database, the study, the verdicts, the mail.
// Precision and recall of the mails must be 100 %.
func TestSituations(t *testing.T) {
	program := builtJobeff(t)
	var tally tally
	t.Run("all", func(t *testing.T) {
		for _, s := range situations() {
			t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
				if testing.Short() && !slices.ContainsFunc(situationKinds, func(kind []situation) bool { return kind[0].name == s.name }) {
					t.Skip("with -short one situation of each kind happens: all take 20 s of CPU")
				}
				t.Parallel()
				seen := s.happen(t, program)
				wrong, right := s.judge(seen)
				tally.add(s.mails, len(seen["mail"]), right, len(wrong) == 0)
				if len(wrong) > 0 {
					t.Error(strings.Join(wrong, "\n"))
					t.Log(seen)
				}
			})
		}
	})
	tally.report(t)
}

// builtJobeff is the path of the program jobeff.
func builtJobeff(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "jobeff")
	if out, err := exec.Command("go", "build", "-o", program, "../jobeff").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// tally counts mails.
type tally struct {
	mu                                  sync.Mutex
	situations, rightOnes, rightfulOnes int
	came, right, wanted                 int
}

// add notes a situation: how many mails were wanted, came, and came rightly.
func (c *tally) add(wanted, came, right int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.situations++
	if wanted > 0 {
		c.rightfulOnes++
	}
	if ok {
		c.rightOnes++
	}
	c.came, c.right, c.wanted = c.came+came, c.right+right, c.wanted+wanted
}

// report prints the figures, and fails where a mail was wrong or missed.
func (c *tally) report(t *testing.T) {
	t.Logf("%d situations, %d of them with a rightful mail: %d are told right", c.situations, c.rightfulOnes, c.rightOnes)
	t.Logf("mails: precision %d/%d, recall %d/%d", c.right, c.came, c.right, c.wanted)
	if c.right != c.came || c.right != c.wanted {
		t.Error("a mail is wrong, or is missing")
	}
}

// seen is what people see, by place.
type seen map[string][]string

// String is the beginning of each text.
func (s seen) String() string {
	var b strings.Builder
	for _, place := range places {
		for _, text := range s[place] {
			fmt.Fprintf(&b, "\n--- %s\n%.4000s", place, text)
		}
	}
	return b.String()
}

var places = []string{"mail", "job", "workload", "page", "workload now", "workload page", "digest", "compare"}

// judge returns what is wrong, and the number of right mails: they were wanted, and what they
// say is right.
func (s *situation) judge(got seen) (wrong []string, rightMails int) {
	inMails := s.judgeClaims(got, true)
	if n := len(got["mail"]); n != s.mails {
		wrong = append(wrong, fmt.Sprintf("mails: %d, right is %d", n, s.mails))
	}
	if len(inMails) == 0 {
		rightMails = min(len(got["mail"]), s.mails)
	}
	wrong = slices.Concat(wrong, inMails, s.judgeClaims(got, false))
	for what, one := range map[string][]string{"core counts are advised": got.all(advised), "savings are told": got.all(savings)} {
		if len(one) > 1 && !s.several {
			wrong = append(wrong, fmt.Sprintf("several %s: %v", what, one))
		}
	}
	return slices.Concat(wrong, got.outside(), got.requests()), rightMails
}

// mostMail is what a person reads of a mail, bytes.
const mostMail = 12_000

// judgeClaims compares what is said with says and never: in mails, or elsewhere.
func (s *situation) judgeClaims(got seen, mails bool) (wrong []string) {
	there := seen{}
	for place, texts := range got {
		if (place == "mail") == mails {
			there[place] = texts
		}
	}
	for _, claim := range s.says {
		if place, pattern := placeOf(claim); (place == "mail") == mails && there.hold(place, pattern) == "" {
			wrong = append(wrong, "nobody says "+claim)
		}
	}
	for _, claim := range s.never {
		place, pattern := placeOf(claim)
		if found := there.hold(place, pattern); found != "" {
			wrong = append(wrong, "it says "+found)
		}
	}
	for _, text := range there["mail"] {
		if len(text) > mostMail {
			wrong = append(wrong, fmt.Sprintf("a mail of %d bytes", len(text)))
		}
	}
	return wrong
}

// placeOf splits a claim into the place where it holds, "" for any, and the pattern.
func placeOf(claim string) (place, pattern string) {
	if place, rest, ok := strings.Cut(claim, ": "); ok && slices.Contains(places, place) {
		return place, rest
	}
	return "", claim
}

// hold is the first text that the pattern finds in a place.
func (s seen) hold(place, pattern string) string {
	re := regexp.MustCompile("(?is)" + pattern)
	for _, at := range places {
		for _, text := range s[at] {
			if found := re.FindString(text); found != "" && (place == "" || place == at) {
				return at + ": " + found
			}
		}
	}
	return ""
}

// How a core count is advised, and what it saves. "Ask for 1 node" advises none.
var (
	advised = regexp.MustCompile(`(?i)--ntasks=([\d,]+)|ask for ([\d,]+) (?:or fewer|cores)|([\d,]+) cores would have|([\d,]+) cores for [^.:]*[.]?\d*: would have`)
	savings = regexp.MustCompile(`([\d,]+) core-hours \([\d,]+ to [\d,]+\)`)
)

// perRank are ranks with several CPUs each: together they are so many cores.
var perRank = regexp.MustCompile(`--ntasks=(\d+)(?: --ntasks-per-node=\d+)? --cpus-per-task=(\d+)`)

// all are the different groups that a pattern finds.
func (s seen) all(pattern *regexp.Regexp) (found []string) {
	for _, text := range slices.Concat(s["mail"], s["job"], s["workload"], s["page"]) {
		text = perRank.ReplaceAllStringFunc(text, func(found string) string {
			of := perRank.FindStringSubmatch(found)
			return fmt.Sprintf("--ntasks=%d", atoi(of[1])*atoi(of[2]))
		})
		for _, groups := range pattern.FindAllStringSubmatch(text, -1) {
			found = append(found, strings.Join(groups[1:], ""))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// request matches the command to type for another run.
var request = regexp.MustCompile(`(?:sbatch|srun|mpirun|mpiexec)(?: [^ (),;]*[^ (),;.])+? YOUR-(?:SCRIPT|PROGRAM)`)

// requests lists the contradictions between requests. A job, its page, its workload as it was with that job, and the line for
// scripts must all ask for the same, or all for nothing. So must its workload's page and text of now, whose newest job may be
// another one. A mail may ask only for what the job that it names asks for.
func (s seen) requests() []string {
	wrong := append(s.oneRequest("job", "page", "workload"), s.oneRequest("workload now", "workload page")...)
	mailed := strings.Join(s["mailed"], " ")
	for _, letter := range s["mail"] {
		for _, line := range request.FindAllString(letter, -1) {
			if !strings.Contains(mailed, line) {
				wrong = append(wrong, "only a mail asks for "+line)
			}
		}
	}
	for i, text := range s["digested"] {
		advised := inDigest.FindAllStringSubmatch(s["digest"][0], -1)[i]
		if !slices.ContainsFunc(request.FindAllString(text, -1), func(line string) bool { return coresOf(line) == atoi(strings.ReplaceAll(advised[1], ",", "")) }) {
			wrong = append(wrong, "only a digest names "+advised[0])
		}
	}
	return wrong
}

// oneRequest lists where places ask for different things.
func (s seen) oneRequest(places ...string) []string {
	lines := map[string]bool{}
	for _, place := range places {
		text := strings.Join(s[place], " ")
		found := request.FindAllString(text, -1)
		for _, line := range found {
			lines[line] = true
		}
		if len(found) == 0 && !strings.Contains(text, "belongs to no workload") {
			lines["none in "+place] = true
		}
	}
	all := slices.Sorted(maps.Keys(lines))
	if len(all) > 1 && slices.ContainsFunc(all, func(line string) bool { return !strings.HasPrefix(line, "none in ") }) {
		return []string{"different requests: " + strings.Join(all, "; ")}
	}
	return nil
}

// saved matches a share of the core-hours and the interval behind it.
var saved = regexp.MustCompile(`saved? (\d+) % of the core-hours \([^()]*?(\d+)(?: %)? to (\d+) %[^()]*\)`)

// outside lists the savings that lie outside their own interval.
func (s seen) outside() (wrong []string) {
	for _, text := range slices.Concat(s["mail"], s["job"], s["workload"], s["page"]) {
		for _, found := range saved.FindAllStringSubmatch(text, -1) {
			v, low, high := atoi(found[1]), atoi(found[2]), atoi(found[3])
			if v < low || v > high {
				wrong = append(wrong, "no interval of the saving: "+found[0])
			}
		}
	}
	return slices.Compact(wrong)
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // the pattern has seen to it
	return n
}

// happen has the jobs end, the notifier decide, and looks at what is to be seen.
func (s *situation) happen(t *testing.T, program string) seen {
	c := newMadeCluster(t, s.rules)
	if s.rooms != nil {
		must(t, c.db.SetRooms(ctx, clusterName, time.Now(), s.rooms))
	}
	first := uint32(1000)
	if s.earlier != "" {
		then := situationsNow.AddDate(0, 0, -cmp.Or(s.ago, 14))
		jobs := makeJobs(t, s.earlier, first, then)
		first += uint32(len(jobs))
		c.end(jobs)
		c.notify(then)
		c.takeMails()
	}
	jobs := makeJobs(t, s.jobs, first, situationsNow)
	c.end(jobs)
	last := jobs[len(jobs)-1].word.ID
	if s.muted != 0 {
		c.mute(last, situationsNow.AddDate(0, 0, s.muted))
	}
	c.notify(situationsNow)
	got := seen{"mail": c.takeMails(), "job": {c.ask(program, last), c.ask(program, "--full", last)}, "workload": {c.ask(program, "workload", last)}, "page": {c.page("/jobs/" + last)}}
	if key := workloadLink.FindStringSubmatch(c.markup("/jobs/" + last)); key != nil {
		got["workload page"], got["workload now"] = []string{c.page("/workloads/" + key[1])}, []string{c.ask(program, "workload", key[1])}
	}
	for _, letter := range got["mail"] {
		for _, named := range mailedJob.FindAllStringSubmatch(letter, -1) {
			got["mailed"] = append(got["mailed"], c.ask(program, named[1]))
		}
	}
	claimed := map[string]bool{}
	for _, claim := range slices.Concat(s.says, s.never) {
		place, _ := placeOf(claim)
		claimed[place] = true
	}
	if claimed["digest"] || claimed["compare"] || s.weekly {
		got["digest"] = []string{c.digest(situationsNow.AddDate(0, 0, -7), situationsNow)}
		for _, advised := range inDigest.FindAllStringSubmatch(got["digest"][0], -1) {
			got["digested"] = append(got["digested"], c.ask(program, advised[2]))
		}
	}
	if claimed["compare"] {
		got["compare"] = []string{c.ask(program, "compare", last)}
		for _, pair := range comparing.FindAllStringSubmatch(got["digest"][0], -1) {
			got["compare"] = append(got["compare"], c.ask(program, "compare", pair[1], pair[2]))
		}
	}
	return got
}

// workloadLink matches a page's link to its workload.
var workloadLink = regexp.MustCompile(`href="\.\./workloads/([^"?]+)"`)

// mailedJob matches the job that a mail names.
var mailedJob = regexp.MustCompile(`(?:The one that lost most is|1 job[^:.]*:) (\d+)`)

// inDigest matches a core count that a digest names, with its job.
var inDigest = regexp.MustCompile(`Instead of [\d,]+ cores?: ([\d,]+) cores? would have .*?jobeff (\d+)`)

// comparing matches the command that a digest names.
var comparing = regexp.MustCompile(`jobeff compare (\d+) (\d+)`)

// madeCluster is a jobeffd without its process.
type madeCluster struct {
	t      *testing.T
	dir    string
	config string
	db     *store.Store
	cfg    *etc.Config
	client *client.Client
}

// newMadeCluster starts one that mails into files.
func newMadeCluster(t *testing.T, rules string) *madeCluster {
	dir, err := os.MkdirTemp("", "jobeff") // a socket's path is short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, sendmail, config := filepath.Join(dir, "s"), filepath.Join(dir, "sendmail"), filepath.Join(dir, "jobeff.toml")
	must(t, os.WriteFile(sendmail, fmt.Appendf(nil, "#!/bin/sh\ncat > %s/$$.mail\n", dir), 0o755))
	must(t, os.WriteFile(config, fmt.Appendf(nil, "[server]\nsacct_interval = \"0s\"\nread_rate = 0\n[report]\nto = \"unix:%s\"\n[mail]\nsendmail = [%q]\n"+
		"address = \"{user}@example.org\"\ntemplates = \"\"\n[digest]\nzone = \"UTC\"\n[notice]\nshadow = false\n%s\n", socket, sendmail, rules), 0o644))
	cfg, err := etc.Load(config)
	must(t, err)
	db, err := store.Open(filepath.Join(dir, "db"))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	db.FindHung(time.Duration(cfg.Server.HungAfter))
	must(t, db.SetMark(ctx, "notice", situationsNow.AddDate(0, 0, -42)))
	o := server.Options{Store: db, Log: zerolog.Nop(), Grace: time.Duration(cfg.Server.Grace)}
	must(t, show(&o, cfg))
	l, err := server.ListenUnix(socket)
	must(t, err)
	run, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		done <- server.New(o).Serve(run, l)
	}()
	t.Cleanup(func() { stop(); <-done })
	return &madeCluster{t, dir, config, db, cfg, client.NewClient("unix:"+socket, 30*time.Second, nil)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// end has the nodes report the jobs, and Slurm tell of them.
func (c *madeCluster) end(jobs []made) {
	var words []slurm.Job
	for _, j := range jobs {
		for _, report := range j.reports {
			must(c.t, c.client.PostReport(ctx, report))
		}
		if !j.silent {
			words = append(words, j.word)
		}
	}
	_, err := c.db.AddSlurm(ctx, words)
	must(c.t, err)
	must(c.t, storetest.Merge(ctx, c.db))
}

// mute mutes the workload of a job until a time.
func (c *madeCluster) mute(id string, until time.Time) {
	found, err := c.client.Job(ctx, id)
	must(c.t, err)
	w := found.Workload
	_, err = c.db.SetMute(ctx, store.Viewer{All: true}, w.Key, &w.UID, job.Mute{Since: until.AddDate(0, -1, 0), Until: until})
	must(c.t, err)
}

// notify is jobeffd's notifier at a time.
func (c *madeCluster) notify(at time.Time) {
	n, err := notify.New(c.cfg, c.db, zerolog.New(zerolog.NewTestWriter(c.t)).Level(zerolog.WarnLevel), func() time.Time { return at })
	must(c.t, err)
	n.Tick(ctx)
}

// takeMails returns the text of the mails that came, and removes them.
func (c *madeCluster) takeMails() (all []string) {
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.mail"))
	must(c.t, err)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		must(c.t, err)
		must(c.t, os.Remove(path))
		all = append(all, mailText(c.t, raw))
	}
	return all
}

// mailText is what a mail says: its recipient, its subject and its plain text.
func mailText(t *testing.T, raw []byte) string {
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	must(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	must(t, err)
	return fmt.Sprintf("To: %s\n%s\n%s", m.Header.Get("To"), subject, plainPart(t, m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body))
}

func plainPart(t *testing.T, contentType, encoding string, body io.Reader) string {
	kind, params, err := mime.ParseMediaType(contentType)
	must(t, err)
	if strings.HasPrefix(kind, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		p, err := parts.NextRawPart() // the plain one is the first
		must(t, err)
		return plainPart(t, p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
	}
	if strings.EqualFold(encoding, "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	must(t, err)
	if kind != "text/plain" {
		t.Fatalf("the first part of a mail is %s", kind)
	}
	return flat(string(text))
}

// flat is text without line ends, so that it does not matter where a line is broken.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// ask runs the command jobeff.
func (c *madeCluster) ask(program string, args ...string) string {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "JOBEFF_CONFIG="+c.config, "COLUMNS=100")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return flat(fmt.Sprintf("%s (jobeff %s: %v)", out, strings.Join(args, " "), err))
	}
	return strings.ReplaceAll(flat(string(out)), ` \ `, " ") // a command goes on after a backslash
}

// digest is the text of a span's digest.
func (c *madeCluster) digest(from, to time.Time) string {
	both, err := c.client.Digest(ctx, client.DigestQuery{From: from, To: to})
	must(c.t, err)
	templates, err := mail.Load("")
	must(c.t, err)
	letter, err := templates.Digest(view.NewDigest(notice.NewDigest(both), view.Site{Zone: time.UTC}))
	must(c.t, err)
	return flat(letter.Text)
}

// tags matches what is no text in a page.
var tags = regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`)

// page is the text of one that jobeffd makes.
func (c *madeCluster) page(path string) string {
	return textOf(c.markup(path))
}

// textOf is what a reader sees of a page.
func textOf(markup string) string {
	return flat(html.UnescapeString(tags.ReplaceAllString(markup, " ")))
}

// markup is a page as it is.
func (c *madeCluster) markup(path string) string {
	text, err := opened(browserOf(strings.TrimPrefix(c.cfg.Report.To, "unix:")), path)
	must(c.t, err)
	return string(text)
}
