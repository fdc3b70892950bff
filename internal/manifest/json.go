package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// jsonDocuments reads a stream of JSON objects into the nodes that YAML would
// give. YAML is nearly a superset of JSON, but not quite: tabs may indent JSON,
// and its strings have surrogate pairs. ok is false if the data is not JSON
// after all; it may still be YAML that begins with a brace.
func jsonDocuments(data []byte) (nodes []*yaml.Node, ok bool) {
	r := &jsonReader{data: data, line: 1, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	for {
		node, err := r.value(0)
		if errors.Is(err, io.EOF) {
			return nodes, true
		}
		if err != nil {
			return nil, false
		}
		nodes = append(nodes, node)
	}
}

type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	line    int // the line of offset at
	at      int64
}

var errJSON = errors.New("not JSON")

// next returns the next token and the line it ends on.
func (r *jsonReader) next() (json.Token, int, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, 0, err
	}
	end := r.decoder.InputOffset()
	r.line += bytes.Count(r.data[r.at:end], []byte("\n"))
	r.at = end
	return token, r.line, nil
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, line, err := r.next()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errJSON
	}
	scalar := func(tag, value string) (*yaml.Node, error) {
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value, Line: line}
		if tag == "!!str" {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n, nil
	}
	switch t := token.(type) {
	case nil:
		return scalar("!!null", "null")
	case bool:
		if t {
			return scalar("!!bool", "true")
		}
		return scalar("!!bool", "false")
	case string:
		n, err := scalar("!!str", t)
		n.Style = yaml.DoubleQuotedStyle
		return n, err
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") {
			return scalar("!!float", t.String())
		}
		return scalar("!!int", t.String())
	case json.Delim:
		return r.collection(t, line, depth)
	}
	return nil, errJSON
}

func (r *jsonReader) collection(open json.Delim, line, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line}
	if open == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, unexpectedEnd(err)
		}
		n.Content = append(n.Content, item)
	}
	if _, _, err := r.next(); err != nil {
		return nil, unexpectedEnd(err)
	}
	return n, nil
}

// unexpectedEnd keeps an end in the middle from looking like the end of the
// stream.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
