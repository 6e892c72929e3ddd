package job

// What the tests outside of the package look at.
var (
	Earliest, Latest = earliest, latest
	IsPlain          = isPlain
	UnmarshalReport  = unmarshalReport
	Decompress1      = decompress
	Oversubscribed   = oversubscribed
)

const (
	MaxExecutions = maxExecutions
	MaxText       = maxText
)
