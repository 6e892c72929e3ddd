package server

import (
	"net/http"
	"runtime"
	"syscall"
)

// usualNice is that of a process that nobody made nice.
const usualNice = 0

// ownNice is the nice value of the calling thread, and of all before one changes its own.
func ownNice() int {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return usualNice
	}
	return 20 - raw // Linux answers from 40 to 1
}

// promptly lets a handler run at the usual priority where the process has a lower one,
// nice, and may raise it: jobeffd.service has Nice= and LimitNICE=. Somebody waits for its few
// milliseconds of work. On a thread like those that take reports it has its turn after all of
// them, several times: while 200 nodes report as fast as they can, the slowest hundredth took
// 40 to 50 ms instead of about 25. It is not for lists and pages with pictures: a user who
// asks for them as often as he may would keep reports waiting.
func promptly(nice int, h http.HandlerFunc) http.HandlerFunc {
	if nice <= usualNice {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if syscall.Setpriority(syscall.PRIO_PROCESS, 0, usualNice) == nil { // of this thread alone
			defer syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice)
		}
		h(w, r)
	}
}
