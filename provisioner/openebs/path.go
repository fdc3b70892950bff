package openebs

import (
	"errors"
	"fmt"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// checkHostPath refuses what is no absolute path, and with isRoot what is directly
// under the root directory.
//
// Upstream: openebs/maya pkg/hostpath Validate and IsNonRoot.
func checkHostPath(dir, isRoot string) error {
	if dir == "" {
		return errors.New("failed to validate: missing host path")
	}
	var failed []string
	parent, name := path.Split(strings.TrimSuffix(dir, "/"))
	if strings.TrimSuffix(parent, "/") == "" || name == "" {
		failed = append(failed, isRoot)
	}
	if !path.IsAbs(dir) {
		failed = append(failed, "invalid path "+dir)
	}
	if len(failed) > 0 {
		return fmt.Errorf("host path validation failed: %v", failed)
	}
	return nil
}

// volumePath returns the directory of a volume.
//
// Upstream: config.go VolumeConfig.GetPath.
func volumePath(base, pvName string) (string, error) {
	if strings.TrimSpace(base) == "" {
		return "", errors.New("failed to get path: base path is empty")
	}
	dir := path.Join(base, pvName)
	return dir, checkHostPath(dir, fmt.Sprintf("path should not be a root directory: %s/%s", base, pvName))
}

// extractSubPath splits a volume's directory into the parent that a helper pod
// mounts and the name of the volume's own directory in it.
//
// Upstream: openebs/maya pkg/hostpath ExtractSubPath, with IsNonRoot.
func extractSubPath(dir string) (parent, name string, err error) {
	if err := checkHostPath(dir, fmt.Sprintf("volume directory {%s} should not be under root directory", dir)); err != nil {
		return "", "", err
	}
	if path.Clean(dir) != dir {
		return "", "", fmt.Errorf("host path validation failed: [invalid path %s]", dir)
	}
	parent, name = path.Split(dir)
	return strings.TrimSuffix(parent, "/"), name, nil
}

// pathOf returns the directory of a volume on its node, from its local or hostPath
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
	return "", errors.New("no HostPath set")
}
