package localpath

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/internal/helperpod"
)

const (
	// ProvisionerName is the name of this provisioner in classes.
	ProvisionerName = "rancher.io/local-path"
	// DefaultNamespace is the namespace of the configuration and of helper pods.
	DefaultNamespace = "local-path-storage"
	// DefaultConfigMapName is the ConfigMap with the configuration.
	DefaultConfigMapName = "local-path-config"
	// DefaultServiceAccount is the service account of helper pods.
	DefaultServiceAccount = "local-path-provisioner-service-account"
	// DefaultPath is the directory under which volumes are made on every node
	// unless the configuration says otherwise.
	DefaultPath = "/opt/local-path-provisioner"
)

// Config holds the settings that upstream reads from its command line. The zero value works.
type Config struct {
	// Namespace of the configuration and of the helper pods; default
	// DefaultNamespace. It must exist.
	Namespace string
	// ConfigMapName is the ConfigMap with the keys config.json, setup, teardown
	// and helperPod.yaml; default DefaultConfigMapName. It must exist when the
	// first claim comes.
	ConfigMapName string
	// ServiceAccount of the helper pods; default DefaultServiceAccount. It must exist.
	ServiceAccount string
	// AllowUnsafeHelperPodTemplate takes a helperPod.yaml that mounts volumes, is
	// privileged or has anything else that a helper pod does not need. Default
	// false, as upstream: such a template is refused.
	AllowUnsafeHelperPodTemplate bool
	// DeleteOnSelectedNode finds the node of a volume that is to be deleted by
	// the name that was written on the volume when it was made. Upstream takes
	// the value of the volume's affinity for a node's name: where that is not
	// one, it believes that the node is gone, and leaves the data. Default false,
	// as upstream.
	DeleteOnSelectedNode bool
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	for _, d := range []struct {
		field *string
		value string
	}{
		{&c.Namespace, DefaultNamespace},
		{&c.ConfigMapName, DefaultConfigMapName},
		{&c.ServiceAccount, DefaultServiceAccount},
	} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if wrong := validation.IsDNS1123Label(c.Namespace); len(wrong) > 0 {
		return c, fmt.Errorf("localpath.Config.Namespace %q: %s", c.Namespace, wrong[0])
	}
	if wrong := validation.IsDNS1123Subdomain(c.ConfigMapName); len(wrong) > 0 {
		return c, fmt.Errorf("localpath.Config.ConfigMapName %q: %s", c.ConfigMapName, wrong[0])
	}
	return c, nil
}

// localPathProvisioner makes volumes that are directories of nodes. It keeps its
// configuration in memory, and nothing else.
//
// Upstream: provisioner.go LocalPathProvisioner, v0.0.37.
type localPathProvisioner struct {
	cfg    Config
	env    control.Env
	client kubernetes.Interface
	loaded loaded
}

var _ provisioner.Provisioner = (*localPathProvisioner)(nil)

// Controller returns Rancher's local-path provisioner, "rancher.io/local-path", for Cluster.AddProvisionController. Its namespace,
// the service account of its helper pods and the ConfigMap with its configuration (DefaultConfigMap) are created if they are
// missing. Its storage classes are yours to apply.
func Controller(cfg Config) provisioner.Config {
	m := DefaultConfigMap()
	m.Namespace, m.Name = cmp.Or(cfg.Namespace, m.Namespace), cmp.Or(cfg.ConfigMapName, m.Name)
	return provisioner.Config{
		Name: ProvisionerName,
		New:  New(cfg),
		Setup: func(ctx context.Context, client kubernetes.Interface) error {
			if err := helperpod.CreateNamespace(ctx, client, m.Namespace); err != nil {
				return err
			}
			if err := helperpod.CreateAccount(ctx, client, m.Namespace, cmp.Or(cfg.ServiceAccount, DefaultServiceAccount)); err != nil {
				return err
			}
			return helperpod.CreateConfigMap(ctx, client, m)
		},
	}
}

// New returns a function for provisioner.Config.New, which makes the provisioner each time its
// actor starts. The error of that function says what is wrong with cfg.
func New(cfg Config) func(env control.Env) (provisioner.Provisioner, error) {
	return func(env control.Env) (provisioner.Provisioner, error) {
		cfg, err := cfg.checked()
		if err != nil {
			return nil, err
		}
		p := &localPathProvisioner{cfg: cfg, env: env, client: env.Client()}
		p.watchAndRefreshConfig()
		return p, nil
	}
}

// DefaultConfigMap returns the ConfigMap that upstream is installed with: volumes
// under DefaultPath on every node, made with mkdir -m 0777 -p and removed with rm
// -rf.
//
// Upstream: deploy/local-path-storage.yaml, v0.0.37.
func DefaultConfigMap() *v1.ConfigMap {
	m := &v1.ConfigMap{}
	m.Namespace, m.Name = DefaultNamespace, DefaultConfigMapName
	m.Data = map[string]string{
		keyConfig:   `{"nodePathMap": [{"node": "` + defaultForNonListedNodes + `", "paths": ["` + DefaultPath + `"]}]}`,
		keySetup:    "#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"",
		keyTeardown: "#!/bin/sh\nset -eu\nrm -rf \"$VOL_DIR\"",
		keyHelperPod: `apiVersion: v1
kind: Pod
metadata:
  name: helper-pod
spec:
  priorityClassName: system-node-critical
  tolerations:
  - {key: node.kubernetes.io/disk-pressure, operator: Exists, effect: NoSchedule}
  containers:
  - {name: helper-pod, image: docker.io/library/busybox, imagePullPolicy: IfNotPresent}
`,
	}
	return m
}
