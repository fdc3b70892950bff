package trace

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// JSONVersion is the version of the format in which records are written as JSON: see Entry.MarshalJSON. It changes when a field goes or means
// something else. New fields, types and topics may come at any time.
const JSONVersion = 1

// MarshalJSON encodes the version of the format (JSONVersion), the time, the actor, the record's type ("Write") and topic, its sentence
// as text, and its fields as record. Fields have the names of the Go fields with a small first
// letter; empty ones are left out. Errors are texts, durations as in "1m30s". A Decision of a log that keeps values has its Choice.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Version int       `json:"version"`
		Time    time.Time `json:"time"`
		Actor   string    `json:"actor"`
		Type    string    `json:"type"`
		Topic   string    `json:"topic"`
		Text    string    `json:"text"`
		Record  any       `json:"record,omitempty"`
	}{JSONVersion, e.Time, e.Actor, reflect.TypeOf(e.Record).Name(), e.Record.Topic(), e.Record.String(), fieldsOf(e.Record)})
}

// fieldsOf returns the fields of a record that have a value.
func fieldsOf(r Record) any {
	v := reflect.ValueOf(r)
	if _, ok := r.(json.Marshaler); ok || v.Kind() != reflect.Struct {
		return r
	}
	fields := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || v.Field(i).IsZero() || f.Type.Kind() == reflect.Func {
			continue
		}
		value := v.Field(i).Interface()
		switch it := value.(type) {
		case error:
			value = it.Error()
		case time.Duration:
			value = it.String()
		}
		fields[lower(f.Name)] = value
	}
	return fields
}

// lower makes the first letters small: "namespace", "rv".
func lower(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// MarshalJSON encodes the request and its result: the fields that changed, not
// the versions of the object. It does not show the data of a Secret.
func (w Write) MarshalJSON() ([]byte, error) {
	out := struct {
		Verb        string       `json:"verb"`
		About       Ref          `json:"about"`
		Resource    string       `json:"resource,omitempty"`
		Subresource string       `json:"subresource,omitempty"`
		RV          uint64       `json:"rv,omitempty"`
		Created     bool         `json:"created,omitempty"`
		Gone        bool         `json:"gone,omitempty"`
		Code        int          `json:"code,omitempty"`
		Reason      string       `json:"reason,omitempty"`
		Err         string       `json:"err,omitempty"`
		Dropped     []string     `json:"dropped,omitempty"`
		Changes     []jsonChange `json:"changes,omitempty"`
	}{Verb: w.Verb, About: w.About(), Resource: w.Resource.Resource, Subresource: w.Subresource, RV: w.RV, Code: w.Code, Dropped: w.Dropped}
	if w.Err != nil {
		out.Reason, out.Err = string(apierrors.ReasonForError(w.Err)), w.Err.Error()
	} else {
		out.Created, out.Gone = w.Old == nil, w.New == nil
	}
	for _, c := range w.shownChanges() {
		out.Changes = append(out.Changes, jsonChange{c.Pointer(), c.Value, c.Removed})
	}
	return json.Marshal(out)
}

// jsonChange is a FieldChange in JSON; Path is its JSON pointer.
type jsonChange struct {
	Path    string `json:"path"`
	Value   any    `json:"value,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// JSON returns one line of JSON for each entry, see Entry.MarshalJSON.
func JSON(entries []Entry) (string, error) {
	var b strings.Builder
	for i, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return "", fmt.Errorf("record %d of %s: %w", i, e.Actor, err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String(), nil
}
