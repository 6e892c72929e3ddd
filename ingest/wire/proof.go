package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// ProofHeader carries jobeffd's credential over an answer on TCP. It is a trailer if the answer was
// sent before its end was known. Without it, whoever took the port while jobeffd was away could
// answer.
const ProofHeader = "Jobeff-Proof"

// provenHeaders are the fields of an answer's header that its proof covers.
var provenHeaders = []string{AlarmHeader, "Retry-After"}

// Proof is the sum of an answer. It begins with the credential of the request, which names who asked
// and what: an answer to anybody else, or to another request, has another sum. The caller writes the
// body to it.
type Proof struct {
	hash.Hash
	nonce string
}

// NewProof begins the proof of an answer with this header.
func NewProof(credential, nonce string, header func(name string) string) Proof {
	p := Proof{sha256.New(), nonce}
	fmt.Fprintln(p, credential)
	for _, name := range provenHeaders {
		fmt.Fprintf(p, "%s: %s\n", name, header(name))
	}
	return p
}

// Payload is what jobeffd's credential carries. No request's AuthPayload begins so.
func (p Proof) Payload(status int) []byte {
	return fmt.Append(nil, "jobeff1-answer ", p.nonce, " ", status, " ", hex.EncodeToString(p.Sum(nil)))
}
