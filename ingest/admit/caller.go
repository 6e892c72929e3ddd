package admit

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
)

// Caller is who makes a request, and how jobeffd knows them.
type Caller struct {
	User    uint32
	From    string // "socket", a proxy, or the address of the host that made the credential, as its munged says
	Proxied bool   // a believed proxy named the user
	// Cluster is the only one that the caller may report for, and ask about; "": any. Foreign says that it is not
	// this machine's: User is then another uid than here.
	Cluster string
	Foreign bool

	door    *Door
	socket  string // of the munged that decoded the credential
	part    part
	address string // of the other end, if munge names the user; "": the kernel or a proxy does

	// Of the credential:
	credential string
	payload    string // what it was made for
	made       time.Time
	nonce      string
	challenges string // of the processes that may answer a question; "": not said
}

// trusted says that the caller may report. A proxy's word makes nobody root. Of a foreign cluster's users only root
// counts: jobeffd's own uid may there be anybody's.
func (c *Caller) trusted() bool {
	return c.door.Trusted[c.User] && !c.Proxied && (c.User == 0 || !c.Foreign)
}

// Part names whose share the caller's requests are charged to; "": they have no bound.
func (c *Caller) Part() string { return c.part.name }

// Stranger says that the caller is root at an address that the resolver has not named yet.
func (c *Caller) Stranger() bool { return c.part.class == stranger }

// Asks lets a question in, which has no body.
func (d *Door) Asks(r *http.Request) (*Caller, *Refusal) {
	c, e := d.asker(r)
	if e == nil {
		e = c.sent(r, nil)
	}
	return c, e
}

// Sends lets a question in, and reads its body, `most` bytes of it at most.
func (d *Door) Sends(r *http.Request, most int64) (c *Caller, body []byte, e *Refusal) {
	c, e = d.asker(r)
	if e != nil {
		return c, nil, e
	}
	return c.body(r, most)
}

// asker identifies the caller of a question. The credential must be made for this process: it holds
// the process's challenge. If it holds none, it must be younger than the process, by its own host's clock.
func (d *Door) asker(r *http.Request) (*Caller, *Refusal) {
	c, e := d.caller(r, d.reads)
	if e != nil || c.address == "" {
		return c, e
	}
	here := slices.Contains(strings.Split(c.challenges, ","), d.challenge)
	if !here && (c.challenges != "" || !c.made.After(d.began)) {
		return c, d.unauthorized("the credential was made before this jobeffd began, or for another one", nil)
	}
	return c, nil
}

// Challenged is Refusal.Reason for a client that asks only for the challenge.
const Challenged = "challenge"

// newChallenge makes a text that only those know who have asked this process.
func newChallenge() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// body reads a body, and checks that the credential was made for it.
func (c *Caller) body(r *http.Request, most int64) (*Caller, []byte, *Refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	if err != nil {
		return c, nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Message: "the request ended early or is too large", Cause: err}
	}
	return c, body, c.sent(r, body)
}

// Reports lets a node's report in by its header. Body reads the rest.
func (d *Door) Reports(r *http.Request) (*Caller, *Refusal) {
	c, e := d.caller(r, d.reports)
	if e == nil && !c.trusted() {
		e = &Refusal{Status: http.StatusForbidden, Message: fmt.Sprintf("uid %d may not report", c.User), Hint: "only root on a node may"}
	}
	return c, e
}

// Page lets in a request for a page. The caller is the user that a proxy names, or whoever connected.
func (d *Door) Page(r *http.Request) (*Caller, *Refusal) {
	if c := connOf(r.Context()); c != nil && c.uid != nil && d.forOthers[*c.uid] {
		return d.named(r, fmt.Sprintf("proxy of uid %d", *c.uid))
	}
	return d.Asks(r)
}

// Shown checks the credential of a request that needs none, if a client shows one. So whoever asks for
// the health learns whether this server believes them.
func (d *Door) Shown(r *http.Request) *Refusal {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); !strings.EqualFold(scheme, wire.AuthScheme) {
		return nil
	}
	_, e := d.Asks(r)
	return e
}

// named lets in the user that a believed proxy names. A proxy that names nobody sees nothing,
// not even its own jobs.
func (d *Door) named(r *http.Request, from string) (*Caller, *Refusal) {
	names := r.Header.Values(d.Proxy.Header)
	if len(names) != 1 || names[0] == "" {
		return &Caller{door: d}, &Refusal{Status: http.StatusUnauthorized, Message: fmt.Sprintf("the proxy names no user, or several, in %s", d.Proxy.Header),
			Hint: "log in there"}
	}
	uid, err := userID(names[0])
	if err != nil {
		return &Caller{door: d}, &Refusal{Status: http.StatusUnauthorized, Message: fmt.Sprintf("%.60q is no user of this machine", names[0]),
			Hint: "log in with a name that has one", Cause: err}
	}
	c := &Caller{User: uid, From: from, Proxied: true, door: d, part: ofUser(uid, "")}
	if e := c.ofOwn(); e != nil {
		return c, e
	}
	return c, d.reads.take(c.part, d.now(), 1, 1)
}

// Form is Page for a request with a form. It reads the body, `most` bytes of it at most.
func (d *Door) Form(r *http.Request, most int64) (c *Caller, body []byte, e *Refusal) {
	if c := connOf(r.Context()); c == nil || c.uid == nil {
		return d.Sends(r, most)
	}
	if c, e = d.Page(r); e != nil {
		return c, nil, e
	}
	return c.body(r, most)
}

func userID(name string) (uint32, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(uid), err
}

// caller finds out who makes a request, and charges it to them: the connection, one request at the
// rates, and the credential, which is then used up, whatever becomes of the request. Only a trusted
// caller's report is charged at the rate of reports.
func (d *Door) caller(r *http.Request, at *rates) (*Caller, *Refusal) {
	c := connOf(r.Context())
	by, e := d.identify(r, c)
	if e != nil {
		return by, e
	}
	if !by.trusted() {
		at = d.reads
	}
	if c != nil && by.address != "" && !d.gate.become(c, by.part, d.now()) {
		return by, manyConnections(by.part)
	}
	if e := at.take(by.part, d.now(), 1, 1); e != nil { // before each of their nonces is remembered
		return by, e
	}
	if by.address != "" && !d.nonces.fresh(by.nonce, d.now()) {
		return by, d.unauthorized("the credential was used before", nil)
	}
	return by, nil
}

// identify finds out who makes a request, and that the credential was made for it, as far as the
// header tells.
func (d *Door) identify(r *http.Request, c *conn) (*Caller, *Refusal) {
	by := &Caller{door: d}
	if c != nil && c.uid != nil {
		by.User, by.From = *c.uid, "socket"
		if !d.Trusted[by.User] {
			by.part = ofUser(by.User, "")
		}
		return by, by.ofOwn()
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, wire.AuthScheme) {
		return by, d.unauthorized("the request has no munge credential", nil)
	}
	if text == "" {
		e := d.unauthorized("a question's credential holds this challenge", nil)
		e.Reason = Challenged
		return by, e
	}
	by.credential = strings.TrimSpace(text)
	e := by.of(r.Header.Get(wire.ClusterHeader))
	if e != nil {
		return by, e
	}
	cred, e := by.decode(r, c)
	if e != nil {
		return by, e
	}
	rest, mine := strings.CutPrefix(string(cred.Payload), wire.AuthPrefix(r.Method, r.URL.RequestURI()))
	sum, nonces, both := strings.Cut(rest, " ")
	by.nonce, by.challenges, _ = strings.Cut(nonces, " ")
	by.User, by.From, by.made, by.payload = cred.UID, cred.Addr.String(), cred.Encoded, string(cred.Payload)
	by.address = hostOf(r)
	switch fields := len(strings.Fields(by.payload)); {
	case fields != 5 && fields != 6:
		return by, d.unauthorized("the credential was not made for jobeffd", nil)
	case !mine || !both || len(sum) != wire.AuthSumSize:
		return by, d.unauthorized("the credential was made for another request", nil)
	}
	if by.part = ofUser(by.User, by.Cluster); by.trusted() {
		by.part = d.hosts.part(by.address, d.now())
	} else if c != nil {
		by.part.network = c.network.name
	}
	return by, nil
}

// hostOf is the host at the other end of a TCP connection.
func hostOf(r *http.Request) string {
	if c := connOf(r.Context()); c != nil {
		return c.address
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// mungeWait is how long a request waits until munge may be asked about its credential.
const mungeWait = 5 * time.Second

// of picks the munged that must decode the credential: that of the cluster which the request names.
func (c *Caller) of(cluster string) *Refusal {
	if len(c.door.Clusters) == 0 {
		c.socket = c.door.Munge
		return nil
	}
	for _, one := range c.door.Clusters {
		if one.Name == cluster {
			c.Cluster, c.socket, c.Foreign = one.Name, one.Munge, !one.Own
			return nil
		}
	}
	e := c.door.unauthorized("jobeffd serves several clusters, and the request does not name one of them", nil)
	e.Reason, e.Hint = "cluster", "set munge.cluster in this machine's jobeff.toml to the name that the cluster has in jobeffd's"
	return e
}

// ofOwn is of for a user of this machine: they are of its own cluster. Those who may read all are of any.
func (c *Caller) ofOwn() *Refusal {
	if c.trusted() || c.door.Operators[c.User] {
		return nil
	}
	for _, one := range c.door.Clusters {
		if one.Own {
			c.Cluster = one.Name
			return nil
		}
	}
	if len(c.door.Clusters) == 0 {
		return nil
	}
	return &Refusal{Status: http.StatusForbidden, Reason: "cluster", Message: "jobeffd serves several clusters, and its machine is of none of them",
		Hint: "ask from a machine of your cluster"}
}

// CheckCluster refuses what is of another cluster than the key by which its sender is known. The node keeps it:
// a name may be wrong in a configuration.
func (c *Caller) CheckCluster(cluster string) *Refusal {
	if c.Cluster == "" || c.Cluster == cluster {
		return nil
	}
	return &Refusal{Status: http.StatusMisdirectedRequest, Reason: "cluster", Message: fmt.Sprintf("a report of cluster %s came with the key of cluster %s", cluster, c.Cluster),
		Hint: "it is kept, and tried again: munge.cluster of this machine, and the cluster's name in jobeffd's jobeff.toml, must be Slurm's ClusterName"}
}

// decode asks munge about the credential.
func (by *Caller) decode(r *http.Request, c *conn) (*munge.Cred, *Refusal) {
	d := by.door
	ctx, cancel := context.WithTimeout(r.Context(), mungeWait)
	defer cancel()
	away := &Refusal{Status: http.StatusServiceUnavailable, Message: "jobeffd cannot ask munge now", Hint: "try again", Retry: 5 * time.Second}
	var at part
	if c != nil {
		at = c.network
	}
	release, err := d.decodes.take(ctx, at)
	if err != nil {
		away.Cause = err
		return nil, away
	}
	defer release()
	cred, err := munge.Decode(by.socket, by.credential)
	switch {
	case errors.Is(err, munge.ErrAway):
		away.Cause = err
		return nil, away
	case err != nil:
		e := d.unauthorized(firstError(err).Error(), err)
		if by.Cluster != "" && errors.Is(err, munge.ErrInvalid) {
			e.Hint = fmt.Sprintf("is munge.cluster right in this machine's jobeff.toml? It names %s, whose key decided", by.Cluster)
		}
		return nil, e
	case cred.TTL > munge.Lifetime:
		return nil, d.unauthorized("the munge credential lives too long", nil)
	}
	return cred, nil
}

// firstError returns package munge's own words, without what the library adds.
func firstError(err error) error {
	for _, known := range []error{munge.ErrExpired, munge.ErrRewound, munge.ErrReplayed, munge.ErrInvalid} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

func (d *Door) unauthorized(message string, cause error) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Message: message, Hint: "try again with a fresh credential", Challenge: fmt.Sprintf(wire.ChallengeForm, d.challenge), Cause: cause}
}

// sent notes that a request's whole body came, and checks that the credential was made for it.
func (c *Caller) sent(r *http.Request, body []byte) *Refusal {
	v, ok := r.Context().Value(visitKey{}).(*visit)
	if ok {
		v.read = body != nil || r.ContentLength == 0
	}
	if c.address == "" {
		return nil
	}
	nonces := strings.TrimSuffix(c.nonce+" "+c.challenges, " ")
	if string(wire.AuthPayload(r.Method, r.URL.RequestURI(), body, nonces)) != c.payload {
		return c.door.unauthorized("the credential was made for another request", nil)
	}
	if ok {
		v.by = c
	}
	return nil
}

// Turn waits for the caller's turn to read the database. The turn ends with the answer's first bytes,
// so everything for the answer must have been read by then.
func (c *Caller) Turn(ctx context.Context) error {
	v, ok := ctx.Value(visitKey{}).(*visit)
	if !ok {
		return nil
	}
	for _, t := range []*turns{c.door.answers, c.door.questions} {
		end, err := t.take(ctx, c.part)
		if err != nil {
			return err
		}
		v.turns = append(v.turns, end)
	}
	return nil
}

// Count counts n more reports, if a request turns out to hold several.
func (c *Caller) Count(n int) *Refusal { return c.door.reports.take(c.part, c.door.now(), n, 0) }

// Body reads a report's body, still packed. It waits until there is memory for it: size works out how
// much, from the body's first bytes and its length. release gives the memory back.
func (c *Caller) Body(ctx context.Context, r *http.Request, size func(head []byte, packed int64) int64) (body []byte, release func(), e *Refusal) {
	switch {
	case r.ContentLength < 0:
		return nil, nil, &Refusal{Status: http.StatusLengthRequired, Message: "the request does not say its length"}
	case r.ContentLength > wire.MaxReportBytes:
		return nil, nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Message: "the report is larger than jobeffd takes"}
	}
	in := bufio.NewReaderSize(r.Body, wire.TextSizeHead)
	head, _ := in.Peek(wire.TextSizeHead) // an error comes again when the whole body is read
	release, e = c.door.texts.take(ctx, c.part, size(head, r.ContentLength))
	if e != nil {
		return nil, nil, e
	}
	body = make([]byte, r.ContentLength)
	if _, err := io.ReadFull(in, body); err != nil {
		e = &Refusal{Status: http.StatusRequestTimeout, Message: "the request ended early", Hint: "try again", Cause: err}
	} else {
		e = c.sent(r, body)
	}
	if e != nil {
		release()
		return nil, nil, e
	}
	return body, release, nil
}

// Proxy says which proxy is believed. A proxy logs people in and sends their name in a header.
// Anybody can send a header, so it counts on the unix socket alone, where the kernel names the
// user who connected. An address proves nothing: every user of a machine may connect from it.
type Proxy struct {
	Header string   // "X-Forwarded-User"; "": nobody is believed
	Users  []uint32 // the proxy's own user, who connects through the unix socket
}

// nonces remembers each used nonce for nonceMemory at least, and for twice that at most. munged
// remembers them, too, but not after a restart.
type nonces struct {
	mu        sync.Mutex
	now, old  map[[16]byte]struct{}
	exchanged time.Time
	most      int // in each; beyond it the older ones are forgotten, and only munged remembers them
}

// mostNonces nonces take 40 MB, in each of the two sets.
const mostNonces = 1 << 20

func newNonces() *nonces { return &nonces{most: mostNonces} }

// nonceMemory is the longest time in which munge accepts one credential: its lifetime before
// and after it was made, since clocks differ.
const nonceMemory = 2 * munge.Lifetime

// fresh notes a nonce. It is false for a nonce that was used before or is malformed.
func (n *nonces) fresh(nonce string, at time.Time) bool {
	var key [16]byte
	if len(nonce) != hex.EncodedLen(len(key)) {
		return false
	}
	if _, err := hex.Decode(key[:], []byte(nonce)); err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now == nil || at.Sub(n.exchanged) > nonceMemory || len(n.now) >= n.most {
		n.old, n.now, n.exchanged = n.now, map[[16]byte]struct{}{}, at
	}
	_, used := n.now[key]
	_, before := n.old[key]
	n.now[key] = struct{}{}
	return !used && !before
}
