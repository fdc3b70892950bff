package openebs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

func (c volumeConfig) enabled(key string) bool {
	enabled, err := c.settings[key].isEnabled()
	return err == nil && enabled
}

func (c volumeConfig) data(key, name string) string {
	return strings.TrimSpace(c.settings[key].Data[name])
}

// fileMode returns the mode of the volume's directory, as mkdir takes it.
//
// Upstream: config.go GetFsMode.
func (c volumeConfig) fileMode() (string, error) {
	mode := ""
	if c.enabled(keyFilePermissions) {
		mode = c.data(keyFilePermissions, keyFsMode)
	}
	if mode == "" {
		return defaultMode, nil
	}
	ok, err := regexp.MatchString(`^([0-7]{1,4}|[ugoa]*[-+=][rwxXst]*(,[ugoa]*[-+=][rwxXst]*)*)$`, mode)
	if err != nil || !ok || strings.HasPrefix(mode, "-") {
		return "", fmt.Errorf("%s has the %s %q; it must be octal, like 0770, or symbolic, like g+s", keyFilePermissions, keyFsMode, mode)
	}
	return mode, nil
}

// owner returns the user and group that the volume is said to belong to, "" if
// neither is given.
//
// Upstream: config.go GetFsUID, GetFsGID.
func (c volumeConfig) owner() (string, error) {
	if !c.enabled(keyFilePermissions) {
		return "", nil
	}
	for _, name := range []string{keyFsUID, keyFsGID} {
		id := c.data(keyFilePermissions, name)
		if _, err := strconv.ParseUint(id, 10, 31); id != "" && err != nil {
			return "", fmt.Errorf("%s has the %s %q; it must be a number from 0 to 2147483647", keyFilePermissions, name, id)
		}
	}
	uid, gid := c.data(keyFilePermissions, keyFsUID), c.data(keyFilePermissions, keyFsGID)
	if uid == "" && gid == "" {
		return "", nil
	}
	return uid + ":" + gid, nil
}

// quota returns the volume's, nil if it has none.
func (c volumeConfig) quota(pvName string, size int64) (*quota, error) {
	var kind string
	switch xfs, ext4 := c.enabled(keyXFSQuota), c.enabled(keyEXT4Quota); {
	case xfs && ext4:
		return nil, fmt.Errorf("%s and %s are both enabled; a file system is only one of the two", keyXFSQuota, keyEXT4Quota)
	case xfs:
		kind = keyXFSQuota
	case ext4:
		kind = keyEXT4Quota
	default:
		return nil, nil
	}
	limits := c.settings[kind].Data
	return newQuota(kind, pvName, limits[keyQuotaSoftLimit], limits[keyQuotaHardLimit], size)
}
