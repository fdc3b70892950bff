package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Recording is what a real control plane did. See testdata/README.md.
type Recording struct {
	Case       string           `json:"case"`
	About      string           `json:"about"`
	Kubernetes string           `json:"kubernetes"`
	Steps      []Step           `json:"steps"`
	Objects    []map[string]any `json:"objects"`
}

// Step is something the user did, and what was written then.
type Step struct {
	Action Action  `json:"step"`
	Writes []Entry `json:"writes"`
}

// Action is what the user did: exactly one of the fields but Quiet.
type Action struct {
	Nodes  []Node            `json:"nodes,omitempty"`
	Create []json.RawMessage `json:"create,omitempty"`
	// Delete is "kind/name ...".
	Delete string `json:"delete,omitempty"`
	Patch  *Patch `json:"patch,omitempty"`
	// Attach and Detach are a node's name.
	Attach string `json:"attach,omitempty"`
	Detach string `json:"detach,omitempty"`
	// Wait is in seconds.
	Wait float64 `json:"wait,omitempty"`
	// Quiet is for how many seconds nothing must have been written before the
	// step is over; default 3.
	Quiet *float64 `json:"quiet,omitempty"`
}

// Node is a node to create; in JSON it may be its name alone.
type Node struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []v1.Taint        `json:"taints,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Node) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &n.Name)
	}
	type plain Node
	return strict(data, (*plain)(n))
}

// Patch is a patch of an object.
type Patch struct {
	Object      string          `json:"object"`
	Patch       json.RawMessage `json:"patch"`
	Subresource string          `json:"subresource,omitempty"`
	// Type is "merge" (the default), "json", "strategic" or "apply".
	Type string `json:"type,omitempty"`
}

// Entry is a write request, or, if Event is set, an event.
type Entry struct {
	Actor string `json:"actor"`

	Verb     string         `json:"verb,omitempty"`
	Resource string         `json:"resource,omitempty"` // "persistentvolumes/status"
	Name     string         `json:"name,omitempty"`     // "namespace/name"
	Code     int            `json:"code,omitempty"`
	Changed  map[string]any `json:"changed,omitempty"`
	Node     string         `json:"node,omitempty"`
	Removed  bool           `json:"removed,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`

	// Event is the reason of an event, Type its type.
	Event string `json:"event,omitempty"`
	Type  string `json:"type,omitempty"`

	// Object is, of an event, "kind/namespace/name" as a JSON string; of a
	// controller's create, the whole object.
	Object any `json:"object,omitempty"`
}

// LoadDir reads the recordings in dir: all its .json files, in order of name.
func LoadDir(dir string) ([]*Recording, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory of recordings", dir)
	}
	paths, err := filepath.Glob(filepath.Join(globEscape(dir), "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no recordings (*.json) in %s", dir)
	}
	recordings := make([]*Recording, len(paths))
	for i, path := range paths {
		if recordings[i], err = Load(path); err != nil {
			return nil, err
		}
	}
	return recordings, nil
}

// globEscape makes Glob take dir literally, on systems where it can.
func globEscape(dir string) string {
	if filepath.Separator == '\\' {
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Load reads one recording.
func Load(path string) (*Recording, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rec := &Recording{}
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("%s is not a recording: %w", path, err)
	}
	if rec.Case == "" {
		rec.Case = strings.TrimSuffix(filepath.Base(path), ".json")
	}
	if len(rec.Steps) == 0 {
		return nil, fmt.Errorf("%s is not a recording: it has no steps", path)
	}
	for i, step := range rec.Steps {
		if err := step.Action.check(); err != nil {
			return nil, fmt.Errorf("%s: step %d: %w", path, i+1, err)
		}
	}
	return rec, nil
}

// UnmarshalJSON implements json.Unmarshaler. A step that this package does not
// know is an error: the rest of the recording would mean nothing without it.
func (a *Action) UnmarshalJSON(data []byte) error {
	type plain Action
	return strict(data, (*plain)(a))
}

func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (a Action) check() error {
	n := 0
	for _, set := range []bool{
		len(a.Nodes) > 0, len(a.Create) > 0, a.Delete != "", a.Patch != nil, a.Attach != "", a.Detach != "", a.Wait > 0,
	} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("expected exactly one of nodes, create, delete, patch, attach, detach and wait")
	}
	if a.Patch != nil && patchTypes[a.Patch.Type] == "" {
		return fmt.Errorf("patch: type %q: expected one of %q", a.Patch.Type, sortedKeys(patchTypes))
	}
	if a.Quiet != nil && *a.Quiet < 0 {
		return fmt.Errorf("quiet: %v s is negative", *a.Quiet)
	}
	return nil
}

// quiet is how long nothing must be written before the step is over.
func (a Action) quiet() time.Duration {
	if a.Quiet == nil {
		return 3 * time.Second
	}
	return seconds(*a.Quiet)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
