package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"

	"github.com/storagesim/storagesim/internal/release"
)

// Version is what the server says of its version. Programs decide by it what they may
// use.
func (s *Server) Version() *apimachineryversion.Info {
	v := version.MustParseSemantic(release.Kubernetes)
	major, minor := strconv.FormatUint(uint64(v.Major()), 10), strconv.FormatUint(uint64(v.Minor()), 10)
	return &apimachineryversion.Info{
		Major: major, Minor: minor, EmulationMajor: major, EmulationMinor: minor,
		MinCompatibilityMajor: major, MinCompatibilityMinor: strconv.FormatUint(uint64(v.Minor()-1), 10),
		GitVersion: release.Kubernetes, GitTreeState: "clean",
	}
}

var verbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

func verbsOf(k *kind) metav1.Verbs {
	return slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool { return verb == "deletecollection" && k.gvr == namespaces })
}

// Resources is what discovery tells: every resource of every group, in order.
func (s *Server) Resources() []*metav1.APIResourceList {
	byVersion := map[string]*metav1.APIResourceList{}
	var lists []*metav1.APIResourceList
	for gvr, k := range kinds() {
		gv := gvr.GroupVersion().String()
		list, ok := byVersion[gv]
		if !ok {
			list = &metav1.APIResourceList{GroupVersion: gv}
			byVersion[gv] = list
			lists = append(lists, list)
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: gvr.Resource, SingularName: strings.ToLower(k.gvk.Kind), Namespaced: k.namespaced,
			Kind: k.gvk.Kind, Verbs: verbsOf(k), ShortNames: shortNames[gvr.Resource],
		})
		if k.status >= 0 {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: gvr.Resource + "/status", Namespaced: k.namespaced, Kind: k.gvk.Kind, Verbs: metav1.Verbs{"get", "patch", "update"},
			})
		}
	}
	for _, list := range lists {
		slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	return lists
}

var shortNames = map[string][]string{
	"persistentvolumes": {"pv"}, "persistentvolumeclaims": {"pvc"}, "storageclasses": {"sc"}, "pods": {"po"}, "nodes": {"no"},
	"namespaces": {"ns"}, "events": {"ev"}, "configmaps": {"cm"}, "services": {"svc"}, "serviceaccounts": {"sa"},
	"statefulsets": {"sts"}, "deployments": {"deploy"}, "daemonsets": {"ds"}, "replicasets": {"rs"}, "volumeattributesclasses": {"vac"},
}
