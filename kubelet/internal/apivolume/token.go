package apivolume

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/volume"
)

// Every pod of a real cluster has a volume kube-api-access-..., with a token and
// the ConfigMap kube-root-ca.crt, which a controller keeps in every namespace. For
// such a pod to start here, it gets files that say what they are.
const (
	rootCAConfigMap = "kube-root-ca.crt"
	fakeToken       = "this-is-not-a-token.storagesim-signs-none"
	fakeRootCA      = "# This is no certificate: storagesim has no certificate authority.\n"
)

// serviceAccountToken returns a file whose text says that it is not a token, for any audience and
// expiration. With an fsGroup its mode is one to which the group's rights
// are added.
//
// Upstream: projected.go collectData, v1.36.
func serviceAccountToken(path string, mode int32) source {
	return source{collect: func(_ volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error) {
		file := FileProjection{[]byte(fakeToken), mode}
		if sc := pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
			file.Mode = 0o600
		}
		return map[string]FileProjection{path: file}, nil
	}}
}
