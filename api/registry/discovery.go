package registry

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/storagesim/storagesim/api/views"
)

// ResourceLists returns all resources with their subresources, by group and version and in
// order, as in the documents at /api/v1 and /apis/GROUP/VERSION.
func (r *Registry) ResourceLists() []*metav1.APIResourceList {
	byVersion := map[string]*metav1.APIResourceList{}
	var lists []*metav1.APIResourceList
	for _, k := range r.table.Load().kinds {
		gv := k.GVK.GroupVersion().String()
		list, ok := byVersion[gv]
		if !ok {
			list = &metav1.APIResourceList{GroupVersion: gv}
			byVersion[gv] = list
			lists = append(lists, list)
		}
		for _, resource := range append([]metav1.APIResource{k.APIResource()}, k.subresourceList()...) {
			if resource.Group == k.GVK.Group && resource.Version == k.GVK.Version {
				resource.Group, resource.Version = "", "" // that is the list's
			}
			list.APIResources = append(list.APIResources, resource)
		}
	}
	for _, list := range lists {
		slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	return lists
}

// Groups returns the groups in order of registration, each with its versions, the preferred
// one first, as in the documents at /api and /apis. The first group has no name.
func (r *Registry) Groups() []metav1.APIGroup {
	var groups []metav1.APIGroup
	for _, k := range r.table.Load().kinds {
		at := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == k.GVK.Group })
		if at < 0 {
			groups, at = append(groups, metav1.APIGroup{Name: k.GVK.Group}), len(groups)
		}
		served := metav1.GroupVersionForDiscovery{GroupVersion: k.GVK.GroupVersion().String(), Version: k.GVK.Version}
		if !slices.Contains(groups[at].Versions, served) {
			groups[at].Versions = append(groups[at].Versions, served)
		}
	}
	for i := range groups {
		slices.SortFunc(groups[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
		groups[i].PreferredVersion = groups[i].Versions[0]
	}
	return groups
}

// Subresource returns what discovery tells of a subresource, such as "status": its kind is that
// of the object that is sent and answered.
func (r *Registry) Subresource(gvr schema.GroupVersionResource, name string) (metav1.APIResource, bool) {
	k, ok := r.Lookup(gvr)
	if !ok {
		return metav1.APIResource{}, false
	}
	if name == "status" && k.Status.Exists() {
		return k.part(name, statusPart), true
	}
	sub, ok := k.Subresources[name]
	if !ok {
		return metav1.APIResource{}, false
	}
	return k.part(name, sub), true
}

// statusPart is the subresource that most kinds have.
var statusPart = views.Subresource{Verbs: metav1.Verbs{"get", "patch", "update"}}

// part returns a subresource as discovery tells of it.
func (k *Entry) part(name string, sub views.Subresource) metav1.APIResource {
	gvk := sub.GVK
	if gvk.Empty() {
		gvk = k.GVK
	}
	return metav1.APIResource{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: k.GVR.Resource + "/" + name, Namespaced: k.Namespaced, Verbs: sub.Verbs,
	}
}

// subresourceList returns those of the kind as discovery tells of them.
func (k *Entry) subresourceList() []metav1.APIResource {
	var list []metav1.APIResource
	if k.Status.Exists() {
		list = append(list, k.part("status", statusPart))
	}
	for _, name := range slices.Sorted(maps.Keys(k.Subresources)) {
		list = append(list, k.part(name, k.Subresources[name]))
	}
	return list
}

// HasPart reports whether a subresource can be read and written: status, a view, or a part.
func (k *Entry) HasPart(sub string) bool {
	known := k.Subresources[sub]
	return sub == "status" && k.Status.Exists() || known.View != nil || known.Part != nil
}
