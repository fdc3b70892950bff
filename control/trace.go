package control

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Record is one thing that happened. Its String is a sentence without its
// subject, for example "binds pv pv-1 to pvc default/data": the trace puts time
// and actor in front of it.
type Record interface {
	fmt.Stringer
	// Topic files the record: write, event, decision, fault, mount, command.
	Topic() string
}

// Ref names an object in the short form people use: "pvc default/data".
type Ref struct{ Kind, Namespace, Name string }

// String is the kind's short name, then the key.
func (r Ref) String() string {
	kind := strings.ToLower(r.Kind)
	if short, ok := shortNames[r.Kind]; ok {
		kind = short
	}
	if r.Namespace != "" {
		return kind + " " + r.Namespace + "/" + r.Name
	}
	return kind + " " + r.Name
}

// KeysOf is a QueueConfig.About for a queue whose keys are those of one kind of object:
// "namespace/name", or "name" for objects without a namespace.
func KeysOf(kind string) func(key string) string {
	return func(key string) string { return Ref{Kind: kind, Name: key}.String() }
}

var shortNames = map[string]string{
	"PersistentVolume": "pv", "PersistentVolumeClaim": "pvc", "StorageClass": "sc", "Namespace": "ns",
}

// ShortKind is the name that Ref prints for a kind.
func ShortKind(kind string) string {
	if short, ok := shortNames[kind]; ok {
		return short
	}
	return strings.ToLower(kind)
}

// RefOf names obj. kind is needed because typed objects do not carry theirs.
func RefOf(kind string, obj runtime.Object) Ref {
	m, err := meta.Accessor(obj)
	if err != nil {
		return Ref{Kind: kind}
	}
	return Ref{Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName()}
}

// Decision is a choice a controller made, with the reason.
type Decision struct {
	About Ref
	Text  string
}

// Topic implements Record.
func (Decision) Topic() string { return "decision" }

func (d Decision) String() string { return fmt.Sprintf("%s: %s", d.About, d.Text) }

// Mount is a change to a node's mount table or pod directories.
type Mount struct {
	// Op is "mount" or "unmount".
	Op string
	// About is the pod the mount is for.
	About Ref
	// Volume names the volume, as in the pod's spec or the PV's name.
	Volume string
	// Source and Target are paths on the node.
	Source, Target string
	Options        []string
	// Err is why it failed, empty if it did not.
	Err string
}

// Topic implements Record.
func (Mount) Topic() string { return "mount" }

func (m Mount) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%ss %s", m.Op, m.Volume)
	if m.Source != "" {
		fmt.Fprintf(&b, ": %s ->", m.Source)
	}
	fmt.Fprintf(&b, " %s for %s", m.Target, m.About)
	if m.Err != "" {
		fmt.Fprintf(&b, " fails: %s", m.Err)
	}
	return b.String()
}

// Command is a command a container ran on a node, or its refusal.
type Command struct {
	About Ref // the pod
	Argv  []string
	// Node is where it ran, Paths what it worked on: absolute paths on the node,
	// as far as they are known.
	Node  string
	Paths []string
	// Err is why it failed, empty if it did not.
	Err string
}

// Topic implements Record.
func (Command) Topic() string { return "command" }

func (c Command) String() string {
	s := fmt.Sprintf("runs %q in %s", strings.Join(c.Argv, " "), c.About)
	if c.Err != "" {
		s += ": " + c.Err
	}
	return s
}
