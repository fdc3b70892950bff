package storagesim

import (
	"context"
	"errors"
	"fmt"

	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/trace"
)

// Explanation is what Explain says, and what is missing as values for programs.
type Explanation = explain.Explanation

// Explain answers in words why a claim, volume, pod or snapshot is as it is. ref is
// "pvc/default/data", "pvc/data" (in the namespace default), "pv/name",
// "pod/default/web", "volumesnapshot/default/s1" or "volumesnapshotcontent/name".
func (c *Cluster) Explain(ref string) (string, error) {
	why, err := c.Explanation(ref)
	return why.Text, err
}

// Explanation is Explain with the values beside the words.
func (c *Cluster) Explanation(ref string) (Explanation, error) {
	at, err := manifest.ParseRef(c.Server().Registry(), "", ref)
	if err != nil {
		return Explanation{}, err
	}
	c.machines.PauseFaults(true) // looking at a disk is not what a fault is for
	defer c.machines.PauseFaults(false)
	why, err := explain.Object(context.Background(), c.world(), at.Resource.Kind, at.Namespace, at.Name)
	if errors.Is(err, explain.ErrKind) {
		err = fmt.Errorf("explain %s: %w", ref, err)
	}
	return why, err
}

// world is what explain looks at.
func (c *Cluster) world() explain.World {
	w := explain.World{
		Client: c.client, Objects: c.Server().Objects, Log: c.engine.Trace(), Start: c.started(), Down: c.engine.Down(),
		Schedulers: c.schedulers, Kubelets: c.kubelets, Waits: map[string]func(*trace.Log) string{}, AttacherWaits: map[string]func(*trace.Log) string{},
		HasExport: func(server, dir string) bool {
			s := c.nfs.Server(server)
			return s != nil && s.Offers(dir)
		},
	}
	if c.cfg.runs(PVController) {
		cfg := c.withDeleter(c.cfg.PVController)
		w.PVController = &cfg
	}
	if c.cfg.runs(AttachDetach) {
		w.AttachDetach = &c.cfg.AttachDetach
	}
	w.SnapshotController = c.snapshots && c.cfg.runs(SnapshotController)
	for _, p := range c.provisioners {
		w.Provisioners = append(w.Provisioners, p.cfg)
	}
	for _, d := range c.csiDrivers {
		w.AttacherWaits[d.Name] = d.AttacherWaits
		if c.snapshots && d.Snapshots != nil {
			w.Snapshotters = append(w.Snapshotters, d.Name)
		}
		if d.Provisioner != nil {
			w.Waits[d.Name] = d.Waits
			w.Provisioners = append(w.Provisioners, *d.Provisioner)
		}
	}
	return w
}
