package recordtest

import "unsafe"

// raw are the bytes of a C value.
func raw[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
