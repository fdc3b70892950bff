package pods

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
)

// Volumes whose files the kubelet writes itself: from ConfigMaps, Secrets, the
// pod's own fields and tokens.

const fileModeError = "must be a number between 0 and 0777 (octal), both inclusive"

func checkFileMode(p *validation.Problems, mode *int32, at *field.Path, name string) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		p.Invalid(at.Child(name), *mode, fileModeError)
	}
}

// checkKeysToPaths validates which key of a ConfigMap or Secret goes to which file.
func checkKeysToPaths(p *validation.Problems, items []v1.KeyToPath, path *field.Path) {
	for i, item := range items {
		at := path.Index(i)
		p.Need(at, "key", item.Key)
		p.Need(at, "path", item.Path)
		validation.CheckLocalPath(p, item.Path, at.Child("path"))
		checkFileMode(p, item.Mode, at, "mode")
	}
}

func checkDownwardFiles(p *validation.Problems, files []v1.DownwardAPIVolumeFile, at *field.Path) {
	for _, file := range files {
		p.Need(at, "path", file.Path)
		validation.CheckLocalPath(p, file.Path, at.Child("path"))
		switch {
		case file.FieldRef != nil:
			checkFieldRef(p, file.FieldRef, downwardFields, at.Child("fieldRef"))
			if file.ResourceFieldRef != nil {
				p.Invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
			}
		case file.ResourceFieldRef == nil:
			p.Required(at, "one of fieldRef and resourceFieldRef is required")
		default:
			checkResourceRef(p, file.ResourceFieldRef, true, at.Child("resourceFieldRef"))
		}
		checkFileMode(p, file.Mode, at, "mode")
	}
}

// checkProjected validates a volume made of several sources of files.
// Upstream: core/validation validateProjectionSources, v1.37.
func checkProjected(p *validation.Problems, v *v1.ProjectedVolumeSource, at *field.Path) {
	checkFileMode(p, v.DefaultMode, at, "defaultMode")
	var paths []string
	conflict := func(path string, value string) {
		if path != "" && slices.Contains(paths, path) {
			p.Invalid(at, value, "conflicting duplicate paths")
		}
		paths = append(paths, path)
	}
	for i := range v.Sources {
		source, path, n := &v.Sources[i], at.Child("sources").Index(i), 0
		if s := source.Secret; s != nil {
			n++
			p.Need(path.Child("secret"), "name", s.Name)
			checkKeysToPaths(p, s.Items, path.Child("secret", "items"))
			for _, item := range s.Items {
				conflict(item.Path, s.Name)
			}
		}
		if s := source.ConfigMap; s != nil {
			n++
			p.Need(path.Child("configMap"), "name", s.Name)
			checkKeysToPaths(p, s.Items, path.Child("configMap", "items"))
			for _, item := range s.Items {
				conflict(item.Path, s.Name)
			}
		}
		if s := source.DownwardAPI; s != nil {
			n++
			checkDownwardFiles(p, s.Items, path.Child("downwardAPI"))
			for _, item := range s.Items {
				conflict(item.Path, item.Path)
			}
		}
		if s := source.ServiceAccountToken; s != nil {
			n++
			checkProjectedToken(p, s, path.Child("serviceAccountToken"), at)
		}
		if s := source.ClusterTrustBundle; s != nil {
			n++
			storage.CheckProjectedBundle(p, s, path.Child("clusterTrustBundle"))
			if slices.Contains(paths, s.Path) {
				p.Invalid(at, s.Path, "conflicting duplicate paths")
			}
			paths = append(paths, s.Path)
		}
		if s := source.PodCertificate; s != nil {
			n++
			storage.CheckProjectedCertificate(p, s, path.Child("podCertificate"), func(file string) { conflict(file, file) })
		}
		if n > 1 {
			p.Forbidden(path, "may not specify more than 1 volume type per source")
		}
	}
}

func checkProjectedToken(p *validation.Problems, t *v1.ServiceAccountTokenProjection, at, volume *field.Path) {
	if s := t.ExpirationSeconds; s != nil && *s < storage.MinTokenSeconds {
		p.Invalid(at.Child("expirationSeconds"), *s, "may not specify a duration less than 10 minutes")
	} else if s != nil && *s > storage.MaxTokenSeconds {
		p.Invalid(at.Child("expirationSeconds"), *s, "may not specify a duration larger than 2^32 seconds")
	}
	if t.Path == "" {
		p.Required(volume.Child("path"), "")
	} else {
		validation.CheckLocalPath(p, t.Path, volume.Child("path"))
	}
}
