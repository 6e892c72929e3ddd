package server

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"strings"
	"testing"
	"time"

	views "jobeff/report"
	"jobeff/report/view"
)

// TestSaidToBeWrong: who got a notice says once that it was wrong, by a button on a page of ours. No link, no other
// site and no other user does.
func TestSaidToBeWrong(t *testing.T) {
	socket := pageServer(t, believed)
	ours := map[string]string{"Sec-Fetch-Site": "same-origin"}
	through := func(name string, more ...string) map[string]string {
		h := map[string]string{"X-Forwarded-User": name}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	const unsaid = "<textarea"
	said := "It was said to be wrong on " + time.Now().Format(time.DateOnly) + ". Those who run the cluster read it in the week's digest."
	const low, hung, shadowed = "/jobs/7/wrong?rule=low", "/jobs/7/wrong?rule=hung", "/jobs/7/wrong?rule=shadowed"
	for _, c := range []struct {
		name, method, path string
		uid                int
		header             map[string]string
		body               string
		status             int
		text               string
	}{
		{"its page", "GET", low, daemon, nil, "", 200, unsaid},
		{"a mail scanner's", "GET", low + "&why=x", daemon, ours, "", 400, "known are rule"},
		{"with a body", "GET", low, daemon, ours, "why=x", 200, unsaid},
		{"its head", "HEAD", low, daemon, ours, "", 200, ""},
		{"another method", "PUT", low, daemon, ours, "why=x", 404, ""},
		{"without the browser's word", "POST", low, daemon, nil, "why=x", 403, "no page of jobeff sent this"},
		{"of another site", "POST", low, daemon, map[string]string{"Sec-Fetch-Site": "cross-site"}, "why=x", 403, "no page of jobeff"},
		{"of another port", "POST", low, daemon, map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://x"}, "why=x", 403, "no page of jobeff"},
		{"of a bookmark", "POST", low, daemon, map[string]string{"Sec-Fetch-Site": "none"}, "why=x", 403, "no page of jobeff"},
		{"of another origin", "POST", low, daemon, map[string]string{"Origin": "https://evil.example.org"}, "why=x", 403, "no page of jobeff"},
		{"of a hidden origin", "POST", low, daemon, map[string]string{"Origin": "null"}, "why=x", 403, "no page of jobeff"},
		{"of the link's host, in the clear", "POST", low, daemon, map[string]string{"Origin": "http://portal.example.org"}, "why=x", 403, "no page of jobeff"},
		{"of the host, in the clear", "POST", low, wwwData, through("daemon", "X-Forwarded-Proto", "https", "Origin", "http://jobeffd"), "why=x", 403, "no page of jobeff"},
		{"of the host, of a scheme that nobody tells", "POST", low, wwwData, through("daemon", "Origin", "http://jobeffd"), "why=x", 403, "no page of jobeff"},
		{"of another host", "POST", low, wwwData, through("daemon", "X-Forwarded-Proto", "http", "Origin", "http://x.jobeffd"), "why=x", 403, "no page of jobeff"},
		{"another user", "POST", low, games + 1, ours, "why=x", 404, "you got no notice of job \"7\""},
		{"another user's page", "GET", low, games + 1, nil, "", 404, "you got no notice of job \"7\""},
		{"a user's header", "POST", low, games + 1, through("daemon", "Sec-Fetch-Site", "same-origin"), "why=x", 404, "you got no notice"},
		{"a proxy that names nobody", "POST", low, wwwData, ours, "why=x", 401, "names no user"},
		{"another rule", "POST", "/jobs/7/wrong?rule=x", daemon, ours, "why=x", 404, "you got no notice"},
		{"no rule", "POST", "/jobs/7/wrong", daemon, ours, "why=x", 404, "you got no notice"},
		{"another job", "POST", "/jobs/8/wrong?rule=low", daemon, ours, "why=x", 404, "you got no notice"},
		{"in shadow, its user", "POST", shadowed, daemon, ours, "why=x", 404, "you got no notice"},
		{"too much", "POST", low, daemon, ours, "why=" + strings.Repeat("x", maxWrongBytes), 413, "too large"},
		{"no form", "POST", low, daemon, ours, "why=%zz", 400, "cannot be read"},
		{"nothing until here", "GET", low, daemon, nil, "", 200, unsaid},

		{"the button", "POST", low, daemon, ours, "why=a+master%0D%0A%1b[31m" + strings.Repeat("%C3%A4", 500), 303, ""},
		{"shows it", "GET", low, daemon, nil, "", 200, said + " In these words: a master ?[31m" + strings.Repeat("ä", 500)},
		{"the button again", "POST", low, daemon, ours, "why=other", 303, ""},
		{"stays", "GET", low, daemon, nil, "", 200, said + " In these words: a master ?[31m"},
		{"through the proxy, by the link's origin", "POST", hung, wwwData, through("daemon", "Origin", "https://portal.example.org"), "", 303, ""},
		{"through the proxy, by what it was asked for", "POST", hung, wwwData, through("daemon", "X-Forwarded-Proto", "http", "Origin", "http://jobeffd"), "", 303, ""},
		{"shows that", "GET", hung, wwwData, through("daemon"), "", 200, said},
		{"in shadow, an operator", "POST", shadowed, games, ours, "why=no", 303, ""},
		{"shows who", "GET", shadowed, games, nil, "", 200, said + " In these words: no"},
	} {
		got := request{Addr: socket, Method: c.method, Path: c.path, Header: c.header, Body: []byte(c.body)}.as(t, c.uid)
		if got.Status != c.status || !strings.Contains(html.UnescapeString(got.Text), c.text) {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.Status, got.Text, c.status, c.text)
		}
		if path := got.Header.Get("Location"); c.status == 303 && path != strings.TrimPrefix(c.path, "/jobs/7/") {
			t.Errorf("%s: it leads to %q", c.name, path)
		}
		if policy := got.Header.Get("Content-Security-Policy"); c.method == "GET" && c.status == 200 && policy != views.FormPolicy+"; frame-ancestors 'none'" {
			t.Errorf("%s: the policy is %q", c.name, policy)
		}
	}
	now := time.Now().UTC()
	path := fmt.Sprintf("/v1/digest?from=%s&to=%s", now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
	var digest view.Digest
	if got := (request{Addr: socket, Method: "GET", Path: path}).as(t, games); json.Unmarshal([]byte(got.Text), &digest) != nil {
		t.Fatalf("%+v", got)
	}
	by := map[string]uint32{}
	for _, one := range digest.Wrong {
		by[one.Rule] = one.By
	}
	if want := map[string]uint32{"low": daemon, "hung": daemon, "shadowed": games}; !maps.Equal(by, want) {
		t.Errorf("said by %v, want %v", by, want)
	}
}
