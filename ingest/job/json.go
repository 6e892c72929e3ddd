package job

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// asToday takes the same texts for the same values as encoding/json. Unlike that it stops at
// the first wrong value: a list of millions of them is not made, and no text is read twice,
// once for its syntax and once for its values, which makes a quarter.
var asToday = json.JoinOptions(v1.DefaultOptionsV1(), v1.ReportErrorsWithLegacySemantics(false))

// UnmarshalFast is encoding/json's Unmarshal, more than twice as fast on a report: the coming
// release of it. After an error, v is as far as it came. Generated code (easyjson) that keeps
// Go's memory safety, which what comes over the network needs, is not faster.
func UnmarshalFast(text []byte, v any) error { return json.Unmarshal(text, v, asToday) }

// unmarshalReport is UnmarshalFast for what may have been made to fill the memory: an
// empty object is two bytes of text, and an Execution a thousand in memory.
func unmarshalReport(text []byte, r *NodeReport) error {
	const textOfObject = 24 // bytes: on the average a report's come to more
	most := 1000 + len(text)/textOfObject
	// strings may hold as many as they like, but the quick count nearly always suffices
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("null"))
	if objects > most && countObjects(text) > most {
		return errors.New("it holds too many empty objects")
	}
	if objects <= maxExecutions { // they cannot be too many
		return UnmarshalFast(text, r)
	}
	return json.Unmarshal(text, r, asToday, fewExecutions)
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

// fewExecutions has every value of a report ask whether it is a list of executions, which
// costs a tenth of the time.
var fewExecutions = json.WithUnmarshalers(json.UnmarshalFromFunc(readExecutions))

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
