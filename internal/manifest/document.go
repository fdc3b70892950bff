package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	yaml11 "sigs.k8s.io/yaml"
)

// Limits on what aliases and nesting may make of a document. A manifest that a
// person wrote is far below them.
const (
	maxNodes = 200_000
	maxDepth = 100
)

// documents splits a source into the nodes of its documents, empty ones left
// out. Aliases and merge keys are gone from them.
func documents(file string, data []byte) (nodes []*yaml.Node, err error) {
	// The parser is someone else's: whatever a file makes it do, it is the
	// file that is at fault.
	defer func() {
		if p := recover(); p != nil {
			err = &Error{File: file, Problem: fmt.Sprintf("not valid YAML: the parser failed: %v", p)}
		}
	}()
	if err := utf16(file, data); err != nil {
		return nil, err
	}
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return nil, nil
	}
	if trimmed[0] == '{' {
		if nodes, ok := jsonDocuments(data); ok {
			return nodes, nil
		}
	}
	if err := notUTF8(file, data); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return nodes, nil
		case err != nil:
			return nil, syntaxError(file, data, err)
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || isNull(doc.Content[0]) {
			continue
		}
		expander := expander{file: file, open: map[*yaml.Node]bool{}}
		root := expander.expand(doc.Content[0], 0)
		if expander.err != nil {
			return nil, expander.err
		}
		nodes = append(nodes, root)
	}
}

// CheckText returns the problem of a file, such as a script, that is not text in UTF-8, or nil.
func CheckText(file string, data []byte) error {
	if err := utf16(file, data); err != nil {
		return err
	}
	if err := notUTF8(file, data); err != nil {
		return err
	}
	before, _, found := bytes.Cut(data, []byte{0})
	if !found {
		return nil
	}
	return &Error{File: file, Line: 1 + bytes.Count(before, []byte("\n")), Problem: "is not text: it has a byte 0x00"}
}

// utf16 returns the problem of a file that begins as editors and shells on Windows begin UTF-16.
func utf16(file string, data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &Error{File: file, Problem: "is encoded in UTF-16; expected UTF-8"}
	}
	return nil
}

// notUTF8 returns the problem of a file with a byte that is none of UTF-8, with the line of the first one.
func notUTF8(file string, data []byte) error {
	if utf8.Valid(data) {
		return nil
	}
	valid := 0
	for valid < len(data) {
		r, size := utf8.DecodeRune(data[valid:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	line := 1 + bytes.Count(data[:valid], []byte("\n"))
	return &Error{File: file, Line: line, Problem: fmt.Sprintf("is not UTF-8: the byte 0x%X is part of another encoding; save the file as UTF-8", data[valid])}
}

var (
	yamlLine      = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.+)' referenced`)
	// The parser counts lines from 0 in these errors, from 1 in all others.
	countsFromZero = regexp.MustCompile(`did not find expected (key|node content|<document start>|'-' indicator|',' or)`)
)

// syntaxError gives the parser's error our form.
func syntaxError(file string, data []byte, err error) *Error {
	text := err.Error()
	match := yamlLine.FindStringSubmatch(text)
	line, _ := strconv.Atoi(match[1])
	if countsFromZero.MatchString(text) {
		line++
	}
	line = max(line, 1) // the parser leaves the first line out
	lines := strings.Split(string(data), "\n")
	if anchor := unknownAnchor.FindStringSubmatch(text); anchor != nil {
		line = 1 + slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "*"+anchor[1]) })
	}
	problem := "not valid YAML: " + strings.TrimPrefix(text, match[0])
	if unknownAnchor.MatchString(text) { // it may be a password that begins with *
		problem = "not valid YAML: a word that begins with * is an alias, and there is no such anchor (&); put text that begins with * in quotes"
	}
	if line <= len(lines) {
		problem += hint(lines[max(line-2, 0):line], text)
	}
	return &Error{File: file, Line: line, Problem: problem}
}

// isWideSpace reports whether a character looks like a space and is none to YAML.
func isWideSpace(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) }

// wideColon returns the hint about text in which full-width colons stand where YAML wants plain ones, or nothing.
func wideColon(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode && strings.Contains(node.Value, "：") {
		return " (it has full-width colons ：; YAML wants a plain one and a space)"
	}
	return ""
}

// isTemplate is the hint about {{ }}.
const isTemplate = " (is this a template? Render it first, for example with helm template)"

// hint says what is usually wrong with the last of these lines, or the one before.
func hint(lines []string, problem string) string {
	last, all := lines[len(lines)-1], strings.Join(lines, "\n")
	switch {
	case strings.HasPrefix(strings.TrimLeft(last, " "), "\t"):
		return " (indent with spaces, not tabs)"
	case strings.Contains(all, "{{"):
		return isTemplate
	case strings.ContainsFunc(all, isWideSpace):
		return " (is there a full-width space? YAML wants plain ones)"
	case strings.ContainsAny(all, "：，“”"):
		return " (are there full-width or curly characters ：，“”? YAML wants : , \")"
	case strings.Contains(problem, "did not find expected key"):
		return " (is this line indented like its neighbours?)"
	}
	return ""
}

// expander replaces aliases by what they stand for and merge keys (<<) by the
// fields they merge in. The lines stay those of the anchor.
type expander struct {
	file  string
	count int
	open  map[*yaml.Node]bool // anchors being expanded
	err   error
}

func (e *expander) fail(n *yaml.Node, format string, args ...any) *yaml.Node {
	if e.err == nil {
		e.err = &Error{File: e.file, Line: n.Line, Problem: fmt.Sprintf(format, args...)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}
}

func (e *expander) expand(n *yaml.Node, depth int) *yaml.Node {
	e.count++
	switch {
	case e.err != nil:
		return n
	case e.count > maxNodes:
		return e.fail(n, "the document has more than %d values once its aliases are expanded", maxNodes)
	case depth > maxDepth:
		return e.fail(n, "values are nested more than %d deep", maxDepth)
	case n.Kind == yaml.AliasNode:
		if n.Alias == nil || e.open[n.Alias] {
			return e.fail(n, "the alias *%s refers to a value that contains it", n.Value)
		}
		return e.expand(n.Alias, depth+1)
	case n.Kind == yaml.ScalarNode:
		return n
	}
	e.open[n] = true
	defer delete(e.open, n)
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Style: n.Style, Line: n.Line, Column: n.Column}
	if n.Kind != yaml.MappingNode {
		for _, item := range n.Content {
			out.Content = append(out.Content, e.expand(item, depth+1))
		}
		return out
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := e.expand(n.Content[i], depth+1), e.expand(n.Content[i+1], depth+1)
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			merged = append(merged, e.mergedFields(value)...)
			continue
		}
		out.Content = append(out.Content, asText(key), value)
	}
	for i := 0; i+1 < len(merged); i += 2 {
		if valueOf(out, merged[i].Value) == nil {
			out.Content = append(out.Content, merged[i], merged[i+1])
		}
	}
	return out
}

// asText returns a key as kubectl reads it. In its YAML 1.1, plain keys are booleans and numbers, too, which become text: y is "true", 0x10 "16".
// Other keys stay as they are.
func asText(key *yaml.Node) *yaml.Node {
	tag := key.ShortTag()
	if key.Kind != yaml.ScalarNode || key.Style != 0 || tag != "!!bool" && tag != "!!int" && tag != "!!float" && !isWordForBoolean(key) {
		return key
	}
	read := map[string]any{}
	if yaml11.Unmarshal([]byte(key.Value+": 0"), &read) != nil || len(read) != 1 {
		return key
	}
	text := *key
	text.Tag, text.Style, text.Alias = "!!str", yaml.DoubleQuotedStyle, key
	for name := range read { // there is one
		text.Value = name
	}
	return &text
}

// written returns a key as it stands in the manifest, where asText may have changed it.
func written(key *yaml.Node) string {
	if key.Alias != nil {
		return key.Alias.Value
	}
	return key.Value
}

// mergedFields returns the keys and values that "<<: value" merges in.
func (e *expander) mergedFields(value *yaml.Node) []*yaml.Node {
	switch value.Kind {
	case yaml.MappingNode:
		return value.Content
	case yaml.SequenceNode:
		var fields []*yaml.Node
		for _, item := range value.Content {
			if item.Kind != yaml.MappingNode {
				e.fail(item, "a merge key (<<) takes mappings")
				return nil
			}
			fields = append(fields, item.Content...)
		}
		return fields
	}
	e.fail(value, "a merge key (<<) takes a mapping or a list of mappings")
	return nil
}

// valueOf returns the value of a mapping's key, nil if it has no such key.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Kind == yaml.ScalarNode && mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
