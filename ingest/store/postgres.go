package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// pgLanes is how many connections of a daemon write at once. One fsync of PostgreSQL's log
// serves all transactions that commit together.
const pgLanes = 8

// IsPostgres reports whether the database is the URL of a PostgreSQL, and not a file.
func IsPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// Name is the database as people may see it: without a password.
func Name(database string) string {
	if !IsPostgres(database) {
		return database
	}
	u, err := url.Parse(database)
	if err != nil {
		return "postgres://(an address that cannot be read)"
	}
	who := ""
	if u.User != nil {
		who = u.User.Username() + "@"
	}
	host := u.Host
	if h := u.Query().Get("host"); host == "" && h != "" {
		host = h
	}
	return "postgres://" + who + host + u.Path
}

// pgEngine keeps the database in a PostgreSQL, which several daemons may share.
type pgEngine struct {
	shown   string // without the password
	cfg     *pgx.ConnConfig
	write   *sql.DB
	silence time.Duration // after which a reader's connection counts as dead
}

// longestSilence is how long PostgreSQL may take until the next part of an answer. Without it jobeffd
// would wait for ever for a server that hangs, or that the network lost, while another leads already.
const longestSilence = time.Minute

// passBy is how long one of several servers may take to answer a new connection. Without it, each
// connection would wait long for one that hangs before it asks the one that leads.
const passBy = 2 * time.Second

// impatient is a connection on which nobody waits longer than silence for the next bytes. A deadline
// that pgx itself sets comes first.
type impatient struct {
	net.Conn
	silence time.Duration
	mu      sync.Mutex
	set     bool // pgx has set a deadline
}

// Read reads, with a deadline unless pgx has set one.
func (c *impatient) Read(p []byte) (int, error) {
	c.mu.Lock()
	if !c.set {
		c.Conn.SetReadDeadline(time.Now().Add(c.silence))
	}
	c.mu.Unlock()
	return c.Conn.Read(p)
}

// SetDeadline sets a deadline, and notes that pgx did.
func (c *impatient) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets a deadline, and notes that pgx did.
func (c *impatient) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = !t.IsZero()
	return c.Conn.SetReadDeadline(t)
}

func openPostgres(database string) (*pgEngine, error) {
	cfg, err := pgx.ParseConfig(database)
	if err != nil { // its text may hold the password
		return nil, fmt.Errorf("store: %s: it cannot be understood: write it as postgres://USER@HOST:PORT/DATABASE, the password in the file that PGPASSFILE names",
			Name(database))
	}
	e := &pgEngine{shown: Name(database), cfg: cfg, silence: longestSilence}
	e.write = e.pool(cfg.Copy(), map[string]string{
		// PostgreSQL ends the transaction of a daemon that was stopped or cut off.
		"idle_in_transaction_session_timeout": fmt.Sprint(2 * busyTimeout.Milliseconds()),
		"lock_timeout":                        fmt.Sprint(busyTimeout.Milliseconds()),
	})
	e.write.SetMaxOpenConns(pgLanes + 2) // and those of alone, which merges and judges
	e.write.SetMaxIdleConns(pgLanes + 2)
	return e, nil
}

// pool makes a pool of connections with these settings. It connects later.
func (e *pgEngine) pool(cfg *pgx.ConnConfig, settings map[string]string) *sql.DB {
	if cfg.ConnectTimeout == 0 && slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != cfg.Host }) {
		cfg.ConnectTimeout = passBy
	}
	if cfg.ConnectTimeout = min(cfg.ConnectTimeout, busyTimeout); cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = busyTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "jobeffd"
	}
	cfg.OnNotice = noteDoubt
	return stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		for name, value := range settings { // not as the session starts: target_session_attrs=read-write looks at them
			if _, err := c.Exec(ctx, "SELECT set_config($1, $2, false)", name, value); err != nil {
				return err
			}
		}
		return durable(ctx, c)
	}))
}

// durable makes COMMIT wait for the disk, and for the standby if one is configured: jobeffd says
// "kept" only of what is.
func durable(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')")
	return err
}

// noteDoubt marks a connection whose COMMIT no longer waits for the standby, because somebody
// cancelled it. PostgreSQL only warns of that.
func noteDoubt(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[doubted] = true
	}
}

// doubted is the mark of noteDoubt. The connection is not used again.
const doubted = "not on the standby"

// errDoubt says that a transaction may be lost with its server.
var errDoubt = fmt.Errorf("%w: the standby has not confirmed it", ErrUnavailable)

func (e *pgEngine) name() string { return e.shown }

func (e *pgEngine) writeDB() *sql.DB { return e.write }

func (e *pgEngine) there() error { return nil } // its connections say so

func (e *pgEngine) nearlyFull() bool { return false } // its disk is not seen from here

func (e *pgEngine) dialect() dialect {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	return dialect{folder: "postgres", goose: goose.DialectPostgres, rebind: rebind, locker: locker, err: err}
}

func (e *pgEngine) openRead() (*sql.DB, error) {
	cfg := e.cfg.Copy()
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatient{Conn: c, silence: e.silence}, nil
	}
	return e.pool(cfg, map[string]string{"default_transaction_read_only": "on",
		"default_transaction_isolation": "repeatable read", // a reader sees one moment, as with SQLite
		"jit":                           "off"}), nil       // compiling takes longer than what it saves, but for lists of millions
}

func (e *pgEngine) checkpoints() string { return "" }

func (e *pgEngine) lanes() (all []committer, err error) {
	for range pgLanes {
		all = append(all, &pgWriter{db: e.write})
	}
	return all, nil
}

// alone locks a mark's row for as long as the daemon works. PostgreSQL ends the lock of one that dies.
// A PostgreSQL that hangs is not waited for.
func (e *pgEngine) alone(ctx context.Context, mark string) (release func(), mine bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(2*busyTimeout, cancel)
	defer late.Stop()
	tx, err := e.write.BeginTx(ctx, nil)
	if err != nil {
		cancel()
		return nil, false, silent(ctx, err)
	}
	release = func() {
		late.Reset(2 * busyTimeout)
		tx.Rollback()
		late.Stop()
		cancel()
	}
	var n int64
	err = tx.QueryRowContext(ctx, "SELECT time_us FROM marks WHERE name = $1 FOR UPDATE SKIP LOCKED", mark).Scan(&n)
	if err == nil {
		return release, true, nil
	}
	err = silent(ctx, err)
	if release(); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return nil, false, err
}

// silent says why alone's context ended.
func silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: PostgreSQL says nothing", ErrUnavailable)
	}
	return err
}

func (e *pgEngine) close() error { return e.write.Close() }

// rebind writes ? as $1, $2 …, except inside quotes.
func rebind(query string) string {
	if strings.IndexByte(query, '?') < 0 {
		return query
	}
	var b strings.Builder
	n, quoted := 0, false
	for i := range len(query) {
		switch c := query[i]; {
		case c == '?' && !quoted:
			n++
			fmt.Fprintf(&b, "$%d", n)
		case c == '\'':
			quoted = !quoted
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// plainArgs makes arguments that PostgreSQL can hold: its text is UTF-8 without zero bytes.
func plainArgs(args []any) []any {
	for i, a := range args {
		if s, is := a.(string); is && (strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s)) {
			args[i] = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?")
		}
	}
	return args
}

// pgWriter does the work of one lane. Each job's work is a transaction of its own, so a
// sharding engine never sees one that touches two shards.
type pgWriter struct{ db *sql.DB }

func (p *pgWriter) close() {}

// commit does a batch: the work of each job in one transaction.
func (p *pgWriter) commit(batch []*op) {
	for len(batch) > 0 {
		var group, others []*op
		for _, o := range batch {
			if o == batch[0] || o.job == batch[0].job && o.job.jobID != 0 {
				group = append(group, o)
			} else {
				others = append(others, o)
			}
		}
		p.commitJob(group)
		batch = others
	}
}

// tries is how often a transaction is tried if another daemon got in its way, or if its
// connection was dead.
const tries = 3

func (p *pgWriter) commitJob(group []*op) {
	var err error
	for range tries {
		if err = p.transaction(group); !again(err) {
			break
		}
	}
	if err != nil && len(group) > 1 && !postgresPasses(err) { // one of them is bad: try each alone
		for _, o := range group {
			p.commitJob([]*op{o})
		}
		return
	}
	for _, o := range group {
		o.result <- err
	}
}

// transaction does a job's work completely or not at all. It may run again, since the work
// may be repeated.
func (p *pgWriter) transaction(group []*op) error {
	ctx, cancel := context.WithTimeout(background, 2*busyTimeout)
	defer cancel()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // inside a transaction this throws the connection away
	t := &pgTransaction{ctx: ctx, conn: conn}
	t.exec("BEGIN")
	if job := group[0].job; job.jobID != 0 {
		t.exec("SELECT pg_advisory_xact_lock(?, ?)", job.lock(), int32(job.jobID))
	}
	if err := (&writer{t}).run(group); err != nil {
		return errors.Join(err, t.rollback())
	}
	t.exec(waitForStandby)
	t.exec("COMMIT")
	if err := t.flush(); err != nil {
		return errors.Join(err, t.rollback())
	}
	return t.doubted()
}

// Doubt says what is wrong with the database though it answers, and what to do: its PostgreSQL has
// standbys for which no COMMIT waits, or COMMIT waits for one that is not there. "" if nothing is
// known to be wrong. An engine without PostgreSQL's tables gives none.
func (s *Store) Doubt(ctx context.Context) (doubt, hint string) {
	if !IsPostgres(s.engine.name()) {
		return "", ""
	}
	var all, synchronous, shown int64
	var names string
	err := s.read.QueryRowContext(ctx, standbys).Scan(&all, &synchronous, &shown, &names)
	switch {
	case err != nil || synchronous > 0:
	case names == "" && all > 0:
		return "PostgreSQL has standbys, and COMMIT waits for none of them: if one takes over, reports are missing that nodes were told are kept",
			`set synchronous_standby_names, or with Patroni synchronous_mode and synchronous_mode_strict: "More than one database server" in ADMIN.md`
	case names != "" && shown == all:
		return "PostgreSQL waits at each COMMIT for a standby of synchronous_standby_names, and none of these follows it: nodes are answered 503 and keep their reports",
			"start the standby, or look whether its application_name is one of these names"
	}
	return "", ""
}

// standbys counts those that follow this server: all, those for which COMMIT waits, and those that
// jobeffd's role may see the state of (pg_read_all_stats). Copies of the log are no standbys.
const standbys = `SELECT count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(sync_state),
		CASE WHEN pg_is_in_recovery() THEN '' ELSE current_setting('synchronous_standby_names') END
	FROM pg_stat_replication WHERE NOT pg_is_in_recovery() AND application_name NOT IN ('pg_basebackup', 'pg_receivewal')
		AND pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`

// waitForStandby gives COMMIT something to wait for in work that changed nothing. A report may be
// there already because an earlier COMMIT of it is still waiting for the standby, or gave up.
const waitForStandby = "SELECT pg_logical_emit_message(true, 'jobeffd', '')"

// doubted returns errDoubt, and closes the connection, if noteDoubt marked it.
func (t *pgTransaction) doubted() error {
	return t.conn.Raw(func(c any) error {
		conn := c.(*stdlib.Conn).Conn()
		if conn.PgConn().CustomData()[doubted] == nil {
			return nil
		}
		return errors.Join(errDoubt, conn.Close(t.ctx))
	})
}

// pgTransaction is a session inside a transaction. Statements wait until something is read,
// or until the end; then they all go in one message.
type pgTransaction struct {
	ctx     context.Context
	conn    *sql.Conn
	waiting pgx.Batch
}

func (t *pgTransaction) exec(query string, args ...any) error {
	t.waiting.Queue(rebind(query), plainArgs(args)...)
	return nil
}

// flush sends the waiting statements and returns their first error.
func (t *pgTransaction) flush() error {
	if t.waiting.Len() == 0 {
		return nil
	}
	waiting := t.waiting
	t.waiting = pgx.Batch{}
	return t.conn.Raw(func(c any) error {
		return c.(*stdlib.Conn).Conn().SendBatch(t.ctx, &waiting).Close()
	})
}

func (t *pgTransaction) rows(query string, args ...any) (*sql.Rows, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	return t.conn.QueryContext(t.ctx, rebind(query), plainArgs(args)...)
}

// one sends the waiting statements and the query in one message.
func (t *pgTransaction) one(query string, args, into []any) error {
	waiting := t.waiting
	t.waiting = pgx.Batch{}
	n := waiting.Len()
	waiting.Queue(rebind(query), plainArgs(args)...)
	return t.conn.Raw(func(c any) error {
		results := c.(*stdlib.Conn).Conn().SendBatch(t.ctx, &waiting)
		for range n {
			if _, err := results.Exec(); err != nil {
				results.Close()
				return err
			}
		}
		err := results.QueryRow().Scan(into...)
		return errors.Join(err, results.Close())
	})
}

func (t *pgTransaction) rollback() error {
	t.waiting = pgx.Batch{}
	t.exec("ROLLBACK")
	return t.flush()
}
