package job

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// asToday accepts the same texts, with the same values, as encoding/json. But it stops at the
// first wrong value, so a list of millions of them is never made. It also reads each text once,
// not once for the syntax and once for the values, which saves a quarter of the time.
var asToday = json.JoinOptions(v1.DefaultOptionsV1(), v1.ReportErrorsWithLegacySemantics(false))

// UnmarshalFast is encoding/json's Unmarshal, more than twice as fast on a report: it is the
// coming release of that package. After an error, v holds what was read so far. Generated code
// (easyjson) is not faster if it keeps Go's memory safety, which data from the network needs.
func UnmarshalFast(text []byte, v any) error { return json.Unmarshal(text, v, asToday) }

// unmarshalReport is UnmarshalFast for text that may be made to fill the memory: an empty
// object is two bytes of text, but an Execution is a thousand bytes in memory.
func unmarshalReport(text []byte, r *NodeReport) error {
	const textOfObject = 24 // bytes: a report has more on average
	most := 1000 + len(text)/textOfObject
	// Strings may hold any number of them, but the quick count nearly always suffices. Each null
	// has two l, and one byte is counted 20 times as fast as four.
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("l"))/2
	if objects > most && countObjects(text) > most {
		return errors.New("it holds too many empty objects")
	}
	if objects <= maxExecutions { // so they cannot be too many
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

// fewExecutions asks of every value of a report whether it is a list of executions, which costs
// a tenth of the time.
var fewExecutions = json.WithUnmarshalers(json.UnmarshalFromFunc(readExecutions))

// readExecutions stops at the most executions that a report may have.
func readExecutions(in *jsontext.Decoder, list *[]Execution) error {
	if in.PeekKind() != '[' {
		return json.SkipFunc // the usual way handles null and errors
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
