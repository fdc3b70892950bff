package explore

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// Reason says why a run failed. Two runs with one Reason fail by the same bug, as far as can be told
// from outside: a failure is made smaller only as long as its Reason stays, and the cause that explain gives
// for its object. Identifiers are left out of the texts, since they differ between runs.
type Reason struct {
	// Rule is the rule that was broken, "" for a scenario that failed.
	Rule string `json:"rule,omitempty"`
	// Object is the object of which the rule was broken, "pvc/default/data", if the rule names one.
	Object string `json:"object,omitempty"`
	// At is the file and the line of the scenario's assertion, if it is a function for Scenario or Test.
	At string `json:"at,omitempty"`
	// Message is the beginning of the message, without numbers. It is empty if Object is not.
	Message string `json:"message,omitempty"`
}

// String returns the reason in one line.
func (r Reason) String() string {
	parts := []string{r.Rule, r.Object, r.At, r.Message}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// Reason returns the reason of a failure.
func (f *Failure) Reason() Reason {
	if broken, ok := errors.AsType[*Broken](f.Err); ok {
		reason := Reason{Rule: broken.Rule, Object: withoutIDs(broken.object())}
		if reason.Object == "" {
			reason.Message = beginning(broken.Err.Error())
		}
		return reason
	}
	reason := Reason{Message: beginning(f.Err.Error())}
	if failed, ok := errors.AsType[*seedtest.Failed](f.Err); ok {
		reason.At = failed.At
	}
	return reason
}

// same reports whether a run failed as another did: by one Reason, and, where a rule found an object that is not as it should be, by one cause of that. A
// pod that waits for a claim which the driver refuses to make, and one that waits for a claim which is not there, have one Reason.
func (f *Failure) same(other *Failure) bool {
	return f.Reason() == other.Reason() && f.cause() == other.cause()
}

// cause returns the cause that explain has found for the object of a failure, "" if there is none.
func (f *Failure) cause() string {
	if known, ok := errors.AsType[causedError](f.Err); ok {
		return known.cause
	}
	return ""
}

// causedError is an error of which explain knows the cause.
type causedError struct {
	cause string
	error
}

// Unwrap returns the error.
func (e causedError) Unwrap() error { return e.error }

// causeOf returns the cause of a verdict: its kind, and the words without what differs between runs.
func causeOf(v explain.Verdict) string {
	words, _, _ := strings.Cut(v.Cause, "\n")
	return string(v.Code) + ": " + numbers.ReplaceAllString(durations.ReplaceAllString(withoutIDs(words), ""), "")
}

var durations = regexp.MustCompile(`\b([0-9.]+(h|ms|m|µs|s))+\b`)

// objectError is the error of a rule about one object.
type objectError struct {
	object string
	error
}

// Unwrap returns the error.
func (e objectError) Unwrap() error { return e.error }

// object returns the object of which a rule was broken: the first, if there are several.
func (b *Broken) object() string {
	if about, ok := errors.AsType[objectError](b.Err); ok {
		return about.object
	}
	if found, ok := errors.AsType[*storagesim.LeakError](b.Err); ok && len(found.Leaks) > 0 {
		leak := found.Leaks[0]
		of := leak.What
		switch {
		case leak.Claim != "":
			of = "pvc/" + leak.Claim
		case leak.Pod != "":
			of = "pod/" + leak.Pod
		}
		return string(leak.Kind) + " of " + of
	}
	return ""
}

// withoutIDs leaves out UIDs and handles.
func withoutIDs(text string) string {
	return handles.ReplaceAllString(ids.ReplaceAllString(text, ""), "")
}

// handles are numbers that a backend gives to its volumes, as the reference CSI driver does.
var handles = regexp.MustCompile(`[0-9a-f]{8,}`)

var numbers = regexp.MustCompile(`[0-9]+`)

// beginning returns the first line of a message, or of what testify prints its error and message, without
// identifiers and numbers.
func beginning(message string) string {
	if _, after, ok := strings.Cut(message, "Error Trace:"); ok {
		message = testifys(after)
	} else {
		message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	}
	return numbers.ReplaceAllString(withoutIDs(message), "")
}

// testifyLines is the number of lines of an assertion's error that say what it is about: a title, what was expected,
// and what was there.
const testifyLines = 3

// testifys returns what an assertion of testify says: the beginning of its error, and the message.
func testifys(text string) string {
	_, text, _ = strings.Cut(text, "Error:")
	text, after, _ := strings.Cut(text, "Test:")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && len(lines) < testifyLines {
			lines = append(lines, line)
		}
	}
	if _, message, ok := strings.Cut(after, "Messages:"); ok {
		first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
		lines = append(lines, first)
	}
	return strings.Join(lines, " ")
}

// isSubset reports whether each of some is among all.
func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
