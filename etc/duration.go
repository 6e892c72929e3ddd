package etc

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span written as Go writes it: "5s", "1m30s", "500ms".
type Duration time.Duration

// UnmarshalText reads "5s"; a bare number has no unit and is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time span: write it like \"5s\", \"1m30s\" or \"500ms\"", text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative: a time span is \"0s\" or more", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the span as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the span as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// Days is a time span in whole days: "90d".
type Days time.Duration

// UnmarshalText reads "90d", or "90days" as in sacct's times.
func (d *Days) UnmarshalText(text []byte) error {
	number, unit := string(text), false
	for _, u := range []string{"d", "day", "days"} {
		if n, ends := strings.CutSuffix(string(text), u); ends {
			number, unit = n, true
		}
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n > 99_999 || !unit && number != "0" {
		return fmt.Errorf("%q is not a number of days: write it like \"90d\", or \"0\" for ever", text)
	}
	*d = Days(time.Duration(n) * 24 * time.Hour)
	return nil
}

// MarshalText writes the span as UnmarshalText reads it.
func (d Days) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the number of days: "90d".
func (d Days) String() string { return fmt.Sprintf("%dd", time.Duration(d)/(24*time.Hour)) }
