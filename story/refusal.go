package story

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/manifest"
)

// refusal returns an error as kubectl prints it, several one below the other.
// Upstream: kubectl cmd/util/helpers.go checkErr, v1.37.
func refusal(err error) string {
	if e, ok := errors.AsType[manifest.Errors](err); ok {
		return e.Error()
	}
	if plain, ok := errors.AsType[plainError](err); ok {
		return plain.Error()
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, refusal(e))
		}
		return strings.Join(lines, "\n")
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "error: " + err.Error()
	}
	s := status.Status()
	switch {
	case s.Reason == metav1.StatusReasonInvalid:
		return invalid(s)
	case s.Reason != "":
		return fmt.Sprintf("Error from server (%s): %s", s.Reason, s.Message)
	}
	return "Error from server: " + s.Message
}

// invalid returns an error about wrong fields. What is wrong with a patch itself is about no object.
func invalid(s metav1.Status) string {
	text, details := "The request is invalid", s.Details
	if details == nil {
		details = &metav1.StatusDetails{}
	}
	named := details.Kind != "" || details.Name != ""
	if named {
		text = fmt.Sprintf("The %s %q is invalid", details.Kind, details.Name)
	}
	switch {
	case len(details.Causes) > 0:
		return text + ": " + causes(details.Causes)
	case !named && s.Message != "":
		return text + ": " + s.Message
	}
	return text
}

// causes returns the causes on one line if there is one, else one below the other.
func causes(list []metav1.StatusCause) string {
	var lines []string
	seen := map[string]bool{}
	for _, c := range list {
		if line := c.Field + ": " + c.Message; !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return "\n* " + strings.Join(lines, "\n* ")
}
