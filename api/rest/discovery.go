package rest

import (
	"net/http"
	"slices"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// allowsDiscovery reports whether discovery is served as that kind: all groups in one
// document.
// Upstream: apiserver endpoints/discovery WrapAggregatedDiscoveryToHandler, v1.37.
func allowsDiscovery(_ string, as schema.GroupVersionKind) bool {
	return as.Empty() || as == aggregatedKind
}

var aggregatedKind = schema.GroupVersionKind{Group: "apidiscovery.k8s.io", Version: "v2", Kind: "APIGroupDiscoveryList"}

// routed refuses a request for a document of discovery that upstream's router does not let through: another method than GET, or no form that the document
// has. The documents of all groups, of a group, and of custom kinds are not in the router.
// Upstream: apiserver endpoints/discovery APIVersionHandler.AddToWebService and server/routes Version.Install, v1.37.2.
func routed(r *http.Request, types []runtime.SerializerInfo) error {
	if r.Method != http.MethodGet {
		return methodNotAllowed()
	}
	return checkAccept(r, types, false)
}

// document sends a document of discovery.
func (h *Handler) document(w http.ResponseWriter, r *http.Request, obj runtime.Object, gvk schema.GroupVersionKind) {
	out, err := negotiateOutput(r, mediaTypesOfKubernetes(), allowsNothing)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	out.send(w, r, http.StatusOK, obj)
}

// serveGroups serves /api and /apis: the groups and versions there are.
func (h *Handler) serveGroups(w http.ResponseWriter, r *http.Request, legacy bool) {
	if legacy {
		if err := routed(r, mediaTypesOfKubernetes()); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	out, err := negotiateOutput(r, mediaTypesOfKubernetes(), allowsDiscovery)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if out.as == aggregatedKind {
		h.serveAggregated(w, r, out, legacy)
		return
	}
	groups := h.groups(legacy)
	if legacy {
		list := &metav1.APIVersions{Versions: []string{"v1"}, ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host},
		}}
		h.document(w, r, list, schema.GroupVersionKind{Kind: "APIVersions"})
		return
	}
	h.document(w, r, &metav1.APIGroupList{Groups: groups}, v1.WithKind("APIGroupList"))
}

// groups returns the groups with their versions, in order; legacy is the core group alone.
func (h *Handler) groups(legacy bool) []metav1.APIGroup {
	return slices.DeleteFunc(h.registry.Groups(), func(g metav1.APIGroup) bool { return (g.Name == "") != legacy })
}

// serveResources serves /api/v1, /apis/GROUP and /apis/GROUP/VERSION.
func (h *Handler) serveResources(w http.ResponseWriter, r *http.Request, legacy bool, path string) {
	group, inGroup, both := strings.Cut(path, "/")
	if legacy {
		group, inGroup, both = "", group, true
	}
	if !both {
		groups := h.groups(false)
		i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == group })
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		h.document(w, r, &groups[i], v1.WithKind("APIGroup"))
		return
	}
	list := h.resources(schema.GroupVersion{Group: group, Version: inGroup})
	typed := h.inRouter(group)
	switch {
	case list == nil && typed:
		h.fail(w, r, unknownPath())
		return
	case list == nil:
		http.NotFound(w, r)
		return
	case typed:
		if err := routed(r, mediaTypesOfKubernetes()); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	gvk := v1.WithKind("APIResourceList")
	if legacy { // the core group is older than versions of such documents
		gvk.Version = ""
	}
	h.document(w, r, list, gvk)
}

// resources returns the resources of a group and version, nil if there is none.
func (h *Handler) resources(gv schema.GroupVersion) *metav1.APIResourceList {
	for _, list := range h.server.Resources() {
		if list.GroupVersion == gv.String() {
			return list
		}
	}
	return nil
}

// serveAggregated serves all groups with all resources in one document.
func (h *Handler) serveAggregated(w http.ResponseWriter, r *http.Request, out output, legacy bool) {
	list := &discoveryv2.APIGroupDiscoveryList{Items: []discoveryv2.APIGroupDiscovery{}}
	list.SetGroupVersionKind(aggregatedKind)
	for _, group := range h.groups(legacy) {
		item := discoveryv2.APIGroupDiscovery{}
		item.Name = group.Name
		for _, v := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: v.Version}
			item.Versions = append(item.Versions, discoveryv2.APIVersionDiscovery{
				Version: v.Version, Freshness: discoveryv2.DiscoveryFreshnessCurrent, Resources: h.discovered(gv),
			})
		}
		list.Items = append(list.Items, item)
	}
	w.Header().Set("Vary", "Accept")
	out.info.MediaType += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	out.send(w, r, http.StatusOK, list)
}

// discovered returns the resources of a group and version, each with its subresources.
func (h *Handler) discovered(gv schema.GroupVersion) []discoveryv2.APIResourceDiscovery {
	list := []discoveryv2.APIResourceDiscovery{}
	resources := h.resources(gv)
	if resources == nil {
		return list
	}
	for _, r := range resources.APIResources { // in order of name: subresources follow what they belong to
		name, sub, isSub := strings.Cut(r.Name, "/")
		kind := &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind} // without group and version if the document has the same
		if n := len(list) - 1; isSub && n >= 0 && list[n].Resource == name {
			list[n].Subresources = append(list[n].Subresources, discoveryv2.APISubresourceDiscovery{Subresource: sub, ResponseKind: kind, Verbs: r.Verbs})
			continue
		}
		scope := discoveryv2.ScopeCluster
		if r.Namespaced {
			scope = discoveryv2.ScopeNamespace
		}
		list = append(list, discoveryv2.APIResourceDiscovery{
			Resource: r.Name, ResponseKind: kind, Scope: scope, SingularResource: r.SingularName,
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	return list
}

// servePaths lists what is served, in order.
// Upstream: apiserver server/routes IndexLister, v0.37.2. Metrics, the lists of checks and the keys of tokens are not served here.
func (h *Handler) servePaths(w http.ResponseWriter) {
	paths := []string{"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz", "/version"}
	for _, group := range h.groups(false) {
		paths = append(paths, "/apis/"+group.Name)
		for _, v := range group.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	slices.Sort(paths)
	sendJSON(w, metav1.RootPaths{Paths: paths})
}

// isHealth reports whether a path asks if the server is well, or one of the parts that this server has, too.
// Upstream: apiserver server/healthz, v1.37.2.
func isHealth(path string) bool {
	for _, p := range []string{"/healthz", "/livez", "/readyz"} {
		switch part, ok := strings.CutPrefix(path, p); part {
		case "", "/ping", "/log", "/etcd":
			return ok
		}
	}
	return false
}

func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte("ok"))
}
