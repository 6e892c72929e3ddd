package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/listing"
	"jobeff/report/view"
)

// served is a list of jobs as it is answered.
type served struct {
	Jobs []view.Job `json:"jobs"`
	More bool       `json:"more"`
	Next string     `json:"next"`
}

// TestListEndsAfterSomeBytes: a list with the jobs' executions ends after so many bytes, and says
// where it goes on. Page by page all jobs come once.
func TestListEndsAfterSomeBytes(t *testing.T) {
	s := start(t)
	const jobs = 5
	for id := range uint32(jobs) {
		s.check(t, "a report", s.post(t, report(1+id, alice)), 200, "true")
	}
	s.merged(t)
	s.server.mostAnswer = 1
	seen := ""
	path := "/v1/jobs?detail=1&user=61001"
	for pages := 0; path != "" && pages < 2*jobs; pages++ {
		got := request{Addr: s.unix, Method: "GET", Path: path}.do()
		var list served
		if err := json.Unmarshal([]byte(got.Text), &list); err != nil || got.Status != 200 {
			t.Fatalf("%v: %d %s", err, got.Status, got.Text)
		}
		if len(list.Jobs) != 1 || len(list.Jobs[0].Executions) != 1 || list.More != (list.Next != "") {
			t.Fatalf("%d jobs, more %v, next %q", len(list.Jobs), list.More, list.Next)
		}
		seen += fmt.Sprint(list.Jobs[0].JobID, " ")
		path = list.Next
	}
	if seen != "5 4 3 2 1 " && len(seen) != 10 {
		t.Errorf("jobs %s", seen)
	}
	s.server.mostAnswer = mostAnswer
	s.check(t, "all", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs?detail=1"}.do(), 200, "]}")
	s.check(t, "none", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs?user=0"}.do(), 200, `{"jobs":[]}`)
}

// TestWorkloadsEndAfterSomeBytes: so does a list of workloads, which with their runs may be large.
func TestWorkloadsEndAfterSomeBytes(t *testing.T) {
	s := start(t)
	const workloads = 5
	for id := range uint32(workloads) {
		r := report(1+id, alice)
		r.Executions[0].Workload = fmt.Sprint("w", id)
		s.check(t, "a report", s.post(t, r), 200, "true")
		tell(t, s.store, known(1+id, "n1", 1))
	}
	s.merged(t)
	for _, most := range []int{1, mostAnswer} {
		s.server.mostAnswer = most
		seen, pages := map[string]bool{}, 0
		for path := "/v1/workloads?stored=1&detail=1&limit=2&user=61001"; path != "" && pages < 2*workloads; pages++ {
			got := request{Addr: s.unix, Method: "GET", Path: path}.do()
			var list listing.WorkloadList
			if err := json.Unmarshal([]byte(got.Text), &list); err != nil || got.Status != 200 {
				t.Fatalf("%v: %d %s", err, got.Status, got.Text)
			}
			if n := len(list.Workloads); n == 0 || most == 1 && n > 1 || list.More != (list.Next != "") {
				t.Fatalf("%d workloads, more %v, next %q", n, list.More, list.Next)
			}
			for _, w := range list.Workloads {
				if seen[w.Name] || len(w.Workload.Runs) != 1 {
					t.Errorf("%s: %+v", w.Name, w)
				}
				seen[w.Name] = true
			}
			path = list.Next
		}
		if len(seen) != workloads || most == 1 && pages != workloads || most > 1 && pages != 3 {
			t.Errorf("%d workloads in %d pages of %d bytes", len(seen), pages, most)
		}
	}
}

// through is the context of requests that come through a user's connection to a socket. The requests
// themselves need not pass it.
func through(t testing.TB, s *Server, uid int) context.Context {
	t.Helper()
	l, err := ListenUnix(filepath.Join(shared(t), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	runtime.LockOSThread() // the kernel asks who this thread is
	defer runtime.UnlockOSThread()
	own := os.Geteuid()
	syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
	client, err := net.Dial("unix", l.Addr().String())
	syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(own), ^uintptr(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	c, err := s.Limit(l).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s.door.Context(ctx, c)
}

// asks is the answer to a request.
func asks(s *Server, via context.Context, method, path string, body []byte) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(via, method, path, bytes.NewReader(body)))
	return w
}

// FuzzPaging: whatever list is asked for, its pages hold each job once, and the jobs that one long
// page holds. The next page's path comes from the answer, so it is taken whatever the client sent.
func FuzzPaging(f *testing.F) {
	s := New(Options{Store: openStore(f), Log: zerolog.Nop()})
	root := through(f, s, os.Geteuid())
	begin := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	const jobs = 12
	for id := range uint32(jobs) {
		r := report(1+id, []uint32{alice, bob}[id%2])
		r.Start = begin.Add(time.Duration(id) * 250 * time.Millisecond)
		r.End = r.Start.Add(time.Duration(id%3) * time.Second)
		r.Executions[0].Start, r.Executions[0].End = r.Start, r.End
		if w := asks(s, root, "POST", "/v1/reports", body(f, r)); w.Code != http.StatusOK {
			f.Fatal(w.Code, w.Body)
		}
	}
	for _, query := range []string{
		"limit=2", "limit=5&offset=3", "limit=3&sort=lost", "detail=1", "user=61001&limit=1&job=1,3,5,9",
		"start=2026-11-20T08:00:01.3Z&limit=1", "end=2026-11-20T09:00:01.5%2B01:00&limit=2&cluster=test",
		"offset=9223372036854775807&limit=9223372036854775807", "state=a,b&limit=1", "limit=2&account=",
	} {
		f.Add(query, 1)
		f.Add(query, mostAnswer)
	}
	f.Fuzz(func(t *testing.T, query string, most int) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		path := "/v1/jobs?" + v.Encode()
		if asks(s, root, "GET", path, nil).Code != http.StatusOK {
			return
		}
		v.Del("limit")
		s.mostAnswer = mostAnswer
		want, next := pageOf(t, asks(s, root, "GET", "/v1/jobs?"+v.Encode(), nil))
		if next != "" {
			t.Fatalf("%s: %v is not all", path, want)
		}
		s.mostAnswer = most
		var got []uint32
		for next = path; next != ""; {
			var page []uint32
			page, next = pageOf(t, asks(s, root, "GET", next, nil))
			if next != "" && len(page) == 0 || len(got) > jobs {
				t.Fatalf("%s: jobs %v, then %v, next %s", path, got, page, next)
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: jobs %v, want %v", path, got, want)
		}
	})
}

// pageOf reads a page: the ids of its jobs, and the path of the next one.
func pageOf(t *testing.T, w *httptest.ResponseRecorder) (ids []uint32, next string) {
	t.Helper()
	var list served
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK || list.More != (list.Next != "") {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	for i := range list.Jobs {
		ids = append(ids, list.Jobs[i].JobID)
	}
	return ids, list.Next
}

// TestETag: whoever has an answer already is told so, and no more, until it changes. Another's mark helps nobody.
func TestETag(t *testing.T) {
	s := start(t)
	s.check(t, "a report", s.post(t, report(1, alice)), 200, "true")
	s.merged(t)
	get := func(path, known string) request {
		return request{Addr: s.unix, Method: "GET", Path: path, Header: map[string]string{"If-None-Match": known}}
	}
	marks := map[string]string{}
	for _, path := range []string{"/v1/jobs", "/v1/jobs?limit=1&detail=1", "/v1/jobs/1", "/v1/workloads"} {
		first := get(path, "").do()
		mark := first.Header.Get("ETag")
		if marks[path] = mark; len(mark) < 10 || first.Status != 200 {
			t.Fatalf("%s: %d, ETag %q", path, first.Status, mark)
		}
		for known, status := range map[string]int{mark: 304, "W/" + mark: 304, `"x", ` + mark: 304, "*": 304, `"x"`: 200, mark[:5]: 200} {
			if got := get(path, known).do(); got.Status != status || got.Header.Get("ETag") != mark || (got.Text == "") != (status == 304) {
				t.Errorf("%s with %s: %d, ETag %q, %d bytes", path, known, got.Status, got.Header.Get("ETag"), len(got.Text))
			}
		}
		if got := get(path, mark).as(t, 61003); got.Status == 304 && path != "/v1/workloads" {
			t.Errorf("%s: who sees nothing learns that it is as before", path)
		}
	}
	s.check(t, "another report", s.post(t, report(2, alice)), 200, "true")
	s.merged(t)
	for path, status := range map[string]int{"/v1/jobs": 200, "/v1/jobs/1": 304} {
		if got := get(path, marks[path]).do(); got.Status != status {
			t.Errorf("%s: %d after another job came", path, got.Status)
		}
	}
}
