package localpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// defaultForNonListedNodes is the entry of the node path map for nodes that have
// none.
const defaultForNonListedNodes = "DEFAULT_PATH_FOR_NON_LISTED_NODES"

// defaultCmdTimeoutSeconds is the time that a helper pod may take.
const defaultCmdTimeoutSeconds = 120

// configFile is the path at which upstream mounts the ConfigMap; its errors name it.
const configFile = "/etc/config/" + keyConfig

// configData is config.json as it is written.
//
// Upstream: provisioner.go ConfigData, v0.0.37.
type configData struct {
	CmdTimeoutSeconds int    `json:"cmdTimeoutSeconds,omitempty"`
	SetupCommand      string `json:"setupCommand,omitempty"`
	TeardownCommand   string `json:"teardownCommand,omitempty"`
	storageClassConfigData
	StorageClassConfigs map[string]storageClassConfigData `json:"storageClassConfigs,omitempty"`
}

type storageClassConfigData struct {
	NodePathMap          []nodePathMapData `json:"nodePathMap,omitempty"`
	SharedFileSystemPath string            `json:"sharedFileSystemPath,omitempty"`
}

type nodePathMapData struct {
	Node  string   `json:"node,omitempty"`
	Paths []string `json:"paths,omitempty"`
}

// pathConfig is a configuration that can be used.
//
// Upstream: provisioner.go Config, v0.0.37.
type pathConfig struct {
	cmdTimeoutSeconds             int
	setupCommand, teardownCommand string
	// byClass is by storage class; other is for all, used if byClass is empty.
	byClass map[string]classConfig
	other   classConfig
}

// classConfig says where the volumes of a class are made.
//
// Upstream: provisioner.go StorageClassConfig, v0.0.37.
type classConfig struct {
	// paths are by node, sorted.
	paths map[string][]string
	// shared is the one directory that all nodes see, "" if there is none.
	shared string
}

// isSharedFilesystem reports whether the volumes are made in the one directory that
// all nodes see. It is an error if the configuration does not say, or says both.
//
// Upstream: provisioner.go isSharedFilesystem, v0.0.37.
func (c classConfig) isSharedFilesystem() (bool, error) {
	switch hasPaths, hasShared := len(c.paths) > 0, c.shared != ""; {
	case hasPaths && hasShared:
		return false, errors.New("both nodePathMap and sharedFileSystemPath are defined. Please make sure only one is in use")
	case !hasPaths && !hasShared:
		return false, errors.New("both nodePathMap and sharedFileSystemPath are unconfigured")
	default:
		return hasShared, nil
	}
}

// parseConfig reads config.json. Fields that are not known have no effect.
//
// Upstream: provisioner.go loadConfigFile, v0.0.37.
func parseConfig(text string) (*pathConfig, error) {
	data, err := decodeConfig(text, false)
	if err != nil {
		return nil, fmt.Errorf("fail to load config file %s: %w", configFile, err)
	}
	return canonicalizeConfig(data)
}

// unknownField returns an error that names the first field which is not known, nil if
// there is none.
func unknownField(text string) error {
	_, err := decodeConfig(text, true)
	return err
}

func decodeConfig(text string, strict bool) (*configData, error) {
	data := &configData{}
	decoder := json.NewDecoder(strings.NewReader(text))
	if strict {
		decoder.DisallowUnknownFields()
	}
	return data, decoder.Decode(data)
}

// canonicalizeConfig refuses a configuration that cannot work.
//
// Upstream: provisioner.go canonicalizeConfig, v0.0.37.
func canonicalizeConfig(data *configData) (cfg *pathConfig, err error) {
	cfg = &pathConfig{
		cmdTimeoutSeconds: defaultCmdTimeoutSeconds,
		setupCommand:      data.SetupCommand, teardownCommand: data.TeardownCommand,
		byClass: map[string]classConfig{},
	}
	if data.CmdTimeoutSeconds > 0 {
		cfg.cmdTimeoutSeconds = data.CmdTimeoutSeconds
	}
	if len(data.StorageClassConfigs) == 0 {
		cfg.other, err = canonicalizeStorageClassConfig(data.storageClassConfigData)
		return cfg, err
	}
	for _, class := range slices.Sorted(maps.Keys(data.StorageClassConfigs)) {
		if cfg.byClass[class], err = canonicalizeStorageClassConfig(data.StorageClassConfigs[class]); err != nil {
			return nil, fmt.Errorf("config for class %s is invalid: %w", class, err)
		}
	}
	return cfg, nil
}

// canonicalizeStorageClassConfig checks where volumes are to be made.
//
// Upstream: provisioner.go canonicalizeStorageClassConfig, v0.0.37.
func canonicalizeStorageClassConfig(data storageClassConfigData) (cfg classConfig, err error) {
	cfg = classConfig{shared: data.SharedFileSystemPath, paths: map[string][]string{}}
	for _, n := range data.NodePathMap {
		if err = cfg.addNode(n); err != nil {
			return classConfig{}, fmt.Errorf("StorageClass config canonicalization failed: %w", err)
		}
	}
	return cfg, nil
}

func (c *classConfig) addNode(n nodePathMapData) error {
	if _, ok := c.paths[n.Node]; ok {
		return fmt.Errorf("duplicate node %s", n.Node)
	}
	paths := []string{}
	for _, p := range n.Paths {
		clean := path.Clean(p)
		switch {
		case !path.IsAbs(p):
			return fmt.Errorf("path must start with / for path %s on node %s", p, n.Node)
		case clean == "/":
			return fmt.Errorf("cannot use root ('/') as path on node %s", n.Node)
		case slices.Contains(paths, clean):
			return fmt.Errorf("duplicate path %s on node %s", p, n.Node)
		}
		paths = append(paths, clean)
	}
	slices.Sort(paths)
	c.paths[n.Node] = paths
	return nil
}

// pickConfig returns the configuration of a storage class.
//
// Upstream: provisioner.go pickConfig, v0.0.37.
func (c *pathConfig) pickConfig(class string) (classConfig, error) {
	if len(c.byClass) == 0 {
		return c.other, nil
	}
	cfg, ok := c.byClass[class]
	if !ok {
		return classConfig{}, fmt.Errorf("BUG: Got request for unexpected storage class %s", class)
	}
	return cfg, nil
}

// getPathOnNode returns the directory that a volume is made in: the one that all nodes
// share, the one asked for, or any of the node's, which choose picks.
//
// Upstream: provisioner.go getPathOnNode, v0.0.37.
func (c classConfig) getPathOnNode(node, requested string, choose func(n int) int) (string, error) {
	if shared, err := c.isSharedFilesystem(); shared || err != nil {
		return c.shared, err
	}
	paths, listed := c.paths[node]
	if !listed {
		if paths, listed = c.paths[defaultForNonListedNodes]; !listed {
			return "", fmt.Errorf("config doesn't contain node %s, and no %s available", node, defaultForNonListedNodes)
		}
	}
	switch {
	case len(paths) == 0:
		return "", fmt.Errorf("no local path available on node %s", node)
	case requested == "":
		return paths[choose(len(paths))], nil
	case !slices.Contains(paths, requested):
		return "", fmt.Errorf("config doesn't contain path %s on node %s", requested, node)
	}
	return requested, nil
}
