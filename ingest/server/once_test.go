package server

import (
	"testing"

	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
)

// TestKeptCredentials: somebody who listened at the port while jobeffd was away kept root's credentials. Of a question
// they are of no use. A report's is taken: it changes nothing more than the node's own second try.
func TestKeptCredentials(t *testing.T) {
	socket := mungetest.Start(t)
	text := body(t, report(7, alice))
	made := func(method, path string, body []byte) string {
		cred, err := munge.Encode(socket, wire.AuthPayload(method, path, body, nonce()), 0)
		if err != nil {
			t.Fatal(err)
		}
		return cred
	}
	const mute = "/v1/workloads/x/mute"
	list, page, remove, post := made("GET", "/v1/jobs", nil), made("GET", "/healthz", nil), made("DELETE", mute, nil), made("POST", "/v1/reports", text)
	s := start(t, func(o *Options) { o.MungeSocket = socket })
	const before = "was made before this jobeffd began"
	s.check(t, "a list", request{Addr: s.tcp, Method: "GET", Path: "/v1/jobs", Cred: list}.do(), 401, before)
	s.check(t, "health", request{Addr: s.tcp, Method: "GET", Path: "/healthz", Cred: page}.do(), 401, before)
	s.check(t, "the end of a mute", request{Addr: s.tcp, Method: "DELETE", Path: mute, Cred: remove}.do(), 401, before)
	s.check(t, "a report", request{Addr: s.tcp, Method: "POST", Path: "/v1/reports", Body: text, Cred: post}.do(), 200, `{"new":true}`)
}
