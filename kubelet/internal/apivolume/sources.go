package apivolume

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/volume"
)

// defaultMode is the API server's default of a volume's mode.
const defaultMode int32 = 0o644

func modeOf(mode *int32) int32 {
	if mode != nil {
		return *mode
	}
	return defaultMode
}

func isTrue(b *bool) bool { return b != nil && *b }

func configMapSource(vs *v1.VolumeSource) []source {
	if vs.ConfigMap == nil {
		return nil
	}
	return []source{configMap(vs.ConfigMap.Name, vs.ConfigMap.Items, modeOf(vs.ConfigMap.DefaultMode), isTrue(vs.ConfigMap.Optional))}
}

func secretSource(vs *v1.VolumeSource) []source {
	if vs.Secret == nil {
		return nil
	}
	return []source{secret(vs.Secret.SecretName, vs.Secret.Items, modeOf(vs.Secret.DefaultMode), isTrue(vs.Secret.Optional))}
}

func downwardAPISource(vs *v1.VolumeSource) []source {
	if vs.DownwardAPI == nil {
		return nil
	}
	return []source{downwardAPI(vs.DownwardAPI.Items, modeOf(vs.DownwardAPI.DefaultMode))}
}

// projectedSources returns the sources of all parts of a projected volume, in order.
//
// Upstream: projected.go collectData, v1.37.
func projectedSources(vs *v1.VolumeSource) []source {
	if vs.Projected == nil {
		return nil
	}
	mode := modeOf(vs.Projected.DefaultMode)
	list := []source{}
	for i := range vs.Projected.Sources {
		switch p := &vs.Projected.Sources[i]; {
		case p.ConfigMap != nil:
			list = append(list, configMap(p.ConfigMap.Name, p.ConfigMap.Items, mode, isTrue(p.ConfigMap.Optional)))
		case p.Secret != nil:
			list = append(list, secret(p.Secret.Name, p.Secret.Items, mode, isTrue(p.Secret.Optional)))
		case p.DownwardAPI != nil:
			list = append(list, downwardAPI(p.DownwardAPI.Items, mode))
		case p.ServiceAccountToken != nil:
			list = append(list, token(mode, p.ServiceAccountToken))
		case p.ClusterTrustBundle != nil:
			list = append(list, issued(mode, fakeFile{p.ClusterTrustBundle.Path, fakeRootCA}))
		case p.PodCertificate != nil:
			list = append(list, issued(mode, fakeFile{p.PodCertificate.CredentialBundlePath, fakeCertificate},
				fakeFile{p.PodCertificate.KeyPath, fakeCertificate}, fakeFile{p.PodCertificate.CertificateChainPath, fakeCertificate}))
		}
	}
	return list
}

// configMap returns the keys of a ConfigMap as files.
//
// Upstream: configmap.go MakePayload, v1.37.
func configMap(name string, items []v1.KeyToPath, mode int32, optional bool) source {
	ref := volume.ObjectRef{Kind: "ConfigMap", Name: name}
	return source{object: &ref, collect: func(host volume.VolumeHost, _ *v1.Pod) (map[string]FileProjection, error) {
		data := map[string][]byte{}
		object, err := host.GetObject(ref)
		if name == rootCAConfigMap && apierrors.IsNotFound(err) {
			object, err = &v1.ConfigMap{Data: map[string]string{"ca.crt": fakeRootCA}}, nil
		}
		if cm, ok := object.(*v1.ConfigMap); ok && err == nil {
			for key, text := range cm.Data {
				data[key] = []byte(text)
			}
			for key, bytes := range cm.BinaryData {
				data[key] = bytes
			}
		}
		return makePayload(data, items, mode, optional, err, "configmap references non-existent config key")
	}}
}

// secret returns the keys of a Secret as files.
//
// Upstream: secret.go MakePayload, v1.37.
func secret(name string, items []v1.KeyToPath, mode int32, optional bool) source {
	ref := volume.ObjectRef{Kind: "Secret", Name: name}
	return source{object: &ref, collect: func(host volume.VolumeHost, _ *v1.Pod) (map[string]FileProjection, error) {
		var data map[string][]byte
		object, err := host.GetObject(ref)
		if s, ok := object.(*v1.Secret); ok && err == nil {
			data = s.Data
		}
		return makePayload(data, items, mode, optional, err, "references non-existent secret key")
	}}
}

// makePayload returns all keys, or those that items name, at the paths they name. What
// is optional may be missing, object and keys.
func makePayload(data map[string][]byte, items []v1.KeyToPath, mode int32, optional bool, err error, missing string) (map[string]FileProjection, error) {
	if err != nil && !(optional && apierrors.IsNotFound(err)) {
		return nil, err
	}
	payload := map[string]FileProjection{}
	if len(items) == 0 {
		for key, content := range data {
			payload[key] = FileProjection{Data: content, Mode: mode}
		}
		return payload, nil
	}
	for _, item := range items {
		content, ok := data[item.Key]
		switch {
		case ok && item.Mode != nil:
			payload[item.Path] = FileProjection{Data: content, Mode: *item.Mode}
		case ok:
			payload[item.Path] = FileProjection{Data: content, Mode: mode}
		case !optional:
			return nil, fmt.Errorf("%s: %s", missing, item.Key)
		}
	}
	return payload, nil
}
