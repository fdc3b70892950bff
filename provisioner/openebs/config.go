package openebs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"
)

// AnnCASConfig holds the settings of a class or claim, as a YAML list.
const AnnCASConfig = "cas.openebs.io/config"

// The settings' names.
const (
	keyStorageType          = "StorageType"
	keyBasePath             = "BasePath"
	keyFSType               = "FSType"
	keyNodeAffinityLabel    = "NodeAffinityLabel"
	keyNodeAffinityLabels   = "NodeAffinityLabels"
	keyBlockDeviceTag       = "BlockDeviceTag"
	keyBlockDeviceSelectors = "BlockDeviceSelectors"
	keyXFSQuota             = "XFSQuota"
	keyEXT4Quota            = "EXT4Quota"
	keyFilePermissions      = "FilePermissions"
)

// The names of the data that some settings have.
const (
	keyQuotaSoftLimit = "softLimitGrace"
	keyQuotaHardLimit = "hardLimitGrace"
	keyFsUID          = "UID"
	keyFsGID          = "GID"
	keyFsMode         = "mode"
)

// dataKeys returns the data that the setting can have; nil means that it is not
// looked at.
func dataKeys(key string) []string {
	switch key {
	case keyXFSQuota, keyEXT4Quota:
		return []string{keyQuotaSoftLimit, keyQuotaHardLimit}
	case keyFilePermissions:
		return []string{keyFsUID, keyFsGID, keyFsMode}
	}
	return nil
}

func knownKeys() []string {
	return []string{
		keyStorageType, keyBasePath, keyFSType, keyNodeAffinityLabel, keyNodeAffinityLabels,
		keyBlockDeviceTag, keyBlockDeviceSelectors, keyXFSQuota, keyEXT4Quota, keyFilePermissions,
	}
}

// setting is one entry of the list.
//
// Upstream: openebs/maya pkg/apis/openebs.io/v1alpha1 Config.
type setting struct {
	Name    string            `json:"name"`
	Value   string            `json:"value,omitempty"`
	Enabled string            `json:"enabled,omitempty"`
	Data    map[string]string `json:"data,omitempty"`
	List    []string          `json:"list,omitempty"`
}

// volumeConfig holds the settings of one volume.
//
// Upstream: config.go VolumeConfig.
type volumeConfig struct {
	settings map[string]setting
}

// getVolumeConfig merges the class's settings over the defaults, and both over
// the claim's.
//
// Upstream: config.go GetVolumeConfig.
func getVolumeConfig(cfg Config, class *storagev1.StorageClass, claim *v1.PersistentVolumeClaim) (volumeConfig, error) {
	ofClass, err := parseSettings(class.Annotations[AnnCASConfig])
	if err != nil {
		return volumeConfig{}, fmt.Errorf("failed to get config: invalid sc config {%s}: %w", class.Annotations[AnnCASConfig], err)
	}
	ofClaim, err := parseSettings(claim.Annotations[AnnCASConfig])
	if err != nil {
		return volumeConfig{}, fmt.Errorf("failed to get config: invalid pvc config {%s}: %w", claim.Annotations[AnnCASConfig], err)
	}
	defaults := []setting{{Name: keyBasePath, Value: cfg.BasePath}}
	return volumeConfig{settings: mergeSettings(ofClass, defaults, ofClaim)}, nil
}

// parseSettings reads an annotation; an empty one is no settings.
func parseSettings(text string) ([]setting, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var settings []setting
	if err := yaml.UnmarshalStrict([]byte(text), &settings); err != nil {
		return nil, fmt.Errorf("must be a YAML list of {name, value, enabled, data, list}: %w", err)
	}
	seen := map[string]bool{}
	for i := range settings {
		name := strings.TrimSpace(settings[i].Name)
		switch {
		case name == "":
			return nil, fmt.Errorf("entry %d has no name; allowed are %s", i, strings.Join(knownKeys(), ", "))
		case !slices.Contains(knownKeys(), name):
			return nil, fmt.Errorf("entry %d has the unknown name %q; allowed are %s", i, name, strings.Join(knownKeys(), ", "))
		case seen[name]:
			return nil, fmt.Errorf("entry %d names %q a second time", i, name)
		}
		seen[name] = true
		settings[i].Name = name
		if err := settings[i].check(); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// mergeSettings takes each name's setting from the first list that has it.
//
// Upstream: openebs/maya pkg/castemplate MergeConfig.
func mergeSettings(lists ...[]setting) map[string]setting {
	merged := map[string]setting{}
	for _, list := range lists {
		for _, s := range list {
			if _, ok := merged[s.Name]; !ok {
				merged[s.Name] = s
			}
		}
	}
	return merged
}

// storageType returns the storage type; default hostpath.
//
// Upstream: config.go GetStorageType.
func (c volumeConfig) storageType() string {
	if value := c.settings[keyStorageType].Value; strings.TrimSpace(value) != "" {
		return value
	}
	return "hostpath"
}

// path returns the volume's directory.
//
// Upstream: config.go GetPath.
func (c volumeConfig) path(pvName string) (string, error) {
	return volumePath(c.settings[keyBasePath].Value, pvName)
}

// nodeAffinityLabels returns the labels of the node that the volume and its helper
// pods are bound to: those of the class's list that have a value, or the
// hostname.
//
// Upstream: provisioner_hostpath.go ProvisionHostPath, and
// pkg/kubernetes/api/core/v1/pod WithNodeAffinityNew.
func (c volumeConfig) nodeAffinityLabels(node *v1.Node) (map[string]string, error) {
	keys := c.settings[keyNodeAffinityLabels].List
	if len(keys) == 0 {
		keys = []string{v1.LabelHostname}
	}
	labels := map[string]string{}
	for _, key := range keys {
		if value := node.Labels[key]; value != "" {
			labels[key] = value
		}
	}
	if len(labels) == 0 {
		return nil, errors.New("[failed to build Pod object: missing node label values]")
	}
	return labels, nil
}

// check refuses what would otherwise silently not happen.
func (s setting) check() error {
	if s.Name == keyNodeAffinityLabel {
		return fmt.Errorf("%s has no effect any more; %s has the labels in its list", keyNodeAffinityLabel, keyNodeAffinityLabels)
	}
	if err := s.checkShape(); err != nil {
		return err
	}
	known := dataKeys(s.Name)
	if known == nil {
		return nil
	}
	if _, err := s.isEnabled(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s has the unknown data %q; allowed are %s", s.Name, key, strings.Join(known, ", "))
		}
	}
	return nil
}

// checkShape refuses a value, data or a list where it is not expected.
func (s setting) checkShape() error {
	takes := "value"
	switch s.Name {
	case keyNodeAffinityLabels:
		takes = "list"
	case keyBlockDeviceSelectors, keyXFSQuota, keyEXT4Quota, keyFilePermissions:
		takes = "data"
	}
	for _, has := range []struct {
		field string
		is    bool
	}{{"value", s.Value != ""}, {"data", len(s.Data) > 0}, {"list", len(s.List) > 0}} {
		if has.is && has.field != takes {
			return fmt.Errorf("%s has a field %s, which has no effect; it takes %s", s.Name, has.field, takes)
		}
	}
	return nil
}

// isEnabled reports whether the setting is on; it is off unless it says so.
//
// Upstream: config.go IsXfsQuotaEnabled, IsExt4QuotaEnabled, IsPermissionEnabled.
func (s setting) isEnabled() (bool, error) {
	text := strings.TrimSpace(s.Enabled)
	if text == "" {
		return false, nil
	}
	enabled, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s has enabled %q; it must be \"true\" or \"false\"", s.Name, s.Enabled)
	}
	return enabled, nil
}
