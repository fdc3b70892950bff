package provisioner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Parameters of classes that are for the sidecar, not for the driver, begin with this.
const csiParameterPrefix = "csi.storage.k8s.io/"

// fsTypeKey is the parameter that names the file system. The older key "fstype", in upper or lower case, is still
// read, and passed on to the driver.
const fsTypeKey = csiParameterPrefix + "fstype"

// Parameters that Config.ExtraCreateMetadata adds.
const (
	pvcNameKey      = csiParameterPrefix + "pvc/name"
	pvcNamespaceKey = csiParameterPrefix + "pvc/namespace"
	pvNameKey       = csiParameterPrefix + "pv/name"
)

// fsTypeOf returns the file system that the parameters name, or "".
//
// Upstream: controller.go prepareProvision, v6.4.
func fsTypeOf(parameters map[string]string) (string, error) {
	found, fsType := 0, ""
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		if strings.ToLower(key) == "fstype" || key == fsTypeKey {
			found, fsType = found+1, parameters[key]
		}
	}
	if found > 1 {
		return "", fmt.Errorf("fstype specified in parameters with both \"fstype\" and \"%s\" keys", fsTypeKey)
	}
	return fsType, nil
}

// removePrefixedParameters returns the parameters that the driver gets. It refuses a key with the sidecar's prefix
// that the sidecar does not know.
//
// Upstream: controller.go removePrefixedParameters, v6.4.
func removePrefixedParameters(parameters map[string]string) (map[string]string, error) {
	known := []string{fsTypeKey}
	for _, secret := range append(roles(), defaultSecrets()) {
		known = append(known, secret.nameKey, secret.namespaceKey)
	}
	passed := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		switch {
		case !strings.HasPrefix(key, csiParameterPrefix):
			passed[key] = parameters[key]
		case !slices.Contains(known, key):
			return nil, fmt.Errorf("found unknown parameter key \"%s\" with reserved namespace %s", key, csiParameterPrefix)
		}
	}
	return passed, nil
}
