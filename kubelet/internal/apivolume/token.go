package apivolume

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/internal/securitycontext"
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
// without a path is left out. With an fsGroup their mode is one to which the group's rights are added; if all
// containers of the pod run as one user, they are his.
//
// Upstream: projected.go collectData, v1.37.
func issued(mode int32, files ...fakeFile) source {
	return source{collect: func(_ volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error) {
		user := fsUserFrom(pod)
		if sc := pod.Spec.SecurityContext; user != nil || sc != nil && sc.FSGroup != nil {
			mode = 0o600
		}
		list := map[string]FileProjection{}
		for _, f := range files {
			if f.path != "" {
				list[f.path] = FileProjection{[]byte(f.text), mode, user}
			}
		}
		return list, nil
	}}
}

// fsUserFrom returns the user whom all containers of the pod run as; nil if one does not say it, or there are several.
//
// Upstream: pkg/volume/util/util.go FsUserFrom, v1.37.2.
func fsUserFrom(pod *v1.Pod) (user *int64) {
	for c := range securitycontext.Containers(pod) {
		runAs := securitycontext.Of(pod, c).RunAsUser
		if runAs == nil || user != nil && *user != *runAs {
			return nil
		}
		user = runAs
	}
	return user
}
