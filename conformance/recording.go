package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/release"
)

// Recording holds a run of a real control plane. See testdata/README.md.
type Recording struct {
	Case       string           `json:"case"`
	About      string           `json:"about"`
	Kubernetes string           `json:"kubernetes"`
	Steps      []Step           `json:"steps"`
	Objects    []map[string]any `json:"objects"`

	// Before are the objects when a case of the whole stack began: its nodes run
	// already.
	Before []map[string]any `json:"before,omitempty"`
	// Differs says where two runs of the case differed: there need not be agreement.
	Differs []string `json:"differs,omitempty"`
}

// whole reports whether the case is one of the whole stack, with kubelets.
func (r *Recording) whole() bool {
	return len(r.Before) > 0 || slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.Action.Kubelet)+len(s.Action.Program) > 0 })
}

// applies reports whether the user applies something in the recording.
func (r *Recording) applies() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Action.Patch != nil && s.Action.Patch.Type == "apply" })
}

// acts reports whether an actor wrote something in the recording.
func (r *Recording) acts(actor string) bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool {
		return slices.ContainsFunc(s.Writes, func(e Entry) bool { return e.Actor == actor })
	})
}

// Step is something the user did, and what was written then.
type Step struct {
	Action Action  `json:"step"`
	Writes []Entry `json:"writes"`
	// Files are the files that the recorder read after the step.
	Files []File `json:"files,omitempty"`
	// Calls are the calls to CSI drivers.
	Calls []DriverCall `json:"grpc,omitempty"`
	// Left lists the remains on nodes and in the storage after the step, if the recorder looked.
	Left *Left `json:"left,omitempty"`
	// Ended lists the programs that ended by themselves.
	Ended []Ended `json:"ended,omitempty"`
}

// Ended is a program that ended by itself in a step.
type Ended struct {
	// Name is its name in steps, "prov-plain", and Program the program, "csi-provisioner".
	Name    string `json:"name"`
	Program string `json:"program"`
	// Said holds the last lines of its log. They are not compared.
	Said []string `json:"said,omitempty"`
}

// DriverCall is a call of a CSI driver.
type DriverCall struct {
	Driver string `json:"driver"`
	// At is the number of seconds since the step began. It is not compared.
	At     float64 `json:"at,omitempty"`
	Method string  `json:"method"`
	// Side is "controller" or a node's name.
	Side string `json:"side"`
	// Code is the answer's gRPC code by name.
	Code     string         `json:"code"`
	Request  map[string]any `json:"request,omitempty"`
	Response DriverInfo     `json:"response,omitzero"`
	// Unanswered: the caller was killed before the answer, which Code is of.
	Unanswered bool `json:"unanswered,omitempty"`
}

// DriverInfo is a driver's answer to NodeGetInfo.
type DriverInfo struct {
	NodeID     string `json:"node_id"`
	MaxVolumes int32  `json:"max_volumes_per_node"`
	Topology   struct {
		Segments map[string]string `json:"segments"`
	} `json:"accessible_topology"`
}

// Action is an act of the user: exactly one of the fields up to Wait is set.
type Action struct {
	Nodes  []Node            `json:"nodes,omitempty"`
	Create []json.RawMessage `json:"create,omitempty"`
	// Delete is "kind/name ...".
	Delete string `json:"delete,omitempty"`
	Patch  *Patch `json:"patch,omitempty"`
	// Attach and Detach are a node's name.
	Attach string `json:"attach,omitempty"`
	Detach string `json:"detach,omitempty"`
	// Kubelet starts, stops or restarts the kubelets of nodes: it has the node's name
	// and "start", "stop" or "restart".
	Kubelet map[string]string `json:"kubelet,omitempty"`
	// Program does something with programs: it has their names and "stop", "start", "restart", "pause" or
	// "resume".
	Program map[string]string `json:"program,omitempty"`
	// Host are shell commands run on the nodes.
	Host []string `json:"host,omitempty"`
	// Fail and Driver are about a CSI driver.
	Fail   []Failure `json:"fail,omitempty"`
	Driver string    `json:"driver,omitempty"`
	// Wait is in seconds.
	Wait float64 `json:"wait,omitempty"`

	// Grace is the grace period of a deletion in seconds; default, with kubelets, the
	// pod's own, else 0.
	Grace *int64 `json:"grace,omitempty"`
	// Until says what to wait for before the wait for quiet, for at most Most seconds (60).
	Until Words   `json:"until,omitempty"`
	Most  float64 `json:"most,omitempty"`
	// Look are the files to look at in the end: "volume POD NAME", "volume POD *", or a
	// path.
	Look []string `json:"look,omitempty"`
	// Quiet is for how many seconds nothing must have been written before the
	// step is over; default 3, and 4 with kubelets.
	Quiet *float64 `json:"quiet,omitempty"`
}

// Failure is an error that calls of a CSI driver's method return.
type Failure struct {
	Method string `json:"Method"`
	// Code is the answer's code by name, "" for one that only takes its time.
	Code    string `json:"Code"`
	Message string `json:"Message"`
	// Times is the number of calls that fail.
	Times int `json:"Times"`
	// Sleep is the number of seconds a call takes.
	Sleep float64 `json:"Sleep"`
	// After lets the driver do the work first.
	After bool `json:"After"`
	// Answer is "empty" or "no id": the call succeeds with nothing in its answer, or with no ID.
	Answer string `json:"Answer"`
}

// Words is a list of strings; in JSON it may be one string.
type Words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Words) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*w = make(Words, 1)
		return json.Unmarshal(data, &(*w)[0])
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// File is a directory that was looked at.
type File struct {
	Path string `json:"path"`
	// Mode is st_mode in octal, the file's type included.
	Mode    string   `json:"mode"`
	UID     int      `json:"uid"`
	GID     int      `json:"gid"`
	Entries []string `json:"entries"`
	// Content and Modes ("0644 0:0") describe the plain files in it.
	Content Content           `json:"content,omitempty"`
	Modes   map[string]string `json:"modes,omitempty"`
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
	// At is the number of seconds since the step began. It is not compared.
	At float64 `json:"at,omitempty"`

	Verb     string         `json:"verb,omitempty"`
	Resource string         `json:"resource,omitempty"` // "persistentvolumes/status"
	Name     string         `json:"name,omitempty"`     // "namespace/name"
	Code     int            `json:"code,omitempty"`
	Changed  map[string]any `json:"changed,omitzero"`
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

// Content maps names to the content of files; the name of a file that was itself looked at
// is "", and in JSON it may be its content alone.
type Content map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		err := json.Unmarshal(data, &text)
		*c = Content{"": text}
		return err
	}
	return json.Unmarshal(data, (*map[string]string)(c))
}

// LoadDir reads the recordings in dir: all its .json files, in order of name.
func LoadDir(dir string) ([]*Recording, error) {
	paths, err := list(dir)
	if err != nil {
		return nil, err
	}
	recordings := make([]*Recording, len(paths))
	for i, path := range paths {
		if recordings[i], err = Load(path); err != nil {
			return nil, err
		}
	}
	return recordings, nil
}

// list finds the files of the recordings in dir, in order of name.
func list(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, manifest.Plainly(dir, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory of recordings", dir)
	}
	paths, err := filepath.Glob(filepath.Join(globEscape(dir), "*.json"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no recordings (*.json) in %s", dir)
	}
	return paths, err
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
		return nil, manifest.Plainly(path, err)
	}
	rec := &Recording{}
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, whyUnread(path, data, err)
	}
	if v := rec.Kubernetes; v != "" && !strings.HasPrefix(v, modelled()) {
		return nil, fmt.Errorf("%s was recorded with Kubernetes %s; the simulation models %sx", path, v, modelled())
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
	rec.normalise()
	return rec, nil
}

// modelled begins the versions of Kubernetes whose recordings can be compared, "v1.37.".
func modelled() string { return release.Kubernetes[:strings.LastIndex(release.Kubernetes, ".")+1] }

// whyUnread returns the error of a file that is not a recording. It names the first step that cannot be read.
func whyUnread(path string, data []byte, err error) error {
	var raw struct{ Steps []json.RawMessage }
	if json.Unmarshal(data, &raw) != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset == int64(len(data)) {
			return fmt.Errorf("%s is not a recording: it is cut off after %d bytes: %w", path, len(data), err)
		}
		return fmt.Errorf("%s is not a recording: %w", path, err)
	}
	for i, step := range raw.Steps {
		if bad := json.Unmarshal(step, &Step{}); bad != nil {
			return fmt.Errorf("%s: step %d cannot be read: %w", path, i+1, bad)
		}
	}
	return fmt.Errorf("%s is not a recording: %w", path, err)
}

// normalise brings what is compared into the form in which the simulation is observed.
// It is done once: replays that run at the same time share the recording.
func (r *Recording) normalise() {
	for _, obj := range append(slices.Clone(r.Before), r.Objects...) {
		normalise(obj)
	}
	for _, step := range r.Steps {
		for _, e := range step.Writes {
			if created, ok := e.Object.(map[string]any); ok {
				normalise(created)
			}
			normaliseChanged(e.Changed)
		}
	}
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
		len(a.Kubelet) > 0, len(a.Program) > 0, len(a.Host) > 0, len(a.Fail) > 0, a.Driver != "",
	} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("expected exactly one of nodes, create, delete, patch, attach, detach, wait, kubelet, program, host, fail and driver")
	}
	if a.Patch != nil && patchTypes[a.Patch.Type] == "" {
		return fmt.Errorf("patch: type %q: expected one of %q", a.Patch.Type, sortedKeys(patchTypes))
	}
	for _, node := range sortedKeys(a.Kubelet) {
		if what := a.Kubelet[node]; what != "start" && what != "stop" && what != "restart" {
			return fmt.Errorf("kubelet: %s: %q: expected start, stop or restart", node, what)
		}
	}
	for _, program := range sortedKeys(a.Program) {
		if what := a.Program[program]; !slices.Contains(programActions(), what) {
			return fmt.Errorf("program: %s: %q: expected one of %q", program, what, programActions())
		}
	}
	for _, f := range a.Fail {
		if f.Answer != "" && f.Answer != "empty" && f.Answer != "no id" {
			return fmt.Errorf(`fail: Answer %q: expected "empty" or "no id"`, f.Answer)
		}
	}
	if a.Quiet != nil && *a.Quiet < 0 {
		return fmt.Errorf("quiet: %v s is negative", *a.Quiet)
	}
	times := map[string]float64{"wait": a.Wait, "most": a.Most}
	if a.Quiet != nil {
		times["quiet"] = *a.Quiet
	}
	for _, field := range sortedKeys(times) {
		if times[field] > longest {
			return fmt.Errorf("%s: %v s is too long; at most %v s can pass in a step", field, times[field], float64(longest))
		}
	}
	return nil
}

// longest is the number of seconds that may pass in a step: a day.
const longest = 24 * 60 * 60

// quiet returns the time without a write after which the step is over.
func (a Action) quiet(normally time.Duration) time.Duration {
	if a.Quiet == nil {
		return normally
	}
	return seconds(*a.Quiet)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
