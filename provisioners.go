package storagesim

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// installed is a provisioner that runs in the cluster.
type installed struct {
	name string
	// inventory is what its backend holds, nil if it does not say.
	inventory provisioner.Inventory
}

// AddProvisioner runs p as the external provisioner of that name, with the
// library's defaults. p survives crashes of its actor: it stands for a backend
// that does. If it implements provisioner.Inventory, RequireNoLeaks asks it what
// it holds.
func (c *Cluster) AddProvisioner(name string, p provisioner.Provisioner) error {
	return c.AddProvisionController(provisioner.Config{Name: name, Provisioner: p})
}

// AddProvisionController runs an external provisioner configured in full. Its
// actor bears the provisioner's name.
func (c *Cluster) AddProvisionController(cfg provisioner.Config) error {
	p := &installed{name: cfg.Name}
	p.inventory, _ = cfg.Provisioner.(provisioner.Inventory)
	if build := cfg.New; build != nil {
		cfg.New = func(env control.Env) (provisioner.Provisioner, error) {
			made, err := build(env)
			p.inventory, _ = made.(provisioner.Inventory)
			return made, err
		}
	}
	if err := c.engine.Add(cfg.Name, provisioner.New(cfg)); err != nil {
		return err
	}
	c.provisioners = append(c.provisioners, p)
	return nil
}

// InstallOpenEBS runs OpenEBS's provisioner of local hostpath volumes,
// "openebs.io/local", in the namespace that cfg names (default "openebs"), which
// is created if it is missing. Its storage classes are yours to apply.
func (c *Cluster) InstallOpenEBS(cfg ...openebs.Config) error {
	var config openebs.Config
	if len(cfg) > 0 {
		config = cfg[0]
	}
	if config.Namespace == "" {
		config.Namespace = openebs.DefaultNamespace
	}
	ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: config.Namespace}}
	if _, err := c.client.CoreV1().Namespaces().Create(context.Background(), ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.AddProvisionController(provisioner.Config{Name: openebs.ProvisionerName, New: openebs.New(config)})
}
