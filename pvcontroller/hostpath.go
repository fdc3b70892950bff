package pvcontroller

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Names of the in-tree plugins that this controller knows.
const (
	// HostPathPlugin is the plugin of hostPath volumes.
	HostPathPlugin = "kubernetes.io/host-path"
	// NFSPlugin is the plugin of NFS volumes.
	NFSPlugin = "kubernetes.io/nfs"
)

// NewHostPathDeleter makes the Deleter of hostPath volumes, to be used as
// Config.Deleters[HostPathPlugin]. Upstream's runs in the controller manager and deletes
// from the disk of whatever machine that runs on, which is right where there is only one
// machine. removeAll does that here: it deletes the directory at path, an absolute path
// on that machine, and all below it; that there is none is no error.
//
// Only paths with something below a /tmp/ are deleted; any other is an error, and the
// volume becomes Failed.
//
// Upstream: pkg/volume/hostpath hostPathDeleter, v1.37.
func NewHostPathDeleter(removeAll func(path string) error) Deleter {
	return hostPathDeleter{removeAll}
}

type hostPathDeleter struct{ removeAll func(path string) error }

// CanSupport implements Deleter.
func (hostPathDeleter) CanSupport(volume *v1.PersistentVolume) bool {
	return volume.Spec.HostPath != nil
}

// Delete implements Deleter. Upstream's pattern "/tmp/.+" is not anchored, so
// it matches /var/tmp/x, too.
// Upstream: pkg/volume/hostpath hostPathDeleter.Delete, v1.37.
func (d hostPathDeleter) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.HostPath == nil {
		return fmt.Errorf("failed to create deleter for volume %q: spec.PersistentVolumeSource.HostPath is nil", volume.Name)
	}
	path := volume.Spec.HostPath.Path
	if _, below, found := strings.Cut(path, "/tmp/"); !found || below == "" {
		return fmt.Errorf("host_path deleter only supports /tmp/.+ but received provided %s", path)
	}
	return d.removeAll(path)
}
