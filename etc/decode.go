package etc

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// decode reads TOML over what c holds, then checks it. Every error begins with
// file:line.
func decode(c *Config, file string, text []byte) error {
	doc := document{Config: c}
	md, err := toml.Decode(string(text), &doc)
	own := make([]Rule, len(doc.Rules))
	for i := range own {
		if err == nil {
			err = md.PrimitiveDecode(doc.Rules[i], &own[i])
		}
	}
	if err != nil {
		return syntaxError(file, err)
	}
	places := NewFile(file, text)
	if err := c.known(md.Undecoded(), places); err != nil {
		return err
	}
	set := make([]map[string]any, len(own)) // last: decoding into a map makes unknown keys count as decoded
	for i := range set {
		if err := md.PrimitiveDecode(doc.Rules[i], &set[i]); err != nil {
			return syntaxError(file, err)
		}
	}
	c.Rules, err = mergeRules(c.Rules, own, set, places)
	return err
}

// decodeNode is decode without the rules.
func decodeNode(c *Config, file string, text []byte) error {
	md, err := toml.Decode(string(text), &document{Config: c})
	if err != nil {
		return syntaxError(file, err)
	}
	ofRules := func(key toml.Key) bool { return key[0] == "rule" }
	return c.known(slices.DeleteFunc(md.Undecoded(), ofRules), NewFile(file, text))
}

// known refuses a file with unknown keys or wrong values.
func (c *Config) known(undecoded []toml.Key, file *File) error {
	if len(undecoded) > 0 {
		return unknownKey(file, undecoded[0])
	}
	if key, msg := c.check(); msg != "" {
		return fmt.Errorf("%s: %s: %s", file.at(file.lineOf(strings.Split(key, "."))), key, msg)
	}
	return c.checkClusters(file)
}

// document is what the toml package fills from a file. It holds the file's rules apart: mergeRules
// matches them with the known rules by name, and the package would write them over the first ones.
type document struct {
	*Config
	Rules []toml.Primitive `toml:"rule"`
}

// typeError matches the toml package's error for a value of the wrong type. The error lacks the
// line if a whole table has the wrong type. The pattern is compiled only where it is needed, so
// that no command waits for it at its start.
const typeError = `^toml: (?:line (\d+) )?\(last key "([^"]*)"\): (?:incompatible types: TOML value has type (\S+); destination has type (\S+)|(.*))$`

// syntaxError puts file:line in front of the toml package's errors.
func syntaxError(file string, err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %s", file, max(parse.Position.Line, 1), parse.Message)
	}
	m := regexp.MustCompile(typeError).FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%s:1: %w", file, err)
	}
	line, _ := strconv.Atoi(m[1])
	what := m[5]
	if what == "" {
		what = fmt.Sprintf("wants a value of type %s, not %s", typeName(m[4]), typeName(m[3]))
	}
	return fmt.Errorf("%s:%d: %s: %s", file, max(line, 1), m[2], what)
}

// typeName names a type in TOML's words.
func typeName(s string) string {
	switch s {
	case "bool":
		return "boolean (true or false)"
	case "int64", "int":
		return "integer"
	case "float64":
		return "number"
	case "slice", "[]interface", "[]any", "[]interface {}":
		return "list"
	case "map[string]interface", "map[string]any", "map[string]interface {}", "map", "struct":
		return "table"
	}
	return s
}

var configType = reflect.TypeFor[Config]()

// unknownKey names the key, its line and the keys that would be known there.
func unknownKey(file *File, key toml.Key) error {
	known, parent := knownKeys(configType, key)
	where := "here"
	if parent != "" {
		where = "in [" + parent + "]"
	}
	return fmt.Errorf("%s: unknown key %q (known %s: %s)", file.at(file.lineOf(key)), key.String(), where, strings.Join(known, ", "))
}

// knownKeys lists the keys of the innermost known table on the way to key, and names that table.
func knownKeys(t reflect.Type, key []string) (known []string, parent string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		table := f.Type
		if table.Kind() == reflect.Slice { // of tables, or it has no keys
			table = table.Elem()
		}
		if name == key[0] && table.Kind() == reflect.Struct && len(key) > 1 {
			known, parent = knownKeys(table, key[1:])
			return known, strings.TrimSuffix(name+"."+parent, ".")
		}
		if name != "" {
			known = append(known, name)
		}
	}
	return known, ""
}
