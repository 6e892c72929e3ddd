package job

// What tests outside of the package use.
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
	OtherPrograms = otherPrograms
)
