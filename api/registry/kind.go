package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	appsv1 "k8s.io/api/apps/v1"
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

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/warnings"
	"github.com/storagesim/storagesim/api/views"
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
	// Nicknames are taken here like short names, but discovery does not show them: a real server has none.
	Nicknames []string
	// Categories are groups of kinds that users may ask for together, for example "all".
	Categories []string
	// ClusterScoped: the objects are in no namespace.
	ClusterScoped bool

	// Verbs lists what clients may do; default: everything.
	Verbs metav1.Verbs
	// OnRequest: a real server serves the kind only where its flag --runtime-config asks for it. Discovery does not show
	// it and it is not served over HTTP; clients in the same process find it.
	OnRequest bool
	// HashAs is the group and version from which the storage version hash is made, where a real server stores the
	// objects in another one; default: the entry's own.
	HashAs schema.GroupVersion

	// NoStatus: there is no subresource status. Otherwise there is one if the objects have
	// a field of that name.
	NoStatus bool
	// StatusKeeps lists the fields that a write of the status leaves as they are, beside spec: "metadata", "metadata.labels". Who writes
	// them there does not manage them.
	// Upstream: GetResetFields of the kind's strategy for its status.
	StatusKeeps []string
	// Generations: metadata.generation counts the changes of the spec. AnnotationsCount: those of annotations as well.
	Generations, AnnotationsCount bool
	// GenerationGiven: a new object keeps the generation that it comes with, also if changes of the spec count.
	GenerationGiven bool
	// AllCounts: the objects have no spec, and metadata.generation counts each change but of the metadata. LabelsCount: those of labels as well.
	AllCounts, LabelsCount bool
	// Conditional: an update must say which version it is based on.
	Conditional bool
	// TTL is the time that an object lasts after it was last written; 0: it lasts.
	TTL time.Duration
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
	// Store brings an object of this version, which has the version that it is stored in already, into the form that it is stored in. It is
	// not called for objects that came in that version.
	Store func(obj runtime.Object)
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
	Scale *views.Scale

	// Subresources are the subresources besides status, by name.
	Subresources map[string]views.Subresource
}

// Entry is a Kind in one version, ready for use.
type Entry struct {
	Kind
	GVR        schema.GroupVersionResource
	GVK        schema.GroupVersionKind
	Namespaced bool
	lower      string                      // the name of the kind in lower case
	Older      bool                        // it is not in the preferred version
	Home       schema.GroupVersionResource // the key of its store
	Scheme     *runtime.Scheme             // nil if objects are unstructured
	protobuf   bool                        // objects can be written as protobuf
	resource   metav1.APIResource          // as discovery shows it
	// Type is the Go struct of an object, listType that of a list.
	Type, listType reflect.Type
	Spec, Status   half
}

// ready returns the completed entry for each version of a kind.
func (k Kind) ready(scheme *runtime.Scheme) ([]*Entry, error) {
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
		k.Subresources = map[string]views.Subresource{"scale": k.Scale.Subresource()}
	}
	var list []*Entry
	for _, version := range append([]string{k.Version}, k.OtherVersions...) {
		one := &Entry{Kind: k, Namespaced: !k.ClusterScoped, Scheme: scheme, lower: strings.ToLower(k.Kind)}
		if version != k.Version {
			one.Version, one.Older, one.Subresources = version, true, nil
			one.Strategy, one.Validation, one.Fields = strategy.Kind{}, validation.Kind{Names: k.Validation.Names}, nil
		}
		one.GVK = schema.GroupVersionKind{Group: k.Group, Version: version, Kind: k.Kind}
		one.GVR = one.GVK.GroupVersion().WithResource(k.Resource)
		one.Home, one.Older = one.GVR, one.Older || k.NotPreferred
		if k.StoredAs != "" {
			one.Home.Version = "" // one store for all versions
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
func (k *Entry) findTypes() error {
	if k.Scheme == nil {
		k.Type, k.listType = reflect.TypeFor[unstructured.Unstructured](), reflect.TypeFor[unstructured.UnstructuredList]()
		k.Spec, k.Status = 0, 1
		if k.NoStatus {
			k.Status = -1
		}
		return nil
	}
	known := k.Scheme.KnownTypes(k.GVK.GroupVersion())
	var ok bool
	if k.Type, ok = known[k.GVK.Kind]; !ok {
		return fmt.Errorf("the kind %s is not in the scheme", k.GVK)
	}
	if k.listType, ok = known[k.GVK.Kind+"List"]; !ok {
		return fmt.Errorf("the kind %s has no list in the scheme: %sList is expected there", k.GVK, k.GVK.Kind)
	}
	empty := reflect.New(k.Type).Interface()
	_, k.protobuf = empty.(runtime.ProtobufMarshaller)
	if _, ok := empty.(call.Object); !ok {
		return fmt.Errorf("the kind %s has no metadata: %s does not implement metav1.Object", k.GVK, k.Type)
	}
	if items, ok := k.listType.FieldByName("Items"); !ok || items.Type != reflect.SliceOf(k.Type) {
		return fmt.Errorf("the list of the kind %s has no field Items that is a slice of %s", k.GVK, k.Type)
	}
	if k.Deprecated == "" {
		k.Deprecated = k.deprecation(empty)
	}
	k.Spec, k.Status = fieldIndex(k.Type, "Spec"), fieldIndex(k.Type, "Status")
	if k.NoStatus {
		k.Status = -1
	}
	return nil
}

// deprecation returns the warning for each request for a Go type that says it is deprecated, empty for others.
// Upstream: apiserver endpoints/deprecation IsDeprecated and WarningMessage, v1.37.
func (k *Entry) deprecation(empty any) string {
	old, ok := empty.(interface{ APILifecycleDeprecated() (major, minor int) })
	if !ok {
		return ""
	}
	major, minor := old.APILifecycleDeprecated()
	if major != 1 || minor == 0 || minor > release.Minor {
		return ""
	}
	text := fmt.Sprintf("%s %s is deprecated in v%d.%d+", k.GVK.GroupVersion(), k.GVK.Kind, major, minor)
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

func fieldIndex(typ reflect.Type, name string) half {
	if f, ok := typ.FieldByName(name); ok && len(f.Index) == 1 && f.Type.Kind() == reflect.Struct {
		return half(f.Index[0])
	}
	return -1
}

// APIResource returns the kind as discovery shows it. Its lists are shared.
func (k *Entry) APIResource() metav1.APIResource { return k.resource }

func (k *Entry) asResource() metav1.APIResource {
	verbs := k.Verbs
	if len(verbs) == 0 {
		verbs = allVerbs
	}
	resource := metav1.APIResource{
		Group: k.GVK.Group, Version: k.GVK.Version, Kind: k.GVK.Kind, Name: k.GVR.Resource, SingularName: k.Singular,
		Namespaced: k.Namespaced, Verbs: verbs, ShortNames: k.ShortNames, Categories: k.Categories,
	}
	if slices.Contains(verbs, "create") { // it is stored
		as := cmp.Or(k.HashAs, schema.GroupVersion{Group: k.GVK.Group, Version: cmp.Or(k.StoredAs, k.GVK.Version)})
		resource.StorageVersionHash = storageVersionHash(as.Group, as.Version, k.GVK.Kind)
	}
	return resource
}

// storageVersionHash tells clients whether objects are still stored as they were.
// Upstream: apiserver endpoints/discovery StorageVersionHash, v1.37.
func storageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

var (
	allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	// oneByOne: there is no deletion of a collection.
	oneByOne = metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
)

// NewObject returns an empty object of the kind.
func (k *Entry) NewObject() call.Object {
	obj := reflect.New(k.Type).Interface().(call.Object)
	k.Label(obj)
	return obj
}

// NewBookmark returns an object of the kind for a bookmark of a watch. Inside a real server the replicas of these kinds are no pointer.
// Upstream: pkg/apis/apps types, v1.37.2.
func (k *Entry) NewBookmark() call.Object {
	obj := k.NewObject()
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = new(int32)
	case *appsv1.StatefulSet:
		o.Spec.Replicas = new(int32)
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = new(int32)
	}
	return obj
}

// NewList returns an empty list of the kind.
func (k *Entry) NewList() runtime.Object {
	list := reflect.New(k.listType).Interface().(runtime.Object)
	if k.Scheme == nil {
		list.GetObjectKind().SetGroupVersionKind(k.GVK.GroupVersion().WithKind(cmp.Or(k.ListKind, k.GVK.Kind+"List")))
	}
	return list
}

// Label sets the kind of an unstructured object, and clears that of a typed one, as in stored
// objects.
func (k *Entry) Label(obj call.Object) {
	if k.Scheme == nil {
		obj.GetObjectKind().SetGroupVersionKind(k.GVK)
	} else {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// Shown returns a copy of a stored object in this version of its kind.
func (k *Entry) Shown(obj runtime.Object) runtime.Object {
	out := obj.DeepCopyObject()
	if k.StoredAs == "" || out.GetObjectKind().GroupVersionKind().Version == k.GVK.Version {
		return out
	}
	k.Label(out.(call.Object))
	if k.Show != nil {
		k.Show(out)
	}
	return out
}

// Given returns a stored object for a caller: a copy, or the object itself if the caller
// shares it and it needs no conversion.
func (k *Entry) Given(obj runtime.Object, shared bool) runtime.Object {
	if shared && (k.StoredAs == "" || obj.GetObjectKind().GroupVersionKind().Version == k.GVK.Version) {
		return obj
	}
	return k.Shown(obj)
}

// Storable brings an object into the form that it is stored in, and into that version.
func (k *Entry) Storable(obj call.Object) {
	if lists := k.bareLists(); lists != nil {
		lists.emptyOf(reflect.ValueOf(obj))
	}
	if k.StoredAs == "" {
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(k.StoredGVK())
	if k.Store != nil && k.StoredAs != k.GVK.Version {
		k.Store(obj)
	}
}

// StoredGVK returns the kind in the version that objects are stored in.
func (k *Entry) StoredGVK() schema.GroupVersionKind {
	gvk := k.GVK
	gvk.Version = cmp.Or(k.StoredAs, gvk.Version)
	return gvk
}

// UnknownFields returns the fields of obj that its kind does not have.
func (k *Entry) UnknownFields(obj runtime.Object) []string {
	if k.Unknown == nil {
		return nil
	}
	return k.Unknown(obj)
}

// SetDefaults sets the defaults of an object, which may be the outcome of a server-side apply.
func (k *Entry) SetDefaults(obj call.Object, applied bool) {
	switch {
	case applied && k.Strategy.DefaultApplied != nil:
		k.Strategy.DefaultApplied(obj)
	case k.Strategy.Default != nil:
		k.Strategy.Default(obj)
	}
}
