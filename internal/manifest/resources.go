package manifest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/internal/prose"
)

// Resource is a kind of object the API serves.
type Resource struct {
	schema.GroupVersionKind
	// Plural is the resource's name in the API, for example "persistentvolumes".
	Plural string
	// Namespaced says whether its objects live in a namespace.
	Namespaced bool
	// Short are the short names, for example "pvc".
	Short []string
}

// GroupVersionResource is the resource as clients address it.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Plural)
}

// Qualified is how kubectl names an object of this kind: "persistentvolume",
// "storageclass.storage.k8s.io".
func (r Resource) Qualified() string {
	name := strings.ToLower(r.Kind)
	if r.Group != "" {
		name += "." + r.Group
	}
	return name
}

// Resources are all resources of the client-go clientset, in order of group,
// kind and version, the preferred version of each kind first.
func Resources() []Resource { return slices.Clone(resources()) }

// shortNames are the short names of the API server, and "va", which it lacks.
var shortNames = map[string][]string{
	"pods": {"po"}, "nodes": {"no"}, "namespaces": {"ns"}, "events": {"ev"}, "configmaps": {"cm"},
	"persistentvolumes": {"pv"}, "persistentvolumeclaims": {"pvc"}, "storageclasses": {"sc"},
	"serviceaccounts": {"sa"}, "services": {"svc"}, "endpoints": {"ep"}, "resourcequotas": {"quota"},
	"limitranges": {"limits"}, "replicationcontrollers": {"rc"}, "statefulsets": {"sts"}, "daemonsets": {"ds"},
	"deployments": {"deploy"}, "replicasets": {"rs"}, "cronjobs": {"cj"}, "volumeattributesclasses": {"vac"},
	"volumeattachments": {"va"}, "poddisruptionbudgets": {"pdb"}, "priorityclasses": {"pc"},
	"networkpolicies": {"netpol"}, "ingresses": {"ing"}, "horizontalpodautoscalers": {"hpa"},
}

// resources reads the clientset's interfaces: each method of a group's client
// is a resource, whose Get returns its kind, and which takes a namespace if it
// has one.
var resources = sync.OnceValue(func() []Resource {
	var list []Resource
	clientset := reflect.TypeFor[kubernetes.Interface]()
	for i := range clientset.NumMethod() {
		group := clientset.Method(i).Type
		if group.NumOut() != 1 || group.Out(0).Kind() != reflect.Interface {
			continue
		}
		for j := range group.Out(0).NumMethod() {
			if r, ok := resourceOf(group.Out(0).Method(j)); ok {
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Resource) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
			version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	return list
})

func resourceOf(method reflect.Method) (Resource, bool) {
	t := method.Type
	if t.NumOut() != 1 || t.Out(0).Kind() != reflect.Interface {
		return Resource{}, false
	}
	get, ok := t.Out(0).MethodByName("Get")
	if !ok || get.Type.NumOut() != 2 || get.Type.Out(0).Kind() != reflect.Pointer {
		return Resource{}, false // a review, which is never stored
	}
	obj, ok := reflect.New(get.Type.Out(0).Elem()).Interface().(runtime.Object)
	if !ok {
		return Resource{}, false
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return Resource{}, false
	}
	plural := strings.ToLower(method.Name)
	return Resource{GroupVersionKind: kinds[0], Plural: plural, Namespaced: t.NumIn() == 1, Short: shortNames[plural]}, true
}

// ResourceForKind finds the resource of a kind in exactly that version.
func ResourceForKind(gvk schema.GroupVersionKind) (Resource, bool) {
	for _, r := range resources() {
		if r.GroupVersionKind == gvk {
			return r, true
		}
	}
	return Resource{}, false
}

// FindResource finds what a user calls by plural, singular, kind or short name,
// in any case, with or without the group behind a dot: "pvc",
// "persistentvolumeclaims", "StorageClass", "statefulsets.apps". Core wins over
// other groups and the preferred version over others.
func FindResource(word string) (Resource, error) {
	name, group, hasGroup := strings.Cut(strings.ToLower(word), ".")
	var found *Resource
	for i, r := range resources() {
		if hasGroup && r.Group != group {
			continue
		}
		if name == r.Plural || name == strings.ToLower(r.Kind) || slices.Contains(r.Short, name) {
			if found == nil || better(r, *found) {
				found = &resources()[i]
			}
		}
	}
	if found == nil {
		return Resource{}, fmt.Errorf("the server doesn't have a resource type %q%s", word, prose.DidYouMean(name, resourceNames()))
	}
	return *found, nil
}

// Plural is a resource as the API calls it, found as FindResource does: "pv" is
// "persistentvolumes". A subresource, "pods/binding", stays.
func Plural(word string) (string, error) {
	name, sub, hasSub := strings.Cut(word, "/")
	resource, err := FindResource(name)
	if err != nil || !hasSub {
		return resource.Plural, err
	}
	return resource.Plural + "/" + sub, nil
}

// better says whether r is to be preferred to other, which was found first and
// bears the same name in another group.
func better(r, other Resource) bool {
	return r.Group != other.Group && obsoleteGroups[other.Group] && !obsoleteGroups[r.Group]
}

// obsoleteGroups also serve kinds that live elsewhere today.
var obsoleteGroups = map[string]bool{"extensions": true, "events.k8s.io": true}

func resourceNames() []string {
	var names []string
	for _, r := range resources() {
		names = append(names, strings.ToLower(r.Kind), r.Plural)
		names = append(names, r.Short...)
	}
	return names
}
