package view

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"jobeff/policy"
)

// Write prints v in ASCII only. JSON may hold control characters beyond ASCII, and a terminal
// would obey them.
func Write(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	out := make([]byte, 0, len(b)+1)
	for _, r := range string(b) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	_, err = w.Write(append(out, '\n'))
	return err
}

// Verdicts writes verdicts as JSON for ReadVerdicts.
func Verdicts(verdicts []policy.Verdict) ([]byte, error) { return json.Marshal(verdicts) }

// ReadVerdicts reads what Verdicts wrote, which has no figures.
func ReadVerdicts(text []byte) (all []policy.Verdict, err error) {
	return all, json.Unmarshal(text, &all)
}
