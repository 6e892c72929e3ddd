// Command sbom lists what the programs are made of, in SPDX 2.3: each Go module with its version
// and checksum, as the linker wrote it into them. `make release` puts it beside the packages. Our C
// is linked to libc only.
//
//	sbom VERSION SECONDS PROGRAM…
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []part         `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type part struct {
	ID       string      `json:"SPDXID"`
	Name     string      `json:"name"`
	Version  string      `json:"versionInfo"`
	Download string      `json:"downloadLocation"`
	Analyzed bool        `json:"filesAnalyzed"`
	Refs     []reference `json:"externalRefs,omitempty"`
	Comment  string      `json:"comment,omitempty"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

func main() {
	text, err := list(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
	os.Stdout.Write(append(text, '\n'))
}

func list(args []string) ([]byte, error) {
	if len(args) < 3 {
		return nil, fmt.Errorf("usage: sbom VERSION SECONDS PROGRAM…")
	}
	seconds, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return nil, err
	}
	d := &document{Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "jobeff-" + args[0],
		Creation: creation{time.Unix(seconds, 0).UTC().Format(time.RFC3339), []string{"Tool: jobeff-sbom"}}}
	modules := map[string]part{}
	for _, file := range args[2:] {
		if err := d.addProgram(file, args[0], modules); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	d.Packages = append(d.Packages, slices.SortedFunc(maps.Values(modules), func(a, b part) int { return cmp.Compare(a.ID, b.ID) })...)
	text, err := json.Marshal(d.Packages)
	d.Namespace = fmt.Sprintf("https://spdx.org/spdxdocs/%s-%x", d.Name, sha256.Sum256(text)) // unique, as SPDX asks
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(d, "", " ")
}

// addProgram adds a program, and its modules to those that are known.
func (d *document) addProgram(file, version string, modules map[string]part) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	program := part{ID: id(filepath.Base(file), ""), Name: filepath.Base(file), Version: version, Download: "NOASSERTION", Comment: "built with " + info.GoVersion}
	d.Packages = append(d.Packages, program)
	d.Relationships = append(d.Relationships, relationship{d.ID, "DESCRIBES", program.ID})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := part{ID: id(m.Path, m.Version), Name: m.Path, Version: m.Version, Download: "https://" + m.Path, Comment: m.Sum,
			Refs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}}}
		modules[p.ID] = p
		d.Relationships = append(d.Relationships, relationship{program.ID, "CONTAINS", p.ID})
	}
	return nil
}

// id makes a name of the letters that SPDX allows.
func id(name, version string) string {
	return "SPDXRef-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.TrimSuffix(name+"-"+version, "-"))
}
