package trace

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
	// Topic returns the record's topic: write, event, decision, retry, fault, mount, command, grpc, gap, or
	// one of the details: asset, call.
	Topic() string
}

// Ref names an object in the short form people use: "pvc default/data".
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the kind's short name, then the key.
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

var shortNames = map[string]string{
	"PersistentVolume": "pv", "PersistentVolumeClaim": "pvc", "StorageClass": "sc", "Namespace": "ns",
}

// Path returns the kind's short name and the key as one word, the form that commands and Cluster.Explain take: "pvc/default/data",
// "pv/pv-1".
func (r Ref) Path() string { return strings.Replace(r.String(), " ", "/", 1) }

// ShortKind returns the name that Ref prints for a kind.
func ShortKind(kind string) string {
	if short, ok := shortNames[kind]; ok {
		return short
	}
	return strings.ToLower(kind)
}

// RefOf returns a reference to obj. kind is needed because typed objects do not carry theirs.
func RefOf(kind string, obj runtime.Object) Ref {
	m, err := meta.Accessor(obj)
	if err != nil {
		return Ref{Kind: kind}
	}
	return Ref{Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName()}
}
