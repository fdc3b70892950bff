package manifest

import (
	"bytes"
	"reflect"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/internal/prose"
)

// definitionKind is the kind by which a manifest defines kinds.
const definitionKind = "CustomResourceDefinition"

// definition holds the parts of a CustomResourceDefinition that are needed to read its objects.
type definition struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Group string `yaml:"group"`
		Scope string `yaml:"scope"`
		Names struct {
			Kind   string `yaml:"kind"`
			Plural string `yaml:"plural"`
		} `yaml:"names"`
		Versions []struct {
			Name   string `yaml:"name"`
			Served bool   `yaml:"served"`
		} `yaml:"versions"`
	} `yaml:"spec"`
}

// findDefinitions finds the kinds that the set itself defines: their objects may be in it.
func (p *parser) findDefinitions(sources []Source) {
	p.defined = snapshotKinds()
	for _, source := range sources {
		if !bytes.Contains(source.Data, []byte(definitionKind)) {
			continue
		}
		nodes, err := documents(source.Name, source.Data)
		if err != nil {
			continue // it is read again, and reported then
		}
		for _, node := range nodes {
			p.define(node)
		}
	}
}

// snapshotKinds returns the kinds of external-snapshotter. A manifest may have them without their
// definitions: the cluster that they are applied to installs these.
func snapshotKinds() map[schema.GroupVersionKind]Resource {
	kinds := map[schema.GroupVersionKind]Resource{}
	for _, r := range []Resource{
		{GroupVersionKind: schema.GroupVersionKind{Kind: "VolumeSnapshot"}, Plural: "volumesnapshots", Namespaced: true},
		{GroupVersionKind: schema.GroupVersionKind{Kind: "VolumeSnapshotContent"}, Plural: "volumesnapshotcontents"},
		{GroupVersionKind: schema.GroupVersionKind{Kind: "VolumeSnapshotClass"}, Plural: "volumesnapshotclasses"},
	} {
		r.Group, r.Version = "snapshot.storage.k8s.io", "v1"
		kinds[r.GroupVersionKind] = r
	}
	return kinds
}

// checkedAs returns the Go type that an object of a kind is checked against: its own, or that of snapshots, which
// the server has as custom resources without a type.
func checkedAs(gvk schema.GroupVersionKind, obj runtime.Object) reflect.Type {
	if gvk.GroupVersion() == snapshotv1.SchemeGroupVersion {
		switch gvk.Kind {
		case "VolumeSnapshot":
			return reflect.TypeFor[snapshotv1.VolumeSnapshot]()
		case "VolumeSnapshotContent":
			return reflect.TypeFor[snapshotv1.VolumeSnapshotContent]()
		case "VolumeSnapshotClass":
			return reflect.TypeFor[snapshotv1.VolumeSnapshotClass]()
		}
	}
	return typeOf(obj)
}

// define notes the kinds of one definition, or of those in a list.
func (p *parser) define(node *yaml.Node) {
	if items := valueOf(node, "items"); items != nil && items.Kind == yaml.SequenceNode {
		for _, item := range items.Content {
			p.define(item)
		}
	}
	var d definition
	if node.Decode(&d) != nil || d.Kind != definitionKind {
		return
	}
	for _, v := range d.Spec.Versions {
		if v.Served {
			gvk := schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: d.Spec.Names.Kind}
			p.defined[gvk] = Resource{GroupVersionKind: gvk, Plural: d.Spec.Names.Plural, Namespaced: d.Spec.Scope == "Namespaced"}
		}
	}
}

// definitionsFirst orders definitions before everything else.
func definitionsFirst(a, b Object) int {
	rank := func(o Object) int {
		if o.Resource.Kind == definitionKind {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

// newObject returns an empty object of a kind of the server or of the set.
func (p *parser) newObject(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if _, ok := p.defined[gvk]; !ok {
		return p.kinds.New(gvk)
	}
	if _, ok := ResourceForKind(p.kinds, gvk); ok {
		return p.kinds.New(gvk)
	}
	return &unstructured.Unstructured{}, nil
}

// unknownKind adds the problem that there is no such kind: with the nearest name if the group has
// other kinds, or else with the definition that is missing.
func (p *parser) unknownKind(node *yaml.Node, gvk schema.GroupVersionKind, kinds []string) {
	name, line := objectName(node), valueOf(node, "kind").Line
	for _, r := range p.kinds.All() {
		if r.Group == gvk.Group && r.Version == gvk.Version {
			p.unknown(line, name, "kind", "unknown kind %q%s", gvk.Kind, prose.DidYouMean(gvk.Kind, kinds))
			return
		}
	}
	if gvk.Group == "kustomize.config.k8s.io" {
		p.unknown(line, name, "kind", "%q is a file of kustomize, not of a cluster; write kubectl kustomize FOLDER, and give what it prints to storagesim run -f -",
			gvk.Kind)
		return
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	p.unknown(line, name, "kind", "no matches for kind %q in version %q: ensure CRDs are installed first; expected the CustomResourceDefinition %s",
		gvk.Kind, gvk.GroupVersion(), plural.GroupResource())
}
