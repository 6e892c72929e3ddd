package wire

// What tests outside of the package use.
var (
	Earliest, Latest = earliest, latest
	IsPlain          = isPlain
	UnmarshalReport  = unmarshalReport
	Decompress1      = decompress
)

const MaxText = maxText
