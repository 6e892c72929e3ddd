package ingest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// UnmarshalFast is encoding/json's Unmarshal, twice as fast on a report: the coming
// release of it, which takes the same texts for the same values. Libraries that are
// faster still leave Go's memory safety, which what comes over the network does not get.
func UnmarshalFast(text []byte, v any) error { return v1.Unmarshal(text, v) }

// unmarshalReport is UnmarshalFast for what may have been made to fill the memory: an
// empty object is two bytes of text, and an Execution a thousand in memory.
func unmarshalReport(text []byte, r *NodeReport) error {
	const textOfObject = 24 // bytes: on the average a report's come to more
	most := 1000 + len(text)/textOfObject
	// strings may hold as many as they like, but the quick count nearly always suffices
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("null")) > most && countObjects(text) > most {
		return errors.New("it holds too many empty objects")
	}
	return json.Unmarshal(text, r, reportOptions)
}

// countObjects counts the objects and nulls of valid JSON.
func countObjects(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '{' || c == 'n'):
			n++
		}
	}
	return n
}

var reportOptions = json.JoinOptions(v1.DefaultOptionsV1(), json.WithUnmarshalers(json.UnmarshalFromFunc(readExecutions)))

// readExecutions stops at the most that a report may have.
func readExecutions(in *jsontext.Decoder, list *[]Execution) error {
	if in.PeekKind() != '[' {
		return json.SkipFunc // the common way knows null, and what is wrong
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	if len(*list) > 0 {
		return errors.New("it has its executions twice")
	}
	for *list = []Execution{}; in.PeekKind() != ']'; {
		if len(*list) == maxExecutions {
			return fmt.Errorf("it has more than %d executions", maxExecutions)
		}
		*list = append(*list, Execution{})
		if err := json.UnmarshalDecode(in, &(*list)[len(*list)-1]); err != nil {
			return err
		}
	}
	_, err := in.ReadToken()
	return err
}
