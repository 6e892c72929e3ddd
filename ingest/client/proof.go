package client

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"jobeff/ingest/wire"
)

// This file proves on TCP who asks and who answers: any program can listen at jobeffd's port if it is
// there first.

// authorize gives a request a credential, and returns its nonce; "": it has none. A report's
// credential does no harm if somebody keeps it and shows it again. A question's holds a challenge of
// jobeffd. While no challenge is known, the request only asks for one.
func (c *Client) authorize(req *http.Request, body []byte) (nonce string, err error) {
	if c.munge == nil {
		return "", nil
	}
	nonce, nonces := newNonce(), ""
	switch known := c.challenges.Load(); {
	case req.Method == http.MethodPost:
		nonces = nonce
	case known == nil:
		req.Header.Set("Authorization", wire.AuthScheme)
		return "", nil
	default:
		nonces = nonce + " " + *known
	}
	cred, err := c.munge.Sign(wire.AuthPayload(req.Method, req.URL.RequestURI(), body, nonces))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", wire.AuthScheme+" "+cred)
	if of := c.munge.Cluster(); of != "" {
		req.Header.Set(wire.ClusterHeader, of)
	}
	return nonce, nil
}

func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// mostChallenges bounds the challenges in a request: several jobeffd may answer at one address, and
// one that was restarted has another challenge.
const mostChallenges = 8

// challenged notes the challenge of a 401, and says whether it is a new one. Nothing proves the
// challenge, and nothing needs to: a credential that holds another's challenge is of no use here.
func (c *Client) challenged(resp *http.Response) bool {
	_, one, _ := strings.Cut(resp.Header.Get("WWW-Authenticate"), `challenge="`)
	one = strings.TrimSuffix(one, `"`)
	known := c.challenges.Load()
	if c.munge == nil || resp.StatusCode != http.StatusUnauthorized || !wire.IsHex32(one) || known != nil && strings.Contains(*known, one) {
		return false
	}
	if known != nil && strings.Count(*known, ",")+1 < mostChallenges {
		one = *known + "," + one
	}
	c.challenges.Store(&one)
	return true
}

// prove returns an error unless jobeffd proves that this is its answer to this request. An answer
// without proof is as good as none, except that its wish to wait is believed: whoever listens can let
// a client wait anyway.
func (c *Client) prove(req *http.Request, nonce string, resp *http.Response, answer []byte) error {
	if c.munge == nil {
		return nil
	}
	why := errors.New("it signed nothing")
	if cred := cmp.Or(resp.Header.Get(wire.ProofHeader), resp.Trailer.Get(wire.ProofHeader)); cred != "" && nonce != "" {
		proof := wire.NewProof(strings.TrimPrefix(req.Header.Get("Authorization"), wire.AuthScheme+" "), nonce, resp.Header.Get)
		proof.Write(answer)
		var payload []byte
		if payload, why = c.munge.Payload(cred); why == nil && string(payload) != string(proof.Payload(resp.StatusCode)) {
			why = errors.New("it signed something else")
		}
		if why == nil {
			return nil
		}
	}
	said := resp.Status
	var problem wire.Problem
	if json.Unmarshal(answer, &problem) == nil && problem.Detail != "" {
		said += ", " + problem.Detail
	}
	return &ServerError{Status: resp.StatusCode, Foreign: true, RetryAfter: retryAfter(resp),
		Message: fmt.Sprintf("what listens at %s does not prove that it is jobeffd (%v). It answered %s", c.addr, why, wire.CleanText(said, maxErrorText)),
		Hint:    "is the server's jobeffd as new as this one? `jobeff admin doctor`, there and here, says whom this machine believes"}
}
