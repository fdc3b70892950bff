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
	fakeCertificate = "# This is neither a key nor a certificate: storagesim has no signers.\n"
)

// fakeFile is a file that a real cluster issues, and its text here.
type fakeFile struct{ path, text string }

// issued returns files whose texts say that they are no tokens and no certificates, for any audience, signer and expiration. One
// without a path is left out. With an fsGroup their mode is one to which the group's rights are added.
//
// Upstream: projected.go collectData, v1.37.
func issued(mode int32, files ...fakeFile) source {
	return source{collect: func(_ volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error) {
		if sc := pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
			mode = 0o600
		}
		list := map[string]FileProjection{}
		for _, f := range files {
			if f.path != "" {
				list[f.path] = FileProjection{[]byte(f.text), mode}
			}
		}
		return list, nil
	}}
}
