package csi

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
)

// volDataFileName is the name of the file that says which volume a directory belongs to.
//
// Upstream: csi_plugin.go volDataFileName, v1.37.
const volDataFileName = "vol_data.json"

// volumeData is the content of that file: the data that a restarted kubelet cannot get elsewhere.
//
// Upstream: csi_mounter.go volDataKey, v1.37, a map that may have empty entries.
type volumeData struct {
	AttachmentID        string `json:"attachmentID,omitempty"`
	DriverName          string `json:"driverName"`
	NodeName            string `json:"nodeName,omitempty"`
	SpecVolID           string `json:"specVolID,omitempty"`
	VolumeHandle        string `json:"volumeHandle"`
	VolumeLifecycleMode string `json:"volumeLifecycleMode,omitempty"`
}

// saveVolumeData writes the file into a directory that is there.
//
// Upstream: csi_util.go saveVolumeData, v1.37.
func (plugin *csiPlugin) saveVolumeData(dir string, data volumeData) error {
	name := path.Join(dir, volDataFileName)
	text, err := json.Marshal(data)
	if err == nil {
		err = plugin.host.GetFS().WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		return failf("failed to save volume data file %s: %w", name, err)
	}
	return nil
}

// loadVolumeData reads it.
//
// Upstream: csi_util.go loadVolumeData, v1.37.
func (plugin *csiPlugin) loadVolumeData(dir string) (data volumeData, err error) {
	name := path.Join(dir, volDataFileName)
	text, err := plugin.host.GetFS().ReadFile(name)
	if err != nil {
		return data, failf("failed to open volume data file [%s]: %w", name, err)
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return data, failf("failed to parse volume data file [%s]: %w", name, err)
	}
	return data, nil
}

// removeMountDir removes a directory that nothing is mounted on, the file beside it, and
// the directory of both.
//
// Upstream: csi_mounter.go removeMountDir, v1.37.
func (plugin *csiPlugin) removeMountDir(mountPath string) error {
	mounted, err := plugin.host.GetMounter().IsMountPoint(mountPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if mounted {
		return nil
	}
	dir := path.Dir(mountPath)
	for _, remove := range []struct{ what, path string }{
		{"remove dir", mountPath}, {"delete volume data file", path.Join(dir, volDataFileName)}, {"delete volume path", dir},
	} {
		if err := plugin.host.GetFS().Remove(remove.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failf("failed to %s [%s]: %w", remove.what, remove.path, err)
		}
	}
	return nil
}
