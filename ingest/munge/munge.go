// Package munge makes and checks munge credentials. They show jobeff, over TCP, which user of which
// machine asks or answers.
//
// It stands between ingest's client and server: a client signs what it asks, jobeffd what it answers. It loads the
// library at first use, so a site without munge can build jobeff and run it on a unix socket. Each call has its own
// context, so several goroutines may call at once.
package munge

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -Werror
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "je_munge.h"
import "C"

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Why a credential was refused. Its uid and payload are then never used.
var (
	ErrExpired  = errors.New("the munge credential has expired (are the clocks of both machines right?)")
	ErrRewound  = errors.New("the munge credential was made in the future (are the clocks of both machines right?)")
	ErrReplayed = errors.New("the munge credential was used before")
	ErrInvalid  = errors.New("the munge credential is not valid (has every machine the same munge key?)")
	// ErrAway: munge itself does not answer, so nothing is known of the credential.
	ErrAway = errors.New("munge cannot be asked (is munged running, and is munge.socket right in the configuration?)")
)

// The codes of munge.h that matter here.
const (
	codeSocket       = 6
	codeTimeout      = 7
	codeBadCred      = 8
	codeExpired      = 15
	codeRewound      = 16
	codeReplayed     = 17
	codeUnauthorized = 18
)

// Lifetime is how long a credential is valid by default, before and after it was made: clocks differ.
const Lifetime = 5 * time.Minute

// maxPayload bounds what a credential may carry; ours are under 4 KiB.
const maxPayload = 64 << 10

// Cred is what a valid credential says.
type Cred struct {
	UID, GID uint32
	Addr     netip.Addr // of the host that made it, as its munged says
	Encoded  time.Time  // by that host's CLOCK_REALTIME, in whole seconds
	TTL      time.Duration
	Payload  []byte
}

var load = sync.OnceValue(func() error {
	if why := C.je_munge_load(); why != nil {
		return fmt.Errorf("%w: %s: install munge, or use the unix socket", ErrAway, C.GoString(why))
	}
	return nil
})

// Encode makes a credential of payload for the caller's own uid. An empty socket means munge's
// default. ttl is in whole seconds; 0 means Lifetime.
func Encode(socket string, payload []byte, ttl time.Duration) (string, error) {
	if err := load(); err != nil {
		return "", err
	}
	if len(payload) == 0 || len(payload) > maxPayload {
		return "", fmt.Errorf("munge: payload of %d bytes", len(payload))
	}
	if ttl == 0 {
		ttl = Lifetime
	}
	release, err := turn()
	if err != nil {
		return "", err
	}
	defer release()
	csocket := C.CString(socket)
	defer C.free(unsafe.Pointer(csocket))
	var cred, why *C.char
	code := C.je_munge_encode(csocket, C.int(ttl/time.Second), unsafe.Pointer(&payload[0]), C.int(len(payload)), &cred, &why)
	defer C.free(unsafe.Pointer(cred))
	defer C.free(unsafe.Pointer(why))
	if code != 0 {
		return "", refusal(int(code), C.GoString(why))
	}
	return C.GoString(cred), nil
}

// asking bounds the questions to munged at once. Each holds a thread, for ten seconds if munged is
// stopped, and Go ends a program of 10,000 threads. munged itself answers two at a time.
var asking = make(chan struct{}, 64)

// patience is how long a question waits for its turn.
const patience = 5 * time.Second

func turn() (release func(), err error) {
	select {
	case asking <- struct{}{}:
		return func() { <-asking }, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%w: %d questions wait for an answer", ErrAway, cap(asking))
	}
}

// Decode checks a credential with the local munged. Its errors wrap one of this package's.
func Decode(socket, cred string) (*Cred, error) {
	if err := load(); err != nil {
		return nil, err
	}
	if cred == "" || len(cred) > 2*maxPayload || strings.ContainsRune(cred, 0) {
		return nil, ErrInvalid
	}
	release, err := turn()
	if err != nil {
		return nil, err
	}
	defer release()
	csocket, ccred := C.CString(socket), C.CString(cred)
	defer C.free(unsafe.Pointer(csocket))
	defer C.free(unsafe.Pointer(ccred))
	var out C.struct_je_munge_cred
	var why *C.char
	code := C.je_munge_decode(csocket, ccred, &out, &why)
	defer C.free(unsafe.Pointer(why))
	if code != 0 {
		return nil, refusal(int(code), C.GoString(why))
	}
	defer C.free(out.payload)
	return &Cred{
		UID: uint32(out.uid), GID: uint32(out.gid),
		Addr:    netip.AddrFrom4(*(*[4]byte)(unsafe.Pointer(&out.addr4))),
		Encoded: time.Unix(int64(out.encoded_s), 0),
		TTL:     time.Duration(out.ttl_s) * time.Second,
		Payload: C.GoBytes(out.payload, out.length),
	}, nil
}

// SameKey says whether two munged have the same key. An error says that it cannot be told now.
func SameKey(socket, other string) (bool, error) {
	cred, err := Encode(socket, []byte("jobeff: is it the same key?"), 0)
	if err != nil {
		return false, err
	}
	_, err = Decode(other, cred)
	if errors.Is(err, ErrAway) {
		return false, err
	}
	return !errors.Is(err, ErrInvalid), nil
}

// refusal turns a return code into an error. An unknown code says nothing of the credential,
// so it counts as ErrAway.
func refusal(code int, why string) error {
	switch {
	case code == codeExpired:
		return ErrExpired
	case code == codeRewound:
		return ErrRewound
	case code == codeReplayed:
		return ErrReplayed
	case code >= codeBadCred && code < codeExpired, code == codeUnauthorized:
		return fmt.Errorf("%w: %s", ErrInvalid, why)
	case code == codeSocket || code == codeTimeout:
		return fmt.Errorf("%w: %s", ErrAway, why)
	}
	return fmt.Errorf("%w: code %d %s", ErrAway, code, why)
}
