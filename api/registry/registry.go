package registry

import (
	"cmp"
	"fmt"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/internal/prose"
)

// Registry holds the kinds of a server, in order. Where two have the same name, the name means
// the one that was registered first. It is safe for concurrent use, also while a server
// uses it.
type Registry struct {
	mu    sync.Mutex // held while it changes
	table atomic.Pointer[kindTable]
	hooks []func()
}

// kindTable is the state of a registry. It never changes.
type kindTable struct {
	kinds []*Entry // all of them
	// base, if it is set, finds those that are not in the maps: each server adds a few kinds
	// to the many that all servers share.
	base       *kindTable
	byResource map[schema.GroupVersionResource]*Entry
	byKind     map[schema.GroupVersionKind]*Entry
}

// New returns a registry of the kinds of Kubernetes itself: those of client-go's
// scheme that can be listed.
func New() *Registry {
	r := &Registry{}
	r.table.Store(builtin())
	return r
}

// builtin returns the table of NewRegistry.
var builtin = sync.OnceValue(func() *kindTable {
	t, err := (&kindTable{}).with(scheme.Scheme, builtinKinds())
	if err == nil {
		t, err = (&kindTable{kinds: t.kinds}).with(nil, aggregatorKinds())
	}
	if err != nil {
		panic(err) // a mistake in the table, which a test would find
	}
	return t
})

// Add registers kinds, whose Go types are found in the scheme; where it is nil, objects
// are *unstructured.Unstructured. If one of them is not valid, none is
// registered, and the error says why.
func (r *Registry) Add(scheme *runtime.Scheme, kinds ...Kind) error {
	return r.change(func(t *kindTable) (*kindTable, error) { return t.with(scheme, kinds) })
}

// Remove takes a kind out, in all its versions. Its objects are gone from the servers that
// use the registry, and watches of it end with 410 Gone. It reports whether there was such a kind.
func (r *Registry) Remove(gk schema.GroupKind) (found bool) {
	_ = r.change(func(t *kindTable) (*kindTable, error) { // it never fails
		rest := slices.DeleteFunc(slices.Clone(t.kinds), func(k *Entry) bool { return k.GVK.GroupKind() == gk })
		found = len(rest) < len(t.kinds)
		return tableOf(rest), nil
	})
	return found
}

// Replace puts entries in place of those of a kind, as Add would; a kind that is not there
// is added. Objects with one store for all versions (Kind.StoredAs) stay.
func (r *Registry) Replace(gk schema.GroupKind, scheme *runtime.Scheme, kinds ...Kind) error {
	return r.change(func(t *kindTable) (*kindTable, error) {
		rest := slices.DeleteFunc(slices.Clone(t.kinds), func(k *Entry) bool { return k.GVK.GroupKind() == gk })
		return (&kindTable{kinds: rest}).with(scheme, kinds)
	})
}

// AllowCrossNamespaceDataSources lets the dataSourceRef of claims name another namespace from now on, as
// kube-apiserver does with the feature gate CrossNamespaceVolumeDataSource, which is alpha in v1.37 and off.
// Without it such a reference is dropped. It must be called before the server has clients: claims that are
// there already are gone, as with Replace. The CSI provisioner decides whether such a reference is granted.
func (r *Registry) AllowCrossNamespaceDataSources() {
	_ = r.change(func(t *kindTable) (*kindTable, error) { // it never fails
		kinds := slices.Clone(t.kinds)
		for i, k := range kinds {
			if k.GVK == v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim") {
				claims := *k
				claims.Strategy = strategy.ClaimsAcrossNamespaces()
				kinds[i] = &claims
			}
		}
		return tableOf(kinds), nil
	})
}

// change replaces the table and tells the servers.
func (r *Registry) change(to func(*kindTable) (*kindTable, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := to(r.table.Load())
	if err != nil {
		return err
	}
	r.table.Store(t)
	for _, hook := range r.hooks {
		hook()
	}
	return nil
}

// OnChange registers f to be called after each change.
func (r *Registry) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = append(r.hooks, f)
}

func tableOf(kinds []*Entry) *kindTable {
	t := &kindTable{
		kinds: kinds, byResource: make(map[schema.GroupVersionResource]*Entry, len(kinds)), byKind: make(map[schema.GroupVersionKind]*Entry, len(kinds)),
	}
	for _, k := range kinds {
		t.byResource[k.GVR], t.byKind[k.GVK] = k, k
	}
	return t
}

// with returns the table with more kinds.
func (t *kindTable) with(scheme *runtime.Scheme, kinds []Kind) (*kindTable, error) {
	list := slices.Clone(t.kinds)
	for _, k := range kinds {
		ready, err := k.ready(scheme)
		if err != nil {
			return nil, err
		}
		for _, one := range ready {
			if slices.ContainsFunc(list, func(other *Entry) bool { return other.GVR == one.GVR || other.GVK == one.GVK }) {
				return nil, fmt.Errorf("the kind %s (%s) is registered already", one.GVK, one.GVR.Resource)
			}
			list = append(list, one)
		}
	}
	if t.byResource == nil {
		return tableOf(list), nil
	}
	base, own := t, list[len(t.kinds):]
	if t.base != nil {
		base, own = t.base, list[len(t.base.kinds):]
	}
	added := tableOf(own)
	added.kinds, added.base = list, base
	return added, nil
}

// resource returns the kind of a resource.
func (t *kindTable) resource(gvr schema.GroupVersionResource) (*Entry, bool) {
	k, ok := t.byResource[gvr]
	if !ok && t.base != nil {
		k, ok = t.base.byResource[gvr]
	}
	return k, ok
}

// kind returns the kind of that name, in exactly that version.
func (t *kindTable) kind(gvk schema.GroupVersionKind) (*Entry, bool) {
	k, ok := t.byKind[gvk]
	if !ok && t.base != nil {
		k, ok = t.base.byKind[gvk]
	}
	return k, ok
}

// Lookup returns the kind that a request addresses.
func (r *Registry) Lookup(gvr schema.GroupVersionResource) (*Entry, bool) {
	return r.table.Load().resource(gvr)
}

// Entries returns all entries, in order of registration. Do not modify the list.
func (r *Registry) Entries() []*Entry { return r.table.Load().kinds }

// Resource returns the resource that a request addresses.
func (r *Registry) Resource(gvr schema.GroupVersionResource) (metav1.APIResource, bool) {
	k, ok := r.Lookup(gvr)
	if !ok {
		return metav1.APIResource{}, false
	}
	return k.APIResource(), true
}

// All returns all resources, in order of group, kind and version, the preferred version of
// each kind first.
func (r *Registry) All() []metav1.APIResource {
	kinds := r.table.Load().kinds
	list := make([]metav1.APIResource, len(kinds))
	for i, k := range kinds {
		list[i] = k.APIResource()
	}
	slices.SortStableFunc(list, func(a, b metav1.APIResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	return list
}

// Preferred returns the resources in their preferred versions, in order of registration.
func (r *Registry) Preferred() []metav1.APIResource {
	var list []metav1.APIResource
	for _, k := range r.table.Load().kinds {
		if !k.Older {
			list = append(list, k.APIResource())
		}
	}
	return list
}

// OfKind returns the resource of a kind, in exactly that version.
func (r *Registry) OfKind(gvk schema.GroupVersionKind) (metav1.APIResource, bool) {
	k, ok := r.table.Load().kind(gvk)
	if !ok {
		return metav1.APIResource{}, false
	}
	return k.APIResource(), true
}

// Kind returns the entry of a kind in exactly that version, false if there is none.
func (r *Registry) Kind(gvk schema.GroupVersionKind) (Kind, bool) {
	k, ok := r.table.Load().kind(gvk)
	if !ok {
		return Kind{}, false
	}
	return k.Kind, true
}

// Printer returns the columns that kubectl prints of a kind and the function for their values.
// Both are nil for built-in kinds, which package internal/tables prints.
func (r *Registry) Printer(gvk schema.GroupVersionKind) (columns []metav1.TableColumnDefinition, cells func(obj runtime.Object, now time.Time) []any) {
	k, ok := r.table.Load().kind(gvk)
	if !ok {
		return nil, nil
	}
	return k.Columns, k.Cells
}

// Forms reports whether the objects of a kind are Go structs and not maps, and whether they can
// be written as protobuf.
func (r *Registry) Forms(gvk schema.GroupVersionKind) (typed, protobuf bool) {
	k, ok := r.table.Load().kind(gvk)
	return ok && k.Scheme != nil, ok && k.protobuf
}

// New returns an empty object of a kind.
func (r *Registry) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	k, ok := r.table.Load().kind(gvk)
	if !ok {
		return nil, fmt.Errorf("there is no kind %s in %s", gvk.Kind, gvk.GroupVersion())
	}
	return k.NewObject(), nil
}

// ReplicasOf returns where each version of a kind has the number of replicas.
func (r *Registry) ReplicasOf(gk schema.GroupKind) managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, k := range r.Entries() {
		if k.GVK.GroupKind() != gk {
			continue
		}
		path := fieldpath.MakePathOrDie("spec", "replicas")
		if k.Scheme == nil {
			path = k.Scale.ReplicasPath()
		}
		paths[k.GVK.GroupVersion().String()] = path
	}
	return paths
}

// Find returns the resource that a user calls by plural, singular, kind or short name,
// in any case, with or without the group behind a dot: "pvc",
// "persistentvolumeclaims", "StorageClass", "statefulsets.apps". The error suggests the
// name that is most like it, or else lists some.
func (r *Registry) Find(word string) (metav1.APIResource, error) {
	name, group, hasGroup := strings.Cut(strings.ToLower(word), ".")
	for _, k := range r.table.Load().kinds {
		if k.called(name) && (!hasGroup || k.GVK.Group == group) {
			return k.APIResource(), nil
		}
	}
	return metav1.APIResource{}, fmt.Errorf("the server doesn't have a resource type %q%s", word, r.suggest(name))
}

// suggest ends a message about a name that no kind has: it suggests the nearest name, or
// else says which there are.
func (r *Registry) suggest(name string) string {
	var names, short []string
	for _, k := range r.All() {
		names = append(append(names, k.SingularName, k.Name), k.ShortNames...)
		short = append(short, k.ShortNames...)
	}
	for _, k := range r.table.Load().kinds {
		names, short = append(names, k.Nicknames...), append(short, k.Nicknames...)
	}
	if nearest := prose.DidYouMean(name, names); nearest != "" {
		return nearest
	}
	slices.Sort(short)
	return "; expected a kind, for example storageclass, or a short name: " + strings.Join(slices.Compact(short), ", ")
}

// called reports whether a name, in lower case, is one of the kind's.
func (k *Entry) called(name string) bool {
	return name == k.GVR.Resource || name == k.Singular || name == k.lower || slices.Contains(k.ShortNames, name) || slices.Contains(k.Nicknames, name)
}
