package storagesim

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/helperpod"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/scheduler"
)

// installed is a provisioner that runs in the cluster.
type installed struct {
	name string
	also []string           // its other names
	cfg  provisioner.Config // with all defaults set
	// inventory lists the volumes of its backend; nil if the backend cannot say.
	inventory provisioner.Inventory
	counters  *provisioner.Counters
}

// AddProvisioner runs p as the external provisioner of that name, with the
// library's defaults. p survives crashes of its actor, as a real backend does. If p implements
// provisioner.Inventory, RequireNoLeaks compares its volumes with the API's.
func (c *Cluster) AddProvisioner(name string, p provisioner.Provisioner) error {
	return c.AddProvisionController(provisioner.Config{Name: name, Provisioner: p})
}

// AddProvisionController runs an external provisioner configured in full. Its
// actor bears the provisioner's name. Unless cfg has an Identity, it depends on the
// cluster's seed.
func (c *Cluster) AddProvisionController(cfg provisioner.Config) error {
	if cfg.Identity == "" {
		cfg.Identity = provisioner.IdentityOf(cfg.Name, c.cfg.Seed)
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
	if err := c.addActor(cfg.Name, provisioner.New(cfg)); err != nil {
		return err
	}
	c.provisioners = append(c.provisioners, p)
	return nil
}

// Serves reports whether a provisioner of that name, or a CSI driver, is installed.
func (c *Cluster) Serves(name string) bool {
	return slices.Contains(c.csiNames(), name) ||
		slices.ContainsFunc(c.provisioners, func(p *installed) bool { return p.name == name || slices.Contains(p.also, name) })
}

// AddScheduler runs a second scheduler, as the actor of that name. It schedules only pods with
// its SchedulerName.
func (c *Cluster) AddScheduler(actor string, cfg scheduler.Config) error {
	if slices.ContainsFunc(c.schedulers, func(other scheduler.Config) bool { return other.Name() == cfg.Name() }) {
		return fmt.Errorf("scheduler.Config.SchedulerName: a scheduler called %q runs already", cfg.Name())
	}
	if err := c.addActor(actor, scheduler.New(cfg)); err != nil {
		return err
	}
	c.schedulers, c.schedulerActors = append(c.schedulers, cfg), append(c.schedulerActors, actor)
	return nil
}

// Counters returns the metrics of the provisioner of that name, under upstream's
// names. A restart of its actor does not reset them.
func (c *Cluster) Counters(name string) (*provisioner.Counters, error) {
	var names []string
	for _, p := range c.provisioners {
		if p.counters == nil {
			continue // a Program has its own metrics
		}
		if p.name == name {
			return p.counters, nil
		}
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("no provisioner is called %q%s", name, prose.OneOf(name, names))
}

// InstallOpenEBS runs OpenEBS's provisioner of local hostpath volumes,
// "openebs.io/local", in the namespace that cfg names (default "openebs"), which
// is created if it is missing. Its storage classes are yours to apply.
func (c *Cluster) InstallOpenEBS(cfg ...openebs.Config) error {
	var config openebs.Config
	if len(cfg) > 0 {
		config = cfg[0]
	}
	if err := helperpod.CreateNamespace(context.Background(), c.setup, cmp.Or(config.Namespace, openebs.DefaultNamespace)); err != nil {
		return err
	}
	return c.AddProvisionController(provisioner.Config{Name: openebs.ProvisionerName, New: openebs.New(config)})
}

// InstallLocalPath runs Rancher's local-path provisioner, "rancher.io/local-path",
// in the namespace that cfg names (default "local-path-storage"). The namespace and
// the ConfigMap with its configuration (localpath.DefaultConfigMap) are created if
// they are missing. Its storage classes are yours to apply.
func (c *Cluster) InstallLocalPath(cfg ...localpath.Config) error {
	var config localpath.Config
	if len(cfg) > 0 {
		config = cfg[0]
	}
	m := localpath.DefaultConfigMap()
	m.Namespace, m.Name = cmp.Or(config.Namespace, m.Namespace), cmp.Or(config.ConfigMapName, m.Name)
	if err := helperpod.CreateNamespace(context.Background(), c.setup, m.Namespace); err != nil {
		return err
	}
	if err := helperpod.CreateConfigMap(context.Background(), c.setup, m); err != nil {
		return err
	}
	return c.AddProvisionController(provisioner.Config{Name: localpath.ProvisionerName, New: localpath.New(config)})
}

// InstallNFS runs the provisioner "provisioner.test.com/nfs", which makes no directory: each
// volume is the server and path that its class
// names. Servers (AddNFSServer) and storage classes are yours to add.
func (c *Cluster) InstallNFS() error {
	return c.AddProvisioner(nfsprovisioner.StaticName, nfsprovisioner.Static{})
}

// InstallNFSSubdir runs the provisioner that makes a directory of an export for
// each claim, "k8s-sigs.io/nfs-subdir-external-provisioner" unless cfg says
// otherwise. If there is no NFS server of that name it is added, and cfg.Mount need
// not be set. Its storage classes are yours to apply.
func (c *Cluster) InstallNFSSubdir(cfg nfsprovisioner.Config) error {
	if cfg.Mount == nil {
		if c.NFSServer(cfg.Server) == nil {
			if _, err := c.AddNFSServer(cfg.Server, cfg.Path); err != nil {
				return err
			}
		}
		source := cfg.Server + ":" + cfg.Path
		if strings.Contains(cfg.Server, ":") {
			source = "[" + cfg.Server + "]:" + cfg.Path
		}
		cfg.Mount = func() (nfsprovisioner.Directory, error) {
			export, err := c.nfs.Mount("nfs", source)
			if err != nil {
				return nil, err
			}
			return export, nil
		}
	}
	name := cmp.Or(cfg.Name, nfsprovisioner.SubdirName)
	return c.AddProvisionController(provisioner.Config{Name: name, New: nfsprovisioner.NewSubdir(cfg)})
}

// WithoutInventory returns the names of the provisioners and CSI drivers that do not say what their backends hold
// (provisioner.Inventory, csi.Driver.Inventory), so that RequireNoLeaks cannot find what is left there. The library's
// own provisioners need none: their directories are looked at.
func (c *Cluster) WithoutInventory() (names []string) {
	for _, p := range c.provisioners {
		if p.inventory == nil && !isOurs(p.cfg.Provisioner) {
			names = append(names, p.name)
		}
	}
	for _, d := range c.csiDrivers {
		if d.Inventory == nil {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
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
