package main

import (
	"context"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// keepAlive tells systemd that this process is ready, and then that it still runs, twice in
// each WatchdogSec= of its unit, until the context ends. Without systemd it does nothing.
func keepAlive(ctx context.Context) {
	sd.SdNotify(false, sd.SdNotifyReady)
	within, err := sd.SdWatchdogEnabled(false)
	if err != nil || within == 0 {
		return
	}
	for tick := time.NewTicker(within / 2); ; {
		sd.SdNotify(false, sd.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
