package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// AuthScheme is the word before the credential in the Authorization header.
const AuthScheme = "Munge"

// AuthPayload is what a credential on TCP carries. It binds the viewer or node, whom munge
// names, to this one request. body is what goes over the wire, compressed or not.
func AuthPayload(method, uri string, body []byte, nonce string) []byte {
	sum := sha256.Sum256(body)
	return fmt.Append(nil, AuthPrefix(method, uri), hex.EncodeToString(sum[:]), " ", nonce)
}

// AuthPrefix is the beginning of AuthPayload, which the header of a request tells. Then comes the body's
// sum, of AuthSumSize characters.
func AuthPrefix(method, uri string) string { return "jobeff1 " + method + " " + uri + " " }

// AuthSumSize is the length of the body's sum in AuthPayload.
const AuthSumSize = 2 * sha256.Size

// BatchAnswer is the answer to one line of a batch: 200, or the status that this report alone
// would get.
type BatchAnswer struct {
	Status int    `json:"status"`
	New    bool   `json:"new,omitempty"`
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// ErrNewer marks what a later version wrote. It is not wrong: keep it until the server is
// upgraded.
var ErrNewer = errors.New("the report is of a later version of jobeff: upgrade jobeffd first")

// MaxReportBytes bounds a report, as JSON.
const MaxReportBytes = 32 << 20

// Limits of a batch, checked by client and server.
const (
	MaxBatchBytes = 1 << 20
	MaxBatchLines = 4096
)
