package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"jobeff/etc"
)

// guides are the documents for people: README.md and those of doc/.
func guides(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range append(paths, "README.md") {
		all[path] = fileText(t, path)
	}
	return all
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Bounds that keep the documents readable.
const (
	mostReadmeLines  = 200
	mostMeanSentence = 16 // words
)

func TestReadmeIsShort(t *testing.T) {
	t.Chdir("../..")
	if n := strings.Count(fileText(t, "README.md"), "\n"); n > mostReadmeLines {
		t.Errorf("README.md has %d lines, more than %d: doc/ has room", n, mostReadmeLines)
	}
}

// TestSentencesAreShort bounds the mean length of a document's sentences.
func TestSentencesAreShort(t *testing.T) {
	t.Chdir("../..")
	for path, text := range guides(t) {
		words, sentences := 0, prose(text)
		for _, s := range sentences {
			words += len(strings.Fields(s))
		}
		if mean := float64(words) / float64(len(sentences)); mean > mostMeanSentence {
			t.Errorf("%s: %.1f words in the mean sentence, more than %d", path, mean, mostMeanSentence)
		}
	}
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	noProse   = regexp.MustCompile(`(?m)^(#.*|\|.*|    .*|<!--.*|!\[.*|\s*)$`)
	newItem   = regexp.MustCompile(`(?m)^(- |\d+\. )`)
	codeWords = regexp.MustCompile("`[^`]*`")
	fullStop  = regexp.MustCompile(`[.!?]\s`)
)

// prose is the sentences of a document's paragraphs and lists, a piece of code as one word.
func prose(markdown string) (sentences []string) {
	text := codeBlock.ReplaceAllString(markdown, "\n")
	text = noProse.ReplaceAllString(text, "\x00") // a paragraph ends here
	text = newItem.ReplaceAllString(text, "\x00")
	text = codeWords.ReplaceAllString(text, "code")
	for paragraph := range strings.SplitSeq(text, "\x00") {
		for _, s := range fullStop.Split(paragraph+" ", -1) {
			if strings.TrimSpace(s) != "" {
				sentences = append(sentences, s)
			}
		}
	}
	return sentences
}

func TestProse(t *testing.T) {
	got := prose("# Head\nOne `two three` four. Five\nsix.\n\n- seven\n- eight\n\n    code\n```\nmore code.\n```\n| a | table |\n")
	if len(got) != 4 || len(strings.Fields(got[0])) != 3 || len(strings.Fields(got[1])) != 2 {
		t.Errorf("got %d sentences: %q", len(got), got)
	}
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	anchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks: what the documents link to is there, also the chapter.
func TestLinks(t *testing.T) {
	t.Chdir("../..")
	for path, text := range guides(t) {
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			file, chapter, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(path), file)
			if file == "" {
				target = path
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if chapter != "" && !anchors(fileText(t, target))[chapter] {
				t.Errorf("%s: %s has no chapter %q", path, target, chapter)
			}
		}
	}
}

// anchors are the names that a browser knows a document's chapters by.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(anchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}

// TestEveryWarningIsExplained: the admin's guide has a row for each code.
func TestEveryWarningIsExplained(t *testing.T) {
	t.Chdir("../..")
	guide := fileText(t, "doc/ADMIN.md")
	codes := stringConstants(t, "policy/doubt/warnings.go", "Warn")
	if len(codes) < 30 {
		t.Fatalf("only %d codes found", len(codes))
	}
	for _, path := range []string{"policy/curve/result.go", "policy/workload/study.go", "policy/workload/mix.go"} {
		codes = append(codes, stringConstants(t, path, "Warn")...)
	}
	for _, code := range codes {
		if !strings.Contains(guide, "\n| `"+code+"` |") {
			t.Errorf("doc/ADMIN.md has no row for the warning %s", code)
		}
	}
	_, rows, _ := strings.Cut(guide, "## 13. Every warning")
	if n := strings.Count(rows, "\n| `"); n != len(codes) {
		t.Errorf("doc/ADMIN.md explains %d warnings; there are %d", n, len(codes))
	}
}

// TestEveryRuleIsExplained: RULES has a row for each shipped rule.
func TestEveryRuleIsExplained(t *testing.T) {
	t.Chdir("../..")
	guide := fileText(t, "doc/RULES.md")
	for _, r := range etc.Default().Rules {
		if !strings.Contains(guide, "\n| `"+r.Name+"` |") {
			t.Errorf("doc/RULES.md has no row for the rule %s", r.Name)
		}
	}
}

// stringConstants are the values of a file's constants whose name has a prefix.
func stringConstants(t *testing.T, path, prefix string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, prefix) && len(spec.Values) == 1 {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, _ := strconv.Unquote(literal.Value)
				values = append(values, value)
			}
		}
		return true
	})
	return values
}

// TestPicturesAreNew: the guides' pictures were made of what stands in the tree.
func TestPicturesAreNew(t *testing.T) {
	t.Chdir("../..")
	now, err := exec.Command("test/pictures.sh", "--inputs").Output()
	if err != nil {
		t.Fatal(err)
	}
	if made := fileText(t, "doc/pictures.sha256"); made != string(now) {
		t.Errorf("doc/job.png and doc/digest.png are of other data, templates or style: make pictures makes them again")
	}
}
