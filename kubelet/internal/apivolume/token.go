package apivolume

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/internal/securitycontext"
	"github.com/storagesim/storagesim/volume"
)

// Every pod of a real cluster has a volume kube-api-access-..., with a token and
// the ConfigMap kube-root-ca.crt, which a controller keeps in every namespace. For
// such a pod to start here, it gets files that say what they are; the kubelet makes the token.
const (
	rootCAConfigMap = "kube-root-ca.crt"
	fakeRootCA      = "# This is no certificate: storagesim has no certificate authority.\n"
	fakeCertificate = "# This is neither a key nor a certificate: storagesim has no signers.\n"
)

// fakeFile is a file that a real cluster issues, and its text here.
type fakeFile struct{ path, text string }

// issued returns files whose texts say that they are no certificates, for any signer and expiration. One
// without a path is left out.
//
// Upstream: projected.go collectData, v1.37.
func issued(mode int32, files ...fakeFile) source {
	return source{collect: func(_ volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error) {
		list := map[string]FileProjection{}
		for _, f := range files {
			if f.path != "" {
				list[f.path] = secretFile(pod, f.text, mode)
			}
		}
		return list, nil
	}}
}

// token returns a token of the pod's service account as a file.
//
// Upstream: projected.go collectData, v1.37.
func token(mode int32, t *v1.ServiceAccountTokenProjection) source {
	return source{request: func(ctx context.Context, host volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: t.ExpirationSeconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		}}
		if t.Audience != "" {
			request.Spec.Audiences = []string{t.Audience}
		}
		answer, err := host.GetServiceAccountToken(ctx, pod.Namespace, pod.Spec.ServiceAccountName, request)
		if err != nil {
			return nil, err
		}
		return map[string]FileProjection{t.Path: secretFile(pod, answer.Status.Token, mode)}, nil
	}}
}

// secretFile returns what was issued to a pod as a file. With an fsGroup their mode is one to which the group's rights are added; if all
// containers of the pod run as one user, they are his.
//
// Upstream: projected.go collectData, v1.37.
func secretFile(pod *v1.Pod, text string, mode int32) FileProjection {
	user := fsUserFrom(pod)
	if sc := pod.Spec.SecurityContext; user != nil || sc != nil && sc.FSGroup != nil {
		mode = 0o600
	}
	return FileProjection{[]byte(text), mode, user}
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
