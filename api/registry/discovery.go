package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/storagesim/storagesim/api/views"
)

// ResourceLists returns all resources with their subresources, by group and version and in
// order, as in the documents at /api/v1 and /apis/GROUP/VERSION.
func (r *Registry) ResourceLists() []*metav1.APIResourceList {
	byVersion, custom := map[string]*metav1.APIResourceList{}, map[string]bool{}
	var lists []*metav1.APIResourceList
	add := func(gv schema.GroupVersion, resources ...metav1.APIResource) {
		list, ok := byVersion[gv.String()]
		if !ok {
			list = &metav1.APIResourceList{GroupVersion: gv.String()}
			byVersion[gv.String()] = list
			lists = append(lists, list)
		}
		for _, resource := range resources {
			if resource.Group == gv.Group && resource.Version == gv.Version {
				resource.Group, resource.Version = "", "" // that is the list's
			}
			list.APIResources = append(list.APIResources, resource)
		}
	}
	for _, k := range r.table.Load().kinds {
		if !k.OnRequest {
			custom[k.GVK.GroupVersion().String()] = k.Scheme == nil
			add(k.GVK.GroupVersion(), append([]metav1.APIResource{k.APIResource()}, k.subresourceList()...)...)
		}
	}
	for _, resource := range views.Unstored() {
		add(schema.GroupVersion{Group: resource.Group, Version: resource.Version}, resource)
	}
	for _, list := range lists {
		slices.SortStableFunc(list.APIResources, func(a, b metav1.APIResource) int {
			if custom[list.GroupVersion] { // the subresources of each are in their order
				return cmp.Compare(resourceOf(a.Name), resourceOf(b.Name))
			}
			return cmp.Compare(a.Name, b.Name)
		})
	}
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	return lists
}

// resourceOf returns the resource to which a subresource belongs, or the name itself.
func resourceOf(name string) string {
	resource, _, _ := strings.Cut(name, "/")
	return resource
}

// Groups returns the groups in the order of a real server, each with its versions, the preferred
// one first, as in the documents at /api and /apis. The first group has no name.
func (r *Registry) Groups() []metav1.APIGroup {
	var groups []metav1.APIGroup
	for _, list := range r.ResourceLists() {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // a group or a version with a slash is not registered
		}
		at := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if at < 0 {
			groups, at = append(groups, metav1.APIGroup{Name: gv.Group}), len(groups)
		}
		groups[at].Versions = append(groups[at].Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	for i := range groups {
		slices.SortFunc(groups[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
		groups[i].PreferredVersion = groups[i].Versions[0]
	}
	slices.SortFunc(groups, func(a, b metav1.APIGroup) int {
		return cmp.Or(cmp.Compare(placeOf(&a), placeOf(&b)), cmp.Compare(serviceOf(&a), serviceOf(&b)))
	})
	return groups
}

// groupOrder lists the groups of Kubernetes as discovery does. Those of custom resources come after them.
// Upstream: controlplane/apiserver/aggregator.go DefaultGenericAPIServicePriorities and controlplane/instance.go
// DefaultAPIServicePriorities, v1.37.2; groups of one priority are in the order of their names.
var groupOrder = []string{
	"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io",
	"scheduling.k8s.io",
	"coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io",
}

func placeOf(g *metav1.APIGroup) int {
	if i := slices.Index(groupOrder, g.Name); i >= 0 {
		return i
	}
	return len(groupOrder)
}

// serviceOf returns the name by which groups of one priority are sorted: that of the first APIService.
// Upstream: kube-aggregator apiregistration/v1/helper ByGroupPriorityMinimum, v0.37.2.
func serviceOf(g *metav1.APIGroup) string {
	var names []string
	for _, v := range g.Versions {
		names = append(names, v.Version+"."+g.Name)
	}
	return slices.Min(names)
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

// subresourceList returns the kind's subresources as discovery lists them.
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
