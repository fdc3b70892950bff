package registry

// StorageKey returns the key in etcd, without its prefix, of an object that has this key among those of its kind.
// Upstream: pkg/kubeapiserver SpecialDefaultResourcePrefixes, v1.37.2.
func (k *Entry) StorageKey(key string) string {
	name := k.GVR.Resource
	switch k.GVR.GroupResource().String() {
	case "replicationcontrollers":
		name = "controllers"
	case "endpoints":
		name = "services/endpoints"
	case "services":
		name = "services/specs"
	case "nodes":
		name = "minions"
	case "ingresses.networking.k8s.io":
		name = "ingress"
	case "customresourcedefinitions.apiextensions.k8s.io":
		name = "apiextensions.k8s.io/" + name
	}
	if k.Scheme == nil && k.GVR.Group != "apiextensions.k8s.io" {
		name = k.GVR.Group + "/" + name
	}
	return "/" + name + "/" + key
}
