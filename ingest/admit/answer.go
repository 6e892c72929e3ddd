package admit

import (
	"cmp"
	"fmt"
	"net/http"

	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
)

// Answer is the answer of a visit. If the request came whole and with a good credential, jobeffd signs
// the answer (wire.Proof): in the header, or behind an answer that is longer than mostHeld. It signs
// no others: somebody may have changed a request on its way, and jobeffd refused it for that.
type Answer struct {
	http.ResponseWriter
	v       *visit
	proof   wire.Proof // once something was written
	status  int
	held    []byte // not sent yet
	streams bool   // the header was sent
}

// mostHeld bounds how much of an answer is held until its end, bytes.
const mostHeld = 32 << 10

// WriteHeader notes the status of an answer that is signed.
func (a *Answer) WriteHeader(status int) {
	if a.status = status; a.v.by == nil {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write ends the visit's turn of the database: the client may read slowly.
func (a *Answer) Write(p []byte) (int, error) {
	a.v.asked()
	if a.v.by == nil {
		return a.ResponseWriter.Write(p)
	}
	a.begin()
	a.proof.Write(p)
	if !a.streams && len(a.held)+len(p) <= mostHeld {
		a.held = append(a.held, p...)
		return len(p), nil
	}
	if !a.streams {
		a.Header().Set("Trailer", wire.ProofHeader)
		a.send()
	}
	return a.ResponseWriter.Write(p)
}

// begin begins the proof, once the header is complete.
func (a *Answer) begin() {
	if a.proof.Hash == nil {
		a.status = cmp.Or(a.status, http.StatusOK)
		a.proof = wire.NewProof(a.v.by.credential, a.v.by.nonce, a.Header().Get)
	}
}

// send sends the header and what was held.
func (a *Answer) send() {
	a.streams = true
	a.ResponseWriter.WriteHeader(a.status)
	if len(a.held) > 0 {
		a.ResponseWriter.Write(a.held)
	}
	a.held = nil
}

// End signs the answer and sends what is left of it. It must not be called for an answer that was
// broken off. Where munge cannot be asked, the client gets no proof, and asks again later.
func (a *Answer) End() {
	if a.v.by == nil {
		return
	}
	a.begin()
	d := a.v.by.door
	cred, err := munge.Encode(a.v.by.socket, a.proof.Payload(a.status), 0)
	if err == nil {
		a.Header().Set(wire.ProofHeader, cred)
	} else {
		d.Log.Error().Err(err).Msg("an answer cannot be signed: the client does not believe it, and asks again later")
	}
	if !a.streams {
		if len(a.held) > 0 {
			a.Header().Set("Content-Length", fmt.Sprint(len(a.held)))
		}
		a.send()
	}
}

// Unwrap is for http.ResponseController.
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
