package api

import (
	"cmp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"github.com/storagesim/storagesim/internal/release"
)

// Version returns the server's version, by which programs decide what they may use.
func (s *Server) Version() *version.Info {
	v := utilversion.MustParseSemantic(release.Kubernetes)
	major, minor := strconv.FormatUint(uint64(v.Major()), 10), strconv.FormatUint(uint64(v.Minor()), 10)
	return &version.Info{
		Major: major, Minor: minor, EmulationMajor: major, EmulationMinor: minor,
		MinCompatibilityMajor: major, MinCompatibilityMinor: strconv.FormatUint(uint64(v.Minor()-1), 10),
		GitVersion: release.Kubernetes, GitTreeState: "clean",
	}
}

// Resources returns every resource of every group, in order, as discovery does.
func (s *Server) Resources() []*metav1.APIResourceList { return s.cfg.Registry.ResourceLists() }

// ResourceLists returns all resources with their subresources, by group and version and in
// order, as in the documents at /api/v1 and /apis/GROUP/VERSION.
func (r *Registry) ResourceLists() []*metav1.APIResourceList {
	byVersion := map[string]*metav1.APIResourceList{}
	var lists []*metav1.APIResourceList
	for _, k := range r.table.Load().kinds {
		gv := k.gvk.GroupVersion().String()
		list, ok := byVersion[gv]
		if !ok {
			list = &metav1.APIResourceList{GroupVersion: gv}
			byVersion[gv] = list
			lists = append(lists, list)
		}
		for _, resource := range append([]metav1.APIResource{k.APIResource()}, k.subresourceList()...) {
			if resource.Group == k.gvk.Group && resource.Version == k.gvk.Version {
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
		at := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == k.gvk.Group })
		if at < 0 {
			groups, at = append(groups, metav1.APIGroup{Name: k.gvk.Group}), len(groups)
		}
		served := metav1.GroupVersionForDiscovery{GroupVersion: k.gvk.GroupVersion().String(), Version: k.gvk.Version}
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
