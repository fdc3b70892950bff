package storagesim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
)

// AddProvisioner runs p as the external provisioner of that name, with the
// library's defaults. p survives crashes of its actor, as a real backend does. If p implements
// provisioner.Inventory, RequireNoLeaks compares its volumes with the API's.
func (c *Cluster) AddProvisioner(name string, p provisioner.Provisioner) error {
	if p == nil {
		return fmt.Errorf("AddProvisioner %q: the provisioner is nil", name)
	}
	return c.AddProvisionController(provisioner.Config{Name: name, Provisioner: p})
}

// AddProvisionController runs an external provisioner configured in full, such as openebs.Controller(openebs.Config{}),
// localpath.Controller(localpath.Config{}) or nfs.Controller(server, nfs.Config{...}) of the packages below provisioner. Its
// actor bears the provisioner's name, or that of cfg.Actor, such as for a second replica. Unless cfg has an Identity, it
// depends on the cluster's seed.
func (c *Cluster) AddProvisionController(cfg provisioner.Config) error {
	if cfg.Name == "" {
		return errors.New("a provisioner needs a name, for example example.com/nfs, which the StorageClasses give in provisioner")
	}
	if cfg.Identity == "" {
		cfg.Identity = provisioner.IdentityOf(cfg.Name, c.cfg.Seed)
	}
	if c.cfg.Provisioner != nil {
		c.cfg.Provisioner(&cfg)
	}
	if cfg.Setup != nil {
		if err := cfg.Setup(context.Background(), c.setup); err != nil {
			return err
		}
	}
	if cfg.Counters == nil {
		cfg.Counters = &provisioner.Counters{}
	}
	p := &installed{name: cfg.Name, also: cfg.AdditionalNames, cfg: cfg, counters: cfg.Counters}
	p.inventory, _ = provisioner.InventoryOf(cfg.Provisioner)
	if build := cfg.New; build != nil {
		cfg.New = func(env control.Env) (provisioner.Provisioner, error) {
			made, err := build(env)
			p.inventory, _ = provisioner.InventoryOf(made)
			return made, err
		}
	}
	if err := c.addActor(cfg.ActorName(), provisioner.New(cfg)); err != nil {
		return err
	}
	c.provisioners = append(c.provisioners, p)
	return nil
}

// isOurs reports whether a provisioner is one of the library's.
func isOurs(p provisioner.Provisioner) bool {
	t := reflect.TypeOf(p)
	if t == nil {
		return true // each process makes its own
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.HasPrefix(t.PkgPath(), "github.com/storagesim/storagesim/provisioner")
}
