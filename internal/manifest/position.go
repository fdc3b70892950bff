package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is an error of the API server about an object of a manifest, which it wraps.
type Refusal struct {
	// Errors say where in the manifest it is: one for each field that the server names, with the server's words, or one for the object.
	Errors Errors
	cause  error
}

// Error returns one problem per line.
func (r *Refusal) Error() string { return r.Errors.Error() }

// Unwrap returns the error of the API server.
func (r *Refusal) Unwrap() error { return r.cause }

// Refused returns an error of the API server about the object with the lines of what is wrong.
func (o Object) Refused(err error) *Refusal {
	if other, ok := errors.AsType[*Refusal](err); ok { // with lines of another text, such as the object's JSON
		err = other.cause
	}
	return &Refusal{Errors: o.problems(err), cause: err}
}

// problems returns the Errors of a Refusal.
func (o Object) problems(err error) Errors {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return Errors{{File: o.File, Line: o.Line, Object: o.Ref(), Problem: err.Error()}}
	}
	s := status.Status()
	whole := Errors{{File: o.File, Line: o.Line, Object: o.Ref(), Problem: s.Message}}
	if s.Details == nil || s.Reason != metav1.StatusReasonInvalid {
		return whole
	}
	begin, _, ok := strings.Cut(s.Message, " is invalid: ")
	var list Errors
	for _, cause := range s.Details.Causes {
		if cause.Field == "" || cause.Field == "<nil>" {
			return whole
		}
		list = append(list, &Error{File: o.File, Line: o.LineOf(cause.Field), Object: o.Ref(),
			Problem: fmt.Sprintf("%s is invalid: %s: %s", begin, cause.Field, cause.Message)})
	}
	if !ok || len(list) == 0 {
		return whole
	}
	return list
}

// LineOf returns the line of a field, by its path in refusals ("spec.containers[0].image"); if the manifest does not set it, that of the nearest field
// above it which is set.
func (o Object) LineOf(path string) int {
	line, node := o.Line, o.node
	for node != nil && path != "" {
		var at int
		at, node, path = enter(node, path)
		if at > 0 {
			line = at
		}
	}
	return line
}

// enter returns the line and the value of the first step of a path, and the rest of it; 0 and nil if there is no such value.
func enter(node *yaml.Node, path string) (line int, value *yaml.Node, rest string) {
	name := path
	if inside, ok := strings.CutPrefix(path, "["); ok { // a key, which may have dots
		name, rest, _ = strings.Cut(inside, "]")
		rest = strings.TrimPrefix(rest, ".")
	} else if end := strings.IndexAny(path, ".["); end >= 0 {
		name, rest = path[:end], strings.TrimPrefix(path[end:], ".")
	}
	if node.Kind == yaml.SequenceNode {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(node.Content) {
			return 0, nil, ""
		}
		return node.Content[i].Line, node.Content[i], rest
	}
	for pair := range slices.Chunk(node.Content, 2) {
		if node.Kind == yaml.MappingNode && pair[0].Value == name {
			return pair[0].Line, pair[1], rest
		}
	}
	return 0, nil, ""
}
