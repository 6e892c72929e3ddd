package main

import "slices"

// notYet are the situations that are not told right yet, by what is missing.
var notYet = map[string][]string{}

// waits says whether a situation is not told right yet, and what is missing.
func waits(name string) (why string, later bool) {
	for why, names := range notYet {
		if slices.Contains(names, name) {
			return why, true
		}
	}
	return "", false
}
