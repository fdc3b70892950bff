package openebs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// checkBasePath says what is wrong with a directory to make volumes under.
func checkBasePath(base string) error {
	switch {
	case base == "":
		return fmt.Errorf("base path is empty; it must be an absolute path")
	case !path.IsAbs(base):
		return fmt.Errorf("base path %q is not absolute", base)
	case slices.Contains(strings.Split(base, "/"), ".."):
		return fmt.Errorf("base path %q contains %q, which is not allowed", base, "..")
	case path.Clean(base) == "/":
		return fmt.Errorf("base path %q is the root directory; volumes must not be directly under it", base)
	}
	return nil
}

// volumePath is the directory of a volume.
//
// Upstream: config.go VolumeConfig.GetPath.
func volumePath(base, pvName string) (string, error) {
	if err := checkBasePath(base); err != nil {
		return "", err
	}
	if pvName == "" || pvName == "." || pvName == ".." || strings.Contains(pvName, "/") {
		return "", fmt.Errorf("volume name %q cannot be a directory's name", pvName)
	}
	return path.Join(base, pvName), nil
}

// extractSubPath splits a volume's directory into the parent that a helper pod
// mounts and the name of the volume's own directory in it.
//
// Upstream: openebs/maya pkg/hostpath ExtractSubPath, with IsNonRoot.
func extractSubPath(dir string) (parent, name string, err error) {
	if !path.IsAbs(dir) || path.Clean(dir) != dir {
		return "", "", fmt.Errorf("volume directory %q must be a clean absolute path", dir)
	}
	parent, name = path.Split(dir)
	parent = path.Clean(parent)
	if parent == "/" || name == "" {
		return "", "", fmt.Errorf("volume directory %q should not be under root directory", dir)
	}
	return parent, name, nil
}

// pathOf is the directory of a volume on its node, from its local or hostPath
// source.
//
// Upstream: pkg/kubernetes/api/core/v1/persistentvolume GetPath.
func pathOf(volume *v1.PersistentVolume) (string, error) {
	switch {
	case volume.Spec.Local != nil && volume.Spec.Local.Path != "":
		return volume.Spec.Local.Path, nil
	case volume.Spec.HostPath != nil && volume.Spec.HostPath.Path != "":
		return volume.Spec.HostPath.Path, nil
	}
	return "", fmt.Errorf("volume %s has neither a local nor a hostPath source with a path", volume.Name)
}
