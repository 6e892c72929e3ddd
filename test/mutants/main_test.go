package main

import (
	"os"
	"testing"
)

// A change of the code changes the list, too.
func TestListFitsTheCode(t *testing.T) {
	text, err := os.ReadFile("../../" + list)
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := parse(string(text))
	if err != nil || len(mutants) < 40 {
		t.Fatalf("%d mutants, %v", len(mutants), err)
	}
	if err := (&trial{dir: "../.."}).fit(mutants); err != nil {
		t.Error(err)
	}
}
