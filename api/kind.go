package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/warnings"
	"github.com/storagesim/storagesim/internal/release"
)

// Kind is one entry of a [Registry]. It holds all that a server knows about a kind of object.
// Kind and Version are required; everything else has a default that suits most kinds.
type Kind struct {
	Group, Version, Kind string
	// OtherVersions are served as well, each with a store of its own. Their objects are
	// of other types, so that nothing is done to them but what is done to all kinds.
	OtherVersions []string
	// StoredAs is the version in which the objects of all versions of an unstructured kind are
	// kept, in one store. Each version is an entry of its own, and shows the objects with its
	// own apiVersion. Default: each version has a store of its own.
	StoredAs string
	// NotPreferred: another version of the kind is the preferred one.
	NotPreferred bool
	// ListKind is the kind of a list; default: the kind and "List".
	ListKind string
	// Resource is the plural that requests use; default: that of the kind, in lower case.
	Resource string
	// Singular is kubectl's name for one object; default: the kind in lower case.
	Singular string
	// ShortNames are names that users may write instead, for example "pvc".
	ShortNames []string
	// Categories are groups of kinds that users may ask for together, for example "all".
	Categories []string
	// ClusterScoped: the objects are in no namespace.
	ClusterScoped bool

	// NoStatus: there is no subresource status. Otherwise there is one if the objects have
	// a field of that name.
	NoStatus bool
	// Generations: metadata.generation counts the changes of the spec. AnnotationsCount: those of annotations as well.
	Generations, AnnotationsCount bool
	// Conditional: an update must say which version it is based on.
	Conditional bool
	// CreatesOnUpdate: an update of an object that is not there creates it.
	CreatesOnUpdate bool
	// AnswersDeleted: a deletion is answered with the object that is gone, and not with a
	// Status.
	AnswersDeleted bool

	// Strategy sets defaults and brings objects into the form that is stored.
	Strategy strategy.Kind
	// Validation finds what is wrong with objects.
	Validation validation.Kind
	// Fields holds, by name, functions that read the fields that objects can be selected by,
	// besides metadata.name and metadata.namespace.
	Fields map[string]func(obj runtime.Object) string

	// Sealed, if not empty, says why no object can be created at present.
	Sealed string
	// Unknown returns the paths of the fields that an object has and its kind does not. Clients
	// are warned of them, or refused. Typed objects need none.
	Unknown func(obj runtime.Object) []string
	// Warnings says what a client is warned of that creates or changes an object. Deprecated,
	// if not empty, is the warning for each request for this version; default: that of the Go type.
	Warnings   warnings.Kind
	Deprecated string
	// Show changes a copy of a stored object that is shown in this version, and not in the one
	// it is stored in; or, when this entry replaces another, of one that is stored in this version.
	Show func(obj runtime.Object)
	// BeforeDelete changes an object whose deletion begins; that write does not count as a generation.
	BeforeDelete func(obj runtime.Object)
	// Written is called when an object was written. old is nil for a new one, obj is nil for one
	// that is gone. The server is not locked, and may be called. The objects are shared.
	Written func(old, obj runtime.Object)
	// Types holds the types of the fields, for server-side apply; default: deduced from the
	// objects, where lists are atomic.
	Types managedfields.TypeConverter
	// Schema is the schema of unstructured objects in the form of OpenAPI v3, nil if it is
	// not known.
	Schema map[string]any
	// Columns holds the columns that kubectl prints, and Cells returns an object's values in them;
	// default: those of the built-in kinds, or the name and the age.
	Columns []metav1.TableColumnDefinition
	Cells   func(obj runtime.Object, now time.Time) []any

	// Scale is the subresource scale of unstructured objects, nil if they have none.
	Scale *Scale

	// subresources are the subresources besides status, by name.
	subresources map[string]subresource
}

// post answers a request that creates a subresource of an object.
type post func(s *Server, r *request, obj runtime.Object) (runtime.Object, error)

// object is an object in the store, typed or unstructured.
type object interface {
	runtime.Object
	metav1.Object
}

// kind is a Kind in one version, ready for use.
type kind struct {
	Kind
	gvr        schema.GroupVersionResource
	gvk        schema.GroupVersionKind
	namespaced bool
	lower      string                      // the name of the kind in lower case
	older      bool                        // it is not in the preferred version
	home       schema.GroupVersionResource // the key of its store
	scheme     *runtime.Scheme             // nil if objects are unstructured
	protobuf   bool                        // objects can be written as protobuf
	resource   metav1.APIResource          // as discovery shows it
	// typ is the Go struct of an object, listType that of a list.
	typ, listType reflect.Type
	// spec and status are the indexes of those fields in the struct, -1 if there
	// are none. Of unstructured objects they are indexes of unstructuredParts.
	spec, status int
}

// unstructuredParts are the fields of unstructured objects that kind.spec and kind.status
// mean.
var unstructuredParts = [...]string{"spec", "status"}

// ready returns the completed entry for each version of a kind.
func (k Kind) ready(scheme *runtime.Scheme) ([]*kind, error) {
	if k.Kind == "" || k.Version == "" {
		return nil, fmt.Errorf("a kind is registered with kind %q and version %q: both are required", k.Kind, k.Version)
	}
	if k.Resource == "" {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: k.Kind})
		k.Resource = plural.Resource
	}
	if k.Singular == "" {
		k.Singular = strings.ToLower(k.Kind)
	}
	if k.Scale != nil {
		k.subresources = map[string]subresource{"scale": k.Scale.subresource()}
	}
	var list []*kind
	for _, version := range append([]string{k.Version}, k.OtherVersions...) {
		one := &kind{Kind: k, namespaced: !k.ClusterScoped, scheme: scheme, lower: strings.ToLower(k.Kind)}
		if version != k.Version {
			one.Version, one.older, one.subresources = version, true, nil
			one.Strategy, one.Validation, one.Fields = strategy.Kind{}, validation.Kind{Names: k.Validation.Names}, nil
		}
		one.gvk = schema.GroupVersionKind{Group: k.Group, Version: version, Kind: k.Kind}
		one.gvr = one.gvk.GroupVersion().WithResource(k.Resource)
		one.home = one.gvr
		if k.StoredAs != "" {
			one.older, one.home.Version = one.older || k.NotPreferred, "" // one store for all versions
		}
		if err := one.findTypes(); err != nil {
			return nil, err
		}
		one.resource = one.asResource()
		list = append(list, one)
	}
	return list, nil
}

// findTypes finds the Go types in the scheme.
func (k *kind) findTypes() error {
	if k.scheme == nil {
		k.typ, k.listType = reflect.TypeFor[unstructured.Unstructured](), reflect.TypeFor[unstructured.UnstructuredList]()
		k.spec, k.status = 0, 1
		if k.NoStatus {
			k.status = -1
		}
		return nil
	}
	known := k.scheme.KnownTypes(k.gvk.GroupVersion())
	var ok bool
	if k.typ, ok = known[k.gvk.Kind]; !ok {
		return fmt.Errorf("the kind %s is not in the scheme", k.gvk)
	}
	if k.listType, ok = known[k.gvk.Kind+"List"]; !ok {
		return fmt.Errorf("the kind %s has no list in the scheme: %sList is expected there", k.gvk, k.gvk.Kind)
	}
	empty := reflect.New(k.typ).Interface()
	_, k.protobuf = empty.(runtime.ProtobufMarshaller)
	if _, ok := empty.(object); !ok {
		return fmt.Errorf("the kind %s has no metadata: %s does not implement metav1.Object", k.gvk, k.typ)
	}
	if items, ok := k.listType.FieldByName("Items"); !ok || items.Type != reflect.SliceOf(k.typ) {
		return fmt.Errorf("the list of the kind %s has no field Items that is a slice of %s", k.gvk, k.typ)
	}
	if k.Deprecated == "" {
		k.Deprecated = k.deprecation(empty)
	}
	k.spec, k.status = fieldIndex(k.typ, "Spec"), fieldIndex(k.typ, "Status")
	if k.NoStatus {
		k.status = -1
	}
	return nil
}

// deprecation returns the warning for each request for a Go type that says it is deprecated, empty for others.
// Upstream: apiserver endpoints/deprecation IsDeprecated and WarningMessage, v1.37.
func (k *kind) deprecation(empty any) string {
	old, ok := empty.(interface{ APILifecycleDeprecated() (major, minor int) })
	if !ok {
		return ""
	}
	major, minor := old.APILifecycleDeprecated()
	if major != 1 || minor == 0 || minor > release.Minor {
		return ""
	}
	text := fmt.Sprintf("%s %s is deprecated in v%d.%d+", k.gvk.GroupVersion(), k.gvk.Kind, major, minor)
	if gone, ok := empty.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
		if major, minor := gone.APILifecycleRemoved(); major != 0 || minor != 0 {
			text += fmt.Sprintf(", unavailable in v%d.%d+", major, minor)
		}
	}
	if replaced, ok := empty.(interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}); ok {
		if by := replaced.APILifecycleReplacement(); !by.Empty() {
			text += fmt.Sprintf("; use %s %s", by.GroupVersion(), by.Kind)
		}
	}
	return text
}

func fieldIndex(typ reflect.Type, name string) int {
	if f, ok := typ.FieldByName(name); ok && len(f.Index) == 1 && f.Type.Kind() == reflect.Struct {
		return f.Index[0]
	}
	return -1
}

// APIResource returns the kind as discovery shows it. Its lists are shared.
func (k *kind) APIResource() metav1.APIResource { return k.resource }

func (k *kind) asResource() metav1.APIResource {
	verbs := allVerbs
	if k.gvr == namespaces {
		verbs = slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool { return verb == "deletecollection" })
	}
	return metav1.APIResource{
		Group: k.gvk.Group, Version: k.gvk.Version, Kind: k.gvk.Kind, Name: k.gvr.Resource, SingularName: k.Singular,
		Namespaced: k.namespaced, Verbs: verbs, ShortNames: k.ShortNames, Categories: k.Categories,
		StorageVersionHash: storageVersionHash(k.gvk.Group, cmp.Or(k.StoredAs, k.gvk.Version), k.gvk.Kind),
	}
}

// storageVersionHash tells clients whether objects are still stored as they were.
// Upstream: apiserver endpoints/discovery StorageVersionHash, v1.37.
func storageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

var allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

func (k *kind) newObject() object {
	obj := reflect.New(k.typ).Interface().(object)
	k.label(obj)
	return obj
}

func (k *kind) newList() runtime.Object {
	list := reflect.New(k.listType).Interface().(runtime.Object)
	if k.scheme == nil {
		list.GetObjectKind().SetGroupVersionKind(k.gvk.GroupVersion().WithKind(cmp.Or(k.ListKind, k.gvk.Kind+"List")))
	}
	return list
}

// label sets the kind of an unstructured object, and clears that of a typed one, as in stored
// objects.
func (k *kind) label(obj object) {
	if k.scheme == nil {
		obj.GetObjectKind().SetGroupVersionKind(k.gvk)
	} else {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// shown returns a copy of a stored object in this version of its kind.
func (k *kind) shown(obj runtime.Object) runtime.Object {
	out := obj.DeepCopyObject()
	if k.StoredAs == "" || out.GetObjectKind().GroupVersionKind().Version == k.gvk.Version {
		return out
	}
	k.label(out.(object))
	if k.Show != nil {
		k.Show(out)
	}
	return out
}

// given returns a stored object for a caller: a copy, or the object itself if the caller
// shares it and it needs no conversion.
func (k *kind) given(obj runtime.Object, shared bool) runtime.Object {
	if shared && (k.StoredAs == "" || obj.GetObjectKind().GroupVersionKind().Version == k.gvk.Version) {
		return obj
	}
	return k.shown(obj)
}

// storable sets the version of an object to the one that it is stored in.
func (k *kind) storable(obj object) {
	if k.StoredAs != "" {
		obj.GetObjectKind().SetGroupVersionKind(k.storedGVK())
	}
}

// storedGVK returns the kind in the version that objects are stored in.
func (k *kind) storedGVK() schema.GroupVersionKind {
	gvk := k.gvk
	gvk.Version = cmp.Or(k.StoredAs, gvk.Version)
	return gvk
}

// keep copies the field at index from old to obj.
func keep(index int, obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		name := unstructuredParts[index]
		if value, there := old.(*unstructured.Unstructured).Object[name]; there {
			u.Object[name] = runtime.DeepCopyJSONValue(value)
		} else {
			delete(u.Object, name)
		}
		return
	}
	reflect.ValueOf(obj).Elem().Field(index).Set(reflect.ValueOf(old).Elem().Field(index))
}

// drop empties the field at index.
func drop(index int, obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, unstructuredParts[index])
		return
	}
	reflect.ValueOf(obj).Elem().Field(index).SetZero()
}

func sameField(index int, a, b runtime.Object) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		name := unstructuredParts[index]
		return semanticEqual(u.Object[name], b.(*unstructured.Unstructured).Object[name])
	}
	x, y := reflect.ValueOf(a).Elem().Field(index), reflect.ValueOf(b).Elem().Field(index)
	return semanticEqual(x.Addr().Interface(), y.Addr().Interface())
}
