package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
)

// read runs the reader until the context ends. It opens the database beside the writer, and
// neither needs the other. So no question waits behind reports, and no question can stop
// reports.
func read(ctx context.Context, cfg *etc.Config, log zerolog.Logger) (err error) {
	if readerAt(cfg) == "" {
		return configError{errors.New(`jobeffd --read needs an address of its own: set client.to, for example to "unix:/run/jobeffd-read/jobeffd.sock"`)}
	}
	o, err := options(cfg, log)
	if err != nil {
		return err
	}
	if o.Store, err = store.OpenBeside(cfg.Server.Database); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Store.Close()) }()
	ofSlurm(o.Store, cfg)
	listeners, err := readersUnit(cfg).listen()
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	o.Reader = true
	background, cancel := context.WithCancel(context.Background())
	defer cancel()
	go keepAlive(background)
	log.Info().Str("version", etc.Version).Str("database", store.Name(cfg.Server.Database)).Str("to", readerAt(cfg)).
		Int("pid", os.Getpid()).Msg("jobeffd --read is ready")
	err = server.New(o).Serve(ctx, slices.Collect(maps.Values(listeners))...)
	log.Info().Msg("jobeffd --read ends")
	return err
}
