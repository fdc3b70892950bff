package warnings

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// file is a file of a volume, and the source that it comes from.
type file struct{ path, source string }

func (f file) String() string {
	if f.source == "" {
		return fmt.Sprintf("%q", f.path)
	}
	return fmt.Sprintf("%q (%s)", f.path, f.source)
}

// within reports whether a path is another one, or a directory or a file in it.
func within(path, other string) bool { return strings.HasPrefix(path+"/", other+"/") }

// overlaps describes each pair of files of which one is in the place of the other.
// Upstream: pkg/api/pod/warnings.go checkVolumeMappingForOverlap and checkForOverlap, v1.37.
func overlaps(files []file) (list []string) {
	for i := range files {
		files[i].path = strings.TrimRight(files[i].path, "/")
		for _, before := range files[:i] {
			if files[i].path != "" && before.path != "" && (within(before.path, files[i].path) || within(files[i].path, before.path)) {
				list = append(list, fmt.Sprintf("%s with %s", files[i], before))
			}
		}
	}
	return list
}

func keyFiles(items []v1.KeyToPath, source string) (list []file) {
	for _, item := range items {
		list = append(list, file{item.Path, source})
	}
	return list
}

func downwardFiles(items []v1.DownwardAPIVolumeFile, source string) (list []file) {
	for _, item := range items {
		list = append(list, file{item.Path, source})
	}
	return list
}

// overlappingPaths warns of volumes in which two files have the same place.
// Upstream: pkg/api/pod/warnings.go warningsForOverlappingVirtualPaths, v1.37.
func overlappingPaths(volumes []v1.Volume) (list []string) {
	for i := range volumes {
		v := &volumes[i]
		add := func(what string, files []file) {
			for _, text := range overlaps(files) {
				list = append(list, fmt.Sprintf("volume %q (%s): overlapping paths: %s", v.Name, what, text))
			}
		}
		if v.ConfigMap != nil {
			add(fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), keyFiles(v.ConfigMap.Items, ""))
		}
		if v.Secret != nil {
			add(fmt.Sprintf("Secret %q", v.Secret.SecretName), keyFiles(v.Secret.Items, ""))
		}
		if v.DownwardAPI != nil {
			add("DownwardAPI", downwardFiles(v.DownwardAPI.Items, ""))
		}
		if v.Projected == nil {
			continue
		}
		var files []file
		for j := range v.Projected.Sources {
			source := &v.Projected.Sources[j]
			if *source == (v1.VolumeProjection{}) {
				list = append(list, fmt.Sprintf("volume %q (Projected) has no sources provided", v.Name))
			}
			files = append(files, projectedFiles(source)...)
		}
		add("Projected", files)
	}
	return list
}

// projectedFiles returns the files that a source names.
func projectedFiles(source *v1.VolumeProjection) (list []file) {
	switch {
	case source.ConfigMap != nil && source.ConfigMap.Items != nil:
		return keyFiles(source.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", source.ConfigMap.Name))
	case source.Secret != nil && source.Secret.Items != nil:
		return keyFiles(source.Secret.Items, fmt.Sprintf("Secret %q", source.Secret.Name))
	case source.DownwardAPI != nil && source.DownwardAPI.Items != nil:
		return downwardFiles(source.DownwardAPI.Items, "DownwardAPI")
	case source.ServiceAccountToken != nil:
		return []file{{source.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case source.ClusterTrustBundle != nil:
		name := source.ClusterTrustBundle.Name
		if name == nil {
			name = source.ClusterTrustBundle.SignerName
		}
		if name != nil {
			list = append(list, file{source.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)})
		}
	case source.PodCertificate != nil:
		for _, f := range []file{
			{source.PodCertificate.CertificateChainPath, "PodCertificate chain"},
			{source.PodCertificate.KeyPath, "PodCertificate key"},
			{source.PodCertificate.CredentialBundlePath, "PodCertificate credential bundle"},
		} {
			if f.path != "" {
				list = append(list, f)
			}
		}
	}
	return list
}
