package ingest

import "github.com/go-json-experiment/json/v1"

// UnmarshalFast is encoding/json's Unmarshal, twice as fast on a report: the coming
// release of it, which takes the same texts for the same values. Libraries that are
// faster still leave Go's memory safety, which what comes over the network does not get.
func UnmarshalFast(text []byte, v any) error { return json.Unmarshal(text, v) }
