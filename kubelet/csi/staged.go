package csi

import (
	"path"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/volume"
)

// Staged implements volume.StagingPlugin with the files beside staged volumes and devices.
func (plugin *csiPlugin) Staged() (list []volume.StagedVolume) {
	dir := plugin.host.GetPluginDir(PluginName)
	for _, driver := range plugin.names(dir) {
		if driver == devices {
			continue
		}
		for _, sum := range plugin.names(path.Join(dir, driver)) {
			where := path.Join(dir, driver, sum)
			if data, err := plugin.loadVolumeData(where); err == nil {
				list = append(list, volume.StagedVolume{Spec: constructPVSpec(data, v1.PersistentVolumeFilesystem), Path: path.Join(where, globalMount)})
			}
		}
	}
	for _, name := range plugin.names(plugin.devicesDir()) {
		if data, err := plugin.loadVolumeData(plugin.devicesDir(name, "data")); err == nil {
			list = append(list, volume.StagedVolume{Spec: constructPVSpec(data, v1.PersistentVolumeBlock), Path: plugin.devicesDir(name, "dev"), Block: true})
		}
	}
	return list
}

// names returns the names in a directory; one that cannot be read has none.
func (plugin *csiPlugin) names(dir string) (names []string) {
	entries, err := plugin.host.GetFS().ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
