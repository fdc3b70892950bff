package storagesim

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/provisioner"
)

// Seed returns Config.Seed.
func (l Lab) Seed() uint64 { return l.c.cfg.Seed }

// Dir returns the directory that has those of the nodes, and in _nfs those of NFS servers. It is
// "" if there is no machine yet, and with MemoryDisks.
func (l Lab) Dir() string { return l.c.dir }

// Machines returns the names of all machines: "node/NAME" for each node, "nfs/NAME" for each NFS server and "host/NAME" for
// the machine of each CSI driver's controller.
func (l Lab) Machines() []string { return l.c.machines.Names() }

// Sockets returns the sockets of all machines, on which CSI drivers and their registrars listen.
// Package csi/call listens on them and dials them.
func (l Lab) Sockets() *socket.Table { return &l.c.sockets }

// Do carries out any API request as the user, through the clientset of Client. The server keeps
// the request's object: do not use it afterwards.
func (l Lab) Do(req api.Request) (runtime.Object, error) { return l.c.do(req) }

// Serves reports whether a provisioner of that name, or a CSI driver, is installed.
func (l Lab) Serves(name string) bool {
	c := l.c
	return slices.Contains(c.csiNames(), name) ||
		slices.ContainsFunc(c.provisioners, func(p *installed) bool { return p.name == name || slices.Contains(p.also, name) })
}

// Counters returns the metrics of the provisioner of that name, under upstream's
// names. A restart of its actor does not reset them.
func (l Lab) Counters(name string) (*provisioner.Counters, error) {
	var names []string
	for _, p := range l.c.provisioners {
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

// Leaks returns what RequireNoLeaks looks for, as it is now: no time passes.
func (l Lab) Leaks() ([]Leak, error) {
	c := l.c
	if c.closed {
		return nil, engine.ErrClosed
	}
	c.machines.PauseFaults(true)
	defer c.machines.PauseFaults(false)
	found, err := leaks.Find(context.Background(), c.leaksView())
	for i := range found {
		if object := found[i].Object(); object != "" {
			found[i].Why, _ = c.Explain(object) // a leak that cannot be explained is reported all the same
		}
	}
	return found, err
}

// Lost returns what users have according to the API, and backends do not hold, as it is now: no time passes, and no request is made.
func (l Lab) Lost() []leaks.Loss {
	l.c.machines.PauseFaults(true)
	defer l.c.machines.PauseFaults(false)
	return leaks.Lost(context.Background(), l.c.leaksView())
}

// leaksView returns the cluster as package leaks sees it.
func (c *Cluster) leaksView() leaks.View {
	view := leaks.View{
		Now:    c.Now(),
		Client: c.client, Objects: func() []runtime.Object { return c.server().Objects(true) }, Log: c.engine.Trace(), Machines: &c.machines,
		Exports: map[string][]string{}, Containers: c.containers, CSIDrivers: c.csiDrivers,
	}
	for _, server := range c.nfs.Servers() {
		view.Exports[string(machine.NFSServer)+"/"+server.Name()] = server.Exports()
	}
	for _, p := range c.provisioners {
		view.Provisioners = append(view.Provisioners, leaks.Provisioner{Name: p.name, Also: p.also, Inventory: p.inventory})
	}
	return view
}

// WithoutInventory returns the names of the provisioners and CSI drivers that do not say what their backends hold
// (provisioner.Inventory, csi.Driver.Inventory), so that RequireNoLeaks cannot find what is left there. The library's
// own provisioners need none: their directories are looked at.
func (l Lab) WithoutInventory() (names []string) {
	for _, p := range l.c.provisioners {
		if p.inventory == nil && !isOurs(p.cfg.Provisioner) {
			names = append(names, p.name)
		}
	}
	for _, d := range l.c.csiDrivers {
		if d.Inventory == nil {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ClearFaults removes all faults of Cluster.Inject.
func (l Lab) ClearFaults() {
	c := l.c
	c.engine.ClearFaults()
	c.machines.ClearFaults()
	c.sockets.ClearFaults()
}

// MissedFaults returns, in a few words each, the injected faults that have struck nothing so far, those that ClearFaults
// removed included: a test whose fault strikes nothing shows nothing.
func (l Lab) MissedFaults() []string {
	c := l.c
	var list []string
	for _, f := range c.engine.MissedFaults() {
		list = append(list, f.String())
	}
	for _, f := range c.engine.MissedPoints() {
		list = append(list, f.String()+c.engine.NearestPoint(f))
	}
	for _, f := range c.sockets.MissedFaults() {
		list = append(list, f.String())
	}
	for _, f := range c.machines.MissedFaults() {
		list = append(list, f.String())
	}
	return list
}

// OnRest sets a function that is called when Settle, RunFor or RunUntil has returned no error, and when a
// Require function has waited. Package explore compares what there is then with another run's.
func (l Lab) OnRest(f func()) { l.c.onRest = f }

// OnAct sets a function that is called before Apply applies an object and before Delete deletes
// one, with the verb and the object: "apply", "pod/default/web" (trace.Ref.Path). If f returns false the act is
// left out without an error. Package explore uses it to find which acts a failure needs.
func (l Lab) OnAct(f func(verb, ref string) bool) { l.c.onAct = f }

// AnnotateApplied has Apply note in the objects what it does, from now on, as kubectl does: in an annotation what was applied
// (kubectl.kubernetes.io/last-applied-configuration), and in managedFields who set which field. So kubectl and others
// that apply an object later find what to remove. At first only the cluster remembers it, for Apply.
func (l Lab) AnnotateApplied() { l.c.annotates = true }

// OnWarning sets a function that is told what the API server warns of in its answers to Do, Apply and Delete, as a Warning header would tell a
// client: a kind that is deprecated, or a field that does not do what it says. At first it is nil.
func (l Lab) OnWarning(f func(text string)) { l.c.onWarning = f }
