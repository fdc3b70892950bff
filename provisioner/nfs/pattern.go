package nfs

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// directoryName returns the volume's directory, in the export.
//
// Upstream: provisioner.go Provision, v4.0.18.
func directoryName(options provisioner.ProvisionOptions) (string, error) {
	claim := options.PVC
	pattern := options.StorageClass.Parameters[paramPathPattern]
	name := fillIn(pattern, claim)
	if name == "" {
		return strings.Join([]string{claim.Namespace, claim.Name, options.PVName}, "-"), nil
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == "." || slices.Contains(strings.Split(name, "/"), "..") || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("storage class %s has %s %q, which gives %q for claim %s/%s; it must be a directory in the export, without %q",
			options.StorageClass.Name, paramPathPattern, pattern, name, claim.Namespace, claim.Name, "..")
	}
	return clean, nil
}

// fillIn puts the claim's data in place of ${.PVC.name}, ${.PVC.namespace},
// ${.PVC.labels.NAME} and ${.PVC.annotations.NAME}. What it does not know is
// empty. What it puts in is not looked at again.
//
// Upstream: provisioner.go stringParser, v4.0.18.
func fillIn(pattern string, claim *v1.PersistentVolumeClaim) string {
	const begin, end = "${.PVC.", "}"
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, begin)
		name, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			filled.WriteString(pattern)
			return filled.String()
		}
		filled.WriteString(before)
		filled.WriteString(valueOf(name, claim))
		pattern = after
	}
}

func valueOf(name string, claim *v1.PersistentVolumeClaim) string {
	if key, ok := strings.CutPrefix(name, "labels."); ok {
		return claim.Labels[key]
	}
	if key, ok := strings.CutPrefix(name, "annotations."); ok {
		return claim.Annotations[key]
	}
	switch name {
	case "name":
		return claim.Name
	case "namespace":
		return claim.Namespace
	}
	return ""
}
