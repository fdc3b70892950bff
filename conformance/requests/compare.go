package requests

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Difference is a difference between two answers.
type Difference struct {
	// Where is "status", "content type", "warnings", "retry", "end", or the JSON pointer of a field of the body.
	Where string
	// Recorded and Ours hold the answers of both servers there, as JSON; "nothing" if there is no such field.
	Recorded, Ours string
}

// String returns the difference on a line, long values cut.
func (d Difference) String() string {
	return fmt.Sprintf("%s: recorded %s, here %s", d.Where, short(d.Recorded), short(d.Ours))
}

// shortest is the length from which values are cut in a line.
const shortest = 300

func short(text string) string {
	if runes := []rune(text); len(runes) > shortest {
		return string(runes[:shortest]) + "..."
	}
	return text
}

// compareAnswers returns how our answer differs from the recorded one. It leaves out the values that each server chooses
// (UIDs, names after the prefixes in generated, addresses, versions, tokens), times and ages, managedFields, of a list
// all but the names of its items, the descriptions of a table's columns, and our warnings of what the simulation does not do.
func compareAnswers(recorded, ours *Answer, generated []string) []Difference {
	var found []Difference
	add := func(where string, r, o any) {
		if a, b := printed(r), printed(o); a != b {
			found = append(found, Difference{where, a, b})
		}
	}
	add("status", recorded.Code, ours.Code)
	add("content type", withoutSpaces(recorded.ContentType), withoutSpaces(ours.ContentType))
	add("warnings", append([]string{}, recorded.Warnings...), slices.DeleteFunc(append([]string{}, ours.Warnings...), aboutItself))
	add("end", recorded.End, ours.End)
	add("retry", recorded.RetryAfter != "", ours.RetryAfter != "")
	if isBinary(recorded.ContentType) {
		return found
	}
	n := newNormalizer(generated)
	r, o := n.content(recorded), n.content(ours)
	sortConflicts(r)
	sortConflicts(o)
	if recorded.Code >= http.StatusBadRequest && ours.Code >= http.StatusBadRequest {
		dropEmptyDetails(r)
		dropEmptyDetails(o)
	}
	diff("", r, o, add)
	return found
}

func isBinary(contentType string) bool {
	return strings.Contains(contentType, "protobuf") || strings.Contains(contentType, "cbor")
}

// aboutItself reports whether a warning says what the simulation does not do, which a real server has nothing to say of.
func aboutItself(warning string) bool {
	return strings.HasPrefix(warning, `299 - "the simulation stores `)
}

func withoutSpaces(text string) string { return strings.ReplaceAll(text, " ", "") }

// nothing stands for a field that is not there.
type nothing struct{}

func printed(value any) string {
	if _, ok := value.(nothing); ok {
		return "nothing"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// diff reports each place where two values of JSON differ.
func diff(at string, r, o any, report func(where string, r, o any)) {
	rm, om := asMap(r), asMap(o)
	rl, rok := r.([]any)
	ol, ook := o.([]any)
	switch {
	case rm != nil && om != nil:
		for _, key := range keysOf(rm, om) {
			diff(at+"/"+key, orNothing(rm, key), orNothing(om, key), report)
		}
	case rok && ook && len(rl) == len(ol):
		for i := range rl {
			diff(fmt.Sprintf("%s/%d", at, i), rl[i], ol[i], report)
		}
	default:
		if at == "" {
			at = "body"
		}
		report(at, r, o)
	}
}

func asMap(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

func keysOf(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func orNothing(m map[string]any, key string) any {
	if value, ok := m[key]; ok {
		return value
	}
	return nothing{}
}

// dropEmptyDetails removes the details of a Status that say nothing.
func dropEmptyDetails(value any) {
	if status := asMap(value); status != nil && len(asMap(status["details"])) == 0 {
		delete(status, "details")
	}
}

// sortConflicts sorts the causes of a Status by their text if they are the conflicts of a server-side apply, which come
// from a map of managers.
func sortConflicts(value any) {
	causes, _ := asMap(asMap(value)["details"])["causes"].([]any)
	if slices.ContainsFunc(causes, func(c any) bool { return asMap(c)["reason"] != "FieldManagerConflict" }) {
		return
	}
	slices.SortFunc(causes, func(a, b any) int { return strings.Compare(printed(a), printed(b)) })
}

// chosen lists the fields that a server chooses or that tell a time.
var chosen = strings.Fields("uid resourceVersion creationTimestamp time lastTransitionTime deletionTimestamp selfLink " +
	"lastPhaseTransitionTime startTime firstTimestamp lastTimestamp renewTime acquireTime clusterIP clusterIPs nodePort continue serverAddress token")

// furnished lists the objects that a cluster's own programs create: they are left out of lists.
var furnished = []string{"kube-root-ca.crt", "kubernetes"}

// replacement is a form of text that differs from server to server, and what stands for it.
type replacement struct {
	form *regexp.Regexp
	by   string
}

// texts lists the replacements in all texts.
var texts = []replacement{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
	{regexp.MustCompile(`resource ?[vV]ersion: ?\d+( \(\d+\))?`), "resourceVersion: <version>"},
	{regexp.MustCompile(`(\\*"resourceVersion\\*": ?\\*")\d+`), "${1}<version>"},
	{regexp.MustCompile(`(, current: |ResourceVersion in record \(|ResourceVersion in object meta: )\d+`), "${1}<version>"},
}

// ages is a cell of a table that says how long ago something was.
var ages = regexp.MustCompile(`^(\d+[smhdy])+$`)

// normalizer removes from answers what is not compared.
type normalizer struct{ replacements []replacement }

// longestPrefix is the number of characters of a generateName that a server keeps.
// Upstream: apiserver storage/names maxGeneratedNameLength, v1.37.2.
const longestPrefix = 58

func newNormalizer(generated []string) normalizer {
	n := normalizer{slices.Clone(texts)}
	for _, prefix := range generated {
		prefix = prefix[:min(len(prefix), longestPrefix)]
		n.replacements = append(n.replacements,
			replacement{regexp.MustCompile(`(^|")` + regexp.QuoteMeta(prefix) + `[a-z0-9]{5}("|$)`), "${1}" + prefix + "<chance>${2}"})
	}
	return n
}

// content returns the body of an answer as it is compared.
func (n normalizer) content(a *Answer) any {
	value := a.Content
	if text, ok := value.(string); ok && strings.Contains(a.ContentType, "yaml") {
		var parsed any
		if yaml.Unmarshal([]byte(text), &parsed) == nil {
			value = parsed
		}
	}
	return n.value("", value)
}

// value returns a copy of the value of a field.
func (n normalizer) value(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return n.object(v)
	case []any:
		return n.list(field, v)
	case string:
		if field == "cells" && ages.MatchString(v) {
			return "<age>"
		}
		if field == "cells" && net.ParseIP(v) != nil {
			return "<address>"
		}
		return n.text(v)
	}
	return value
}

func (n normalizer) object(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, value := range object {
		switch {
		case key == "managedFields":
		case slices.Contains(chosen, key) && value != "" && value != nil:
			out[key] = "<chosen>"
		default:
			out[key] = n.value(key, value)
		}
	}
	return out
}

func (n normalizer) list(field string, list []any) []any {
	out := make([]any, 0, len(list))
	for _, item := range list {
		object := asMap(item)
		name, named := asMap(object["metadata"])["name"].(string)
		switch {
		case field == "items" && named && slices.Contains(furnished, name):
			continue
		case field == "items" && named:
			out = append(out, n.text(name))
			continue
		}
		if field == "columnDefinitions" && object != nil {
			object = maps.Clone(object)
			delete(object, "description")
			item = object
		}
		out = append(out, n.value(field, item))
	}
	return out
}

// text returns a text without what differs from server to server.
func (n normalizer) text(text string) string {
	for _, r := range n.replacements {
		text = r.form.ReplaceAllString(text, r.by)
	}
	return withoutManagedFields(text)
}

// managed is the beginning of managedFields in an object that is printed in a text, quotes escaped or not.
var managed = regexp.MustCompile(`\\*"managedFields\\*": ?\[`)

// withoutManagedFields removes the managedFields of objects that a text prints.
func withoutManagedFields(text string) string {
	for {
		at := managed.FindStringIndex(text)
		if at == nil {
			return text
		}
		end := at[1]
		for depth := 1; depth > 0 && end < len(text); end++ {
			switch text[end] {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		before, after := text[:at[0]], text[end:]
		if trimmed, ok := strings.CutPrefix(after, ","); ok {
			after = trimmed
		} else {
			before = strings.TrimSuffix(before, ",")
		}
		text = before + after
	}
}
