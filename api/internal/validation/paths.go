package validation

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// HasBacksteps reports whether one of the path's elements is "..".
func HasBacksteps(target string) bool {
	for rest := target; ; {
		element, after, more := strings.Cut(rest, "/")
		if element == ".." {
			return true
		}
		if !more {
			return false
		}
		rest = after
	}
}

// CheckNoBacksteps refuses a path with "..": it could leave the directory it is
// meant to stay in.
func CheckNoBacksteps(p *Problems, target string, at *field.Path) {
	if HasBacksteps(target) {
		p.Invalid(at, target, "must not contain '..'")
	}
}

// CheckDescendingPath refuses paths that are absolute or contain "..".
func CheckDescendingPath(p *Problems, target string, at *field.Path) {
	if path.IsAbs(target) {
		p.Invalid(at, target, "must be a relative path")
	}
	CheckNoBacksteps(p, target, at)
}

// CheckLocalPath refuses, beyond CheckDescendingPath, names that start with "..": those
// are the kubelet's own in the volumes it writes.
func CheckLocalPath(p *Problems, target string, at *field.Path) {
	CheckDescendingPath(p, target, at)
	if strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../") {
		p.Invalid(at, target, "must not start with '..'")
	}
}
