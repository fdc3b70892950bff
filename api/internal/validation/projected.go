package validation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Volumes whose files the kubelet writes itself: from ConfigMaps, Secrets, the
// pod's own fields and tokens.

const fileModeError = "must be a number between 0 and 0777 (octal), both inclusive"

func (p *problems) fileMode(mode *int32, at *field.Path, name string) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		p.invalid(at.Child(name), *mode, fileModeError)
	}
}

// keysToPaths validates which key of a ConfigMap or Secret goes to which file.
func (p *problems) keysToPaths(items []v1.KeyToPath, path *field.Path) {
	for i, item := range items {
		at := path.Index(i)
		p.need(at, "key", item.Key)
		p.need(at, "path", item.Path)
		p.localPath(item.Path, at.Child("path"))
		p.fileMode(item.Mode, at, "mode")
	}
}

func (p *problems) downwardFiles(files []v1.DownwardAPIVolumeFile, at *field.Path) {
	for _, file := range files {
		p.need(at, "path", file.Path)
		p.localPath(file.Path, at.Child("path"))
		switch {
		case file.FieldRef != nil:
			p.fieldRef(file.FieldRef, downwardFields, at.Child("fieldRef"))
			if file.ResourceFieldRef != nil {
				p.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
			}
		case file.ResourceFieldRef == nil:
			p.required(at, "one of fieldRef and resourceFieldRef is required")
		default:
			p.resourceRef(file.ResourceFieldRef, true, at.Child("resourceFieldRef"))
		}
		p.fileMode(file.Mode, at, "mode")
	}
}

// projected validates a volume made of several sources of files.
// Upstream: core/validation validateProjectionSources, v1.37.
func (p *problems) projected(v *v1.ProjectedVolumeSource, at *field.Path) {
	p.fileMode(v.DefaultMode, at, "defaultMode")
	var paths []string
	conflict := func(path string, value string) {
		if path != "" && slices.Contains(paths, path) {
			p.invalid(at, value, "conflicting duplicate paths")
		}
		paths = append(paths, path)
	}
	for i := range v.Sources {
		source, path, n := &v.Sources[i], at.Child("sources").Index(i), 0
		if s := source.Secret; s != nil {
			n++
			p.need(path.Child("secret"), "name", s.Name)
			p.keysToPaths(s.Items, path.Child("secret", "items"))
			for _, item := range s.Items {
				conflict(item.Path, s.Name)
			}
		}
		if s := source.ConfigMap; s != nil {
			n++
			p.need(path.Child("configMap"), "name", s.Name)
			p.keysToPaths(s.Items, path.Child("configMap", "items"))
			for _, item := range s.Items {
				conflict(item.Path, s.Name)
			}
		}
		if s := source.DownwardAPI; s != nil {
			n++
			p.downwardFiles(s.Items, path.Child("downwardAPI"))
			for _, item := range s.Items {
				conflict(item.Path, item.Path)
			}
		}
		if s := source.ServiceAccountToken; s != nil {
			n++
			p.projectedToken(s, path.Child("serviceAccountToken"), at)
		}
		if s := source.ClusterTrustBundle; s != nil {
			n++
			p.projectedBundle(s, path.Child("clusterTrustBundle"))
			if slices.Contains(paths, s.Path) {
				p.invalid(at, s.Path, "conflicting duplicate paths")
			}
			paths = append(paths, s.Path)
		}
		if s := source.PodCertificate; s != nil {
			n++
			p.projectedCertificate(s, path.Child("podCertificate"), func(file string) { conflict(file, file) })
		}
		if n > 1 {
			p.forbidden(path, "may not specify more than 1 volume type per source")
		}
	}
}

func (p *problems) projectedToken(t *v1.ServiceAccountTokenProjection, at, volume *field.Path) {
	if s := t.ExpirationSeconds; s != nil && *s < minTokenSeconds {
		p.invalid(at.Child("expirationSeconds"), *s, "may not specify a duration less than 10 minutes")
	} else if s != nil && *s > maxTokenSeconds {
		p.invalid(at.Child("expirationSeconds"), *s, "may not specify a duration larger than 2^32 seconds")
	}
	if t.Path == "" {
		p.required(volume.Child("path"), "")
	} else {
		p.localPath(t.Path, volume.Child("path"))
	}
}
