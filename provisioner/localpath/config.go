package localpath

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// defaultForNonListedNodes is the entry of the node path map for nodes that have
// none.
const defaultForNonListedNodes = "DEFAULT_PATH_FOR_NON_LISTED_NODES"

// defaultCmdTimeout is how long a helper pod may take.
const defaultCmdTimeout = 120 * time.Second

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
	cmdTimeout                    time.Duration
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

func (c classConfig) isShared() bool { return c.shared != "" }

// parseConfig reads config.json.
func parseConfig(text string) (*pathConfig, error) {
	var data configData
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&data); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the closing brace")
	}
	return canonicalizeConfig(&data)
}

// canonicalizeConfig refuses a configuration that cannot work.
//
// Upstream: provisioner.go canonicalizeConfig, v0.0.37.
func canonicalizeConfig(data *configData) (cfg *pathConfig, err error) {
	cfg = &pathConfig{
		cmdTimeout:   defaultCmdTimeout,
		setupCommand: data.SetupCommand, teardownCommand: data.TeardownCommand,
		byClass: map[string]classConfig{},
	}
	switch {
	case data.CmdTimeoutSeconds < 0:
		return nil, fmt.Errorf("cmdTimeoutSeconds is %d; it must be positive, or 0 for %s", data.CmdTimeoutSeconds, defaultCmdTimeout)
	case data.CmdTimeoutSeconds > 0:
		cfg.cmdTimeout = time.Duration(data.CmdTimeoutSeconds) * time.Second
	}
	if len(data.StorageClassConfigs) == 0 {
		cfg.other, err = canonicalizeStorageClassConfig(data.storageClassConfigData)
		return cfg, err
	}
	if len(data.NodePathMap) > 0 || data.SharedFileSystemPath != "" {
		return nil, errors.New("storageClassConfigs is set, so nodePathMap and sharedFileSystemPath outside of it have no effect; leave them out")
	}
	for _, class := range slices.Sorted(maps.Keys(data.StorageClassConfigs)) {
		if cfg.byClass[class], err = canonicalizeStorageClassConfig(data.StorageClassConfigs[class]); err != nil {
			return nil, fmt.Errorf("storageClassConfigs[%s]: %w", class, err)
		}
	}
	return cfg, nil
}

// canonicalizeStorageClassConfig checks where volumes are to be made.
//
// Upstream: provisioner.go canonicalizeStorageClassConfig and
// isSharedFilesystem, v0.0.37.
func canonicalizeStorageClassConfig(data storageClassConfigData) (classConfig, error) {
	hasPaths, hasShared := len(data.NodePathMap) > 0, data.SharedFileSystemPath != ""
	switch {
	case hasPaths && hasShared:
		return classConfig{}, errors.New("both nodePathMap and sharedFileSystemPath are defined; only one may be")
	case hasShared:
		shared, err := checkPath(data.SharedFileSystemPath)
		if err != nil {
			return classConfig{}, fmt.Errorf("sharedFileSystemPath: %w", err)
		}
		return classConfig{shared: shared}, nil
	case !hasPaths:
		return classConfig{}, errors.New("neither nodePathMap nor sharedFileSystemPath is defined; one must be")
	}
	cfg := classConfig{paths: map[string][]string{}}
	for i, n := range data.NodePathMap {
		if _, ok := cfg.paths[n.Node]; ok || n.Node == "" {
			return classConfig{}, fmt.Errorf("nodePathMap[%d].node is %q; it must be a node that is in the list once, or %s", i, n.Node, defaultForNonListedNodes)
		}
		cfg.paths[n.Node] = nil
		for j, p := range n.Paths {
			clean, err := checkPath(p)
			if err != nil {
				return classConfig{}, fmt.Errorf("nodePathMap[%d] (node %s): paths[%d]: %w", i, n.Node, j, err)
			}
			if slices.Contains(cfg.paths[n.Node], clean) {
				return classConfig{}, fmt.Errorf("nodePathMap[%d] (node %s): paths[%d]: path %q is there twice", i, n.Node, j, p)
			}
			cfg.paths[n.Node] = append(cfg.paths[n.Node], clean)
		}
		slices.Sort(cfg.paths[n.Node])
	}
	return cfg, nil
}

// checkPath refuses directories that no volume may be made in.
func checkPath(p string) (clean string, err error) {
	switch clean = path.Clean(p); {
	case !path.IsAbs(p):
		return "", fmt.Errorf("path %q must start with /", p)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", fmt.Errorf("path %q contains %q, which is not allowed", p, "..")
	case clean == "/":
		return "", fmt.Errorf("path %q: cannot use root ('/') as path", p)
	}
	return clean, nil
}

// pickConfig is the configuration of a storage class.
//
// Upstream: provisioner.go pickConfig, v0.0.37.
func (c *pathConfig) pickConfig(class string) (classConfig, error) {
	if len(c.byClass) == 0 {
		return c.other, nil
	}
	cfg, ok := c.byClass[class]
	if !ok {
		return classConfig{}, fmt.Errorf("storage class %q is not in storageClassConfigs of %s; there are %s",
			class, keyConfig, strings.Join(slices.Sorted(maps.Keys(c.byClass)), ", "))
	}
	return cfg, nil
}

// getPathOnNode is the directory that a volume is made in: the one asked for, or
// any of the node's, which choose picks.
//
// Upstream: provisioner.go getPathOnNode, v0.0.37.
func (c classConfig) getPathOnNode(node, requested string, choose func(n int) int) (string, error) {
	if c.isShared() {
		return c.shared, nil
	}
	paths, listed := c.paths[node]
	if !listed {
		if paths, listed = c.paths[defaultForNonListedNodes]; !listed {
			return "", fmt.Errorf("config doesn't contain node %s, and no %s is available", node, defaultForNonListedNodes)
		}
	}
	switch {
	case len(paths) == 0:
		return "", fmt.Errorf("no local path available on node %s", node)
	case requested == "":
		return paths[choose(len(paths))], nil
	case !slices.Contains(paths, requested):
		return "", fmt.Errorf("parameter %s: config doesn't contain path %q on node %s; there are %s",
			paramNodePath, requested, node, strings.Join(paths, ", "))
	}
	return requested, nil
}

// sameText says whether two texts of config.json are the same JSON.
func sameText(a, b string) bool {
	var left, right bytes.Buffer
	return a == b || json.Compact(&left, []byte(a)) == nil && json.Compact(&right, []byte(b)) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}
