package storagesim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/trace"
)

// Explanation holds the text that Explain returns, and for programs the missing things as values.
type Explanation = explain.Explanation

// Explain says in words why an object is as it is: in one line its state, the cause and what to do, then the
// chain that leads to the cause, then the events with their ages. ref is "pvc/default/data", "pvc/data" (in
// the namespace default), "pv/name", "pod/default/web"; pods, claims, volumes, storage classes, nodes, namespaces,
// StatefulSets, Deployments, ReplicaSets, ReplicationControllers, DaemonSets, Jobs, CronJobs, VolumeAttachments and snapshots have explanations. An object
// that is not there is an error that names the one that was probably meant, or says when it went.
func (c *Cluster) Explain(ref string) (string, error) {
	why, err := c.Lab().Explanation(ref)
	return why.Text, err
}

// near adds to the server's message about an object that is not there when it went, or which name was probably meant. Other errors, and nil,
// stay as they are.
func (c *Cluster) near(at manifest.Ref, err error) error {
	missing, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsNotFound(err) {
		return err
	}
	said := *missing
	if went := c.went(at); went != "" {
		said.ErrStatus.Message += went
		return &said
	}
	var names []string
	for _, obj := range c.server().Objects(true) {
		kinds, _, unknown := scheme.Scheme.ObjectKinds(obj)
		m, wrong := meta.Accessor(obj)
		if unknown != nil || wrong != nil || kinds[0].Kind != at.Resource.Kind {
			continue
		}
		switch {
		case m.GetNamespace() == at.Namespace:
			names = append(names, m.GetName())
		case m.GetName() == at.Name:
			said.ErrStatus.Message += " (there is one in namespace " + m.GetNamespace() + ")"
			return &said
		}
	}
	said.ErrStatus.Message += prose.DidYouMean(at.Name, names)
	return &said
}

// went says when an object that was there went, "" if there was none as far as the trace goes back.
func (c *Cluster) went(at manifest.Ref) string {
	for _, entry := range slices.Backward(c.engine.Trace().Entries()) {
		w, ok := entry.Record.(trace.Write)
		if ok && w.Err == nil && w.New == nil && w.Old != nil && w.Kind == at.Resource.Kind && w.Namespace == at.Namespace && w.Name == at.Name {
			return fmt.Sprintf(" (it went %s ago: %s %s)", duration.HumanDuration(c.Now().Sub(entry.Time)), entry.Actor, w)
		}
	}
	return ""
}

// world returns the cluster as package explain sees it.
func (c *Cluster) world() explain.World {
	w := explain.World{
		Client: c.client, Objects: func() []runtime.Object { return c.server().Objects(true) }, Log: c.engine.Trace(), Start: c.started(), Down: c.engine.Down(),
		Off: c.machineOff, Held: c.engine.Held(),
		Now: c.Now(), Actors: c.engine.Actors(), Schedulers: c.schedulers, SchedulerActors: c.schedulerActors, Kubelets: c.kubelets,
		Waits: map[string]func(*trace.Log) string{}, AttacherWaits: map[string]func(*trace.Log) string{},
		HasExport: func(server, dir string) bool {
			s := c.nfs.Server(server)
			return s != nil && s.Offers(dir)
		},
	}
	w.IsMounted = func(node, path string) bool {
		m, err := c.machine(string(machine.Node) + "/" + node)
		if err != nil {
			return false
		}
		mounted, err := m.Mounter().IsMountPoint(path)
		return err == nil && mounted
	}
	w.LastWords = func(containerID string) string {
		_, id, _ := strings.Cut(containerID, "://")
		for _, node := range slices.Sorted(maps.Keys(c.containers)) {
			if text := c.containers[node].LastWords(id); text != "" {
				return text
			}
		}
		return ""
	}
	w.Taken = func(containerID string) bool {
		_, id, _ := strings.Cut(containerID, "://")
		for _, containers := range c.containers {
			if containers.Taken(id) {
				return true
			}
		}
		return false
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

// Get returns the output of `kubectl get ARGS`: Get("pvc"), Get("pv,pvc"),
// Get("pod", "web"), Get("pvc/data"), Get("pvc/data", "-o", "yaml"). Objects are looked up in the
// namespace default unless the argument names another ("pod/kube-system/web").
func (c *Cluster) Get(args ...string) (string, error) {
	var o tables.Options
	if i := slices.Index(args, "-o"); i >= 0 {
		if i+1 == len(args) {
			return "", errors.New("get: -o needs a format, for example yaml")
		}
		o.Output = args[i+1]
		args = slices.Delete(slices.Clone(args), i, i+2)
	}
	var b strings.Builder
	err := c.view().Get(&b, o, args...)
	return b.String(), err
}

func (c *Cluster) view() tables.View {
	return tables.View{Kinds: c.server().Registry(), Objects: c.server().Objects(true), Now: c.Now()}
}

// LeakError is the error of RequireNoLeaks, and Leak one leak in it. Package explain/leaks
// describes them.
type (
	LeakError = leaks.Error
	Leak      = leaks.Leak
)

// Explanation explains an object as Explain does, and returns values beside the words.
func (l Lab) Explanation(ref string) (Explanation, error) {
	c := l.c
	at, err := manifest.ParseRef(c.server().Registry(), "", ref)
	if err != nil {
		return Explanation{}, err
	}
	c.machines.PauseFaults(true) // a look at a disk is not an operation of the simulation
	defer c.machines.PauseFaults(false)
	why, err := explain.Object(context.Background(), c.world(), at.Resource.Kind, at.Namespace, at.Name)
	switch {
	case errors.Is(err, explain.ErrKind):
		err = fmt.Errorf("explain %s: %w", ref, err)
	case err != nil:
		err = c.near(at, err)
	default:
		for _, d := range c.Trace().Deviations() {
			why.Deviations = append(why.Deviations, d.String())
			why.Text += "this run " + d.String() + "\n"
		}
	}
	return why, err
}
