package tables

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/internal/manifest"
)

// View holds the objects to show, and the time.
type View struct {
	// Kinds are the kinds that the server has. If they are a Printer, that has the tables of
	// those that are not built in.
	Kinds manifest.Kinds
	// Objects are all objects. They are not changed.
	Objects []runtime.Object
	// Now is the time that ages are counted to.
	Now time.Time
	// Shorten, if set, shortens identifiers in tables and descriptions; never in
	// YAML, JSON and names, which programs read.
	Shorten func(string) string
	// Width is the number of columns of the reader's terminal. A table that is wider leaves out what is empty or the same in each
	// row, as far as it must. 0 means any number: tables are as kubectl prints them.
	Width int
	// Asked, if set, is told of each resource that Get and Describe are asked for, before they print.
	Asked func(manifest.Resource)
}

// Printer knows the tables of kinds that are defined at run time.
type Printer interface {
	// Printer are the columns of a kind, and what is in them of an object at a time; nil for
	// a kind that has no columns of its own. It is that of a registry.Registry.
	Printer(kind schema.GroupVersionKind) (columns []metav1.TableColumnDefinition, cells func(obj runtime.Object, now time.Time) []any)
}

// Options say what to select and how to print it. The zero value prints tables
// of the namespace default.
type Options struct {
	// Namespace is that of namespaced objects; default "default".
	Namespace string
	// AllNamespaces selects every namespace and adds a column for it.
	AllNamespaces bool
	// Output is "" for a table, "wide", "yaml", "json", "name" or
	// "jsonpath=TEMPLATE".
	Output string
	// Selector selects by label; nil selects all.
	Selector labels.Selector
	// ShowLabels adds a column of labels.
	ShowLabels bool
	// NoHeaders leaves the headings out.
	NoHeaders bool
	// SortBy is the path of a field, such as .spec.priority, by which Get sorts: a table, or all objects of another output. Default: by namespace
	// and name.
	SortBy string
}

func (o Options) namespace() string { return cmp.Or(o.Namespace, manifest.DefaultNamespace) }

// object is an API object; every one of them has both faces.
type object interface {
	runtime.Object
	metav1.Object
}

// group holds the objects of one requested resource.
type group struct {
	resource manifest.Resource
	named    bool // asked for by name
	objects  []object
}

// Ref is a resource and the name of an object of it.
type Ref = manifest.Ref

// ParseRefs reads arguments that name objects: "TYPE/NAME ..." or "TYPE NAME
// ...". A name may be "namespace/name", which wins over the namespace given.
func ParseRefs(kinds manifest.Kinds, namespace string, args ...string) ([]Ref, error) {
	var refs []Ref
	add := func(text string) error {
		ref, err := manifest.ParseRef(kinds, namespace, text)
		refs = append(refs, ref)
		return err
	}
	for i, arg := range args {
		switch {
		case strings.Contains(arg, "/"):
			if err := add(arg); err != nil {
				return nil, err
			}
		case i == 0 && len(args) == 1:
			return nil, fmt.Errorf("%q does not name an object; expected TYPE/NAME, TYPE/NAMESPACE/NAME or TYPE NAME", arg)
		case i == 0:
			for _, kind := range strings.Split(arg, ",") {
				for _, name := range args[1:] {
					if err := add(kind + "/" + name); err != nil {
						return nil, err
					}
				}
			}
			return refs, nil
		default:
			return nil, fmt.Errorf("there is no need to name a type and then an object: %q; expected TYPE/NAME", arg)
		}
	}
	return refs, nil
}

// Find returns the object a Ref names.
func (v View) Find(ref Ref) (runtime.Object, error) {
	for _, obj := range v.of(ref.Resource) {
		if obj.GetName() == ref.Name && obj.GetNamespace() == ref.Namespace {
			return obj, nil
		}
	}
	return nil, ref.NotFound()
}

// of returns the objects of a resource in order of namespace and name.
func (v View) of(resource manifest.Resource) []object {
	var list []object
	for _, obj := range v.Objects {
		o, ok := inVersion(obj, resource.GroupVersionKind).(object)
		if ok && kindOf(o) == resource.GroupVersionKind {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return list
}

// inVersion returns a custom object of the kind as the version shows it, any other object as it is: the server stores all versions as
// one.
func inVersion(obj runtime.Object, kind schema.GroupVersionKind) runtime.Object {
	u, custom := obj.(*unstructured.Unstructured)
	if !custom || u.GroupVersionKind().GroupKind() != kind.GroupKind() || u.GroupVersionKind() == kind {
		return obj
	}
	shown := u.DeepCopy()
	shown.SetGroupVersionKind(kind)
	return shown
}

func kindOf(obj runtime.Object) schema.GroupVersionKind {
	if gvk := obj.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return gvk
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
		return kinds[0]
	}
	return schema.GroupVersionKind{}
}

// all returns the objects of one Go type in order of namespace and name.
func all[T object](v View) []T {
	var list []T
	for _, obj := range v.Objects {
		if o, ok := obj.(T); ok {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return list
}

// selected finds what the arguments ask for: "TYPE[,TYPE...]", or objects as
// ParseRefs reads them. What was asked for by name and is not there is in the
// error; the groups hold the rest.
func (v View) selected(o Options, args []string) ([]group, error) {
	if len(args) == 0 || args[0] == "" {
		return nil, errors.New("you must specify the type of resource to get, for example pvc or pv,pvc")
	}
	if len(args) > 1 || strings.Contains(args[0], "/") {
		return v.named(o, args)
	}
	var groups []group
	for _, kind := range strings.Split(args[0], ",") {
		resource, err := manifest.FindResource(v.Kinds, kind)
		if err != nil {
			return nil, err
		}
		v.asks(resource)
		g := group{resource: resource}
		for _, obj := range v.of(resource) {
			if resource.Namespaced && !o.AllNamespaces && obj.GetNamespace() != o.namespace() {
				continue
			}
			if o.Selector != nil && !o.Selector.Matches(labels.Set(obj.GetLabels())) {
				continue
			}
			g.objects = append(g.objects, obj)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// asks tells Asked of a resource.
func (v View) asks(resource manifest.Resource) {
	if v.Asked != nil {
		v.Asked(resource)
	}
}

func (v View) named(o Options, args []string) ([]group, error) {
	if o.AllNamespaces {
		return nil, errors.New("a resource cannot be retrieved by name across all namespaces")
	}
	if o.Selector != nil {
		return nil, errors.New("name cannot be provided when a selector is specified")
	}
	refs, err := ParseRefs(v.Kinds, o.Namespace, args...)
	if err != nil {
		return nil, err
	}
	var groups []group
	var errs []error
	for _, ref := range refs {
		v.asks(ref.Resource)
		obj, err := v.Find(ref)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if n := len(groups); n == 0 || groups[n-1].resource.GroupVersionKind != ref.Resource.GroupVersionKind {
			groups = append(groups, group{resource: ref.Resource, named: true})
		}
		last := &groups[len(groups)-1]
		last.objects = append(last.objects, obj.(object))
	}
	return groups, errors.Join(errs...)
}
