package policy

import (
	"strings"
	"testing"
)

// TestFieldsAreDocumented: every field has its name, its type and a sentence of help.
func TestFieldsAreDocumented(t *testing.T) {
	for i, f := range AllFields() {
		if f.Name == "" || f.Type == "" || len(f.Doc) < 10 || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: %+v", fieldsType.Field(i).Name, f)
		}
	}
	for _, names := range [][]string{measuredFields, detailFields} {
		for _, name := range names {
			if _, ok := fieldIndex[name]; !ok {
				t.Errorf("%s is no field", name)
			}
		}
	}
}
