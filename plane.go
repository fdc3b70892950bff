package storagesim

import (
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/controllers/cronjob"
	"github.com/storagesim/storagesim/controllers/daemonset"
	"github.com/storagesim/storagesim/controllers/deployment"
	"github.com/storagesim/storagesim/controllers/disruption"
	"github.com/storagesim/storagesim/controllers/garbagecollector"
	"github.com/storagesim/storagesim/controllers/job"
	"github.com/storagesim/storagesim/controllers/namespace"
	"github.com/storagesim/storagesim/controllers/nodelifecycle"
	"github.com/storagesim/storagesim/controllers/podgc"
	"github.com/storagesim/storagesim/controllers/replicaset"
	"github.com/storagesim/storagesim/controllers/resourcequota"
	"github.com/storagesim/storagesim/controllers/snapshotcontroller"
	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/controllers/tainteviction"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/ephemeral"
	"github.com/storagesim/storagesim/pvcontroller/expand"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/scheduler"
)

// ControlPlane returns the controllers that Config.Only names, configured as cfg says, for a
// driver other than a Cluster's: package live/remote runs them against another API server. They
// delete no hostPath volumes unless cfg.PVController has a deleter for them. The
// SnapshotController must be named, since it works only if the definitions of
// snapshots exist. A name that does not exist is an error.
func ControlPlane(cfg Config) ([]control.Actor, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	actors := cfg.controlPlane()
	if slices.Contains(cfg.Only, SnapshotController) {
		actors = append(actors, control.Actor{Name: SnapshotController, Factory: cfg.wrapped(SnapshotController, snapshotcontroller.New(cfg.SnapshotController))})
	}
	return actors, nil
}

// controlPlane returns the actors to run, in the order they are started.
func (cfg Config) controlPlane() (actors []control.Actor) {
	for _, name := range actorNames() {
		if cfg.runs(name) {
			actors = append(actors, control.Actor{Name: name, Factory: cfg.wrapped(name, cfg.factory(name))})
		}
	}
	return actors
}

// managerOf returns the field manager of what an actor writes: the name of the program whose part it is on a cluster.
func managerOf(actor string) string {
	program, of, _ := strings.Cut(actor, "/")
	switch {
	case of != "" && (program == "kubelet" || strings.HasPrefix(program, "csi-")):
		return program
	case actor != Scheduler && slices.Contains(actorNames(), actor):
		return "kube-controller-manager"
	}
	return actor
}

// factory makes an actor of the control plane.
func (cfg Config) factory(name string) control.Factory {
	switch name {
	case PVController:
		return pvcontroller.New(cfg.PVController)
	case PVCProtection:
		return protection.NewPVC()
	case PVProtection:
		return protection.NewPV()
	case VACProtection:
		return protection.NewVAC()
	case EphemeralVolumes:
		return ephemeral.New()
	case VolumeExpansion:
		return expand.New()
	case StatefulSets:
		return statefulset.New(cfg.StatefulSet)
	case GarbageCollection:
		return garbagecollector.New(garbagecollector.Config{Kinds: collected()})
	case AttachDetach:
		return attachdetach.New(cfg.AttachDetach)
	case Scheduler:
		return scheduler.New(cfg.Scheduler)
	case NodeLifecycle:
		return nodelifecycle.New()
	case TaintEviction:
		return tainteviction.New()
	case PodGC:
		return podgc.New(podgc.Config{})
	case NamespaceDeletion:
		return namespace.New()
	case ResourceQuotas:
		return resourcequota.New()
	case Disruption:
		return disruption.New()
	case Deployments:
		return deployment.New()
	case ReplicaSets:
		return replicaset.New()
	case ReplicationControllers:
		return replicaset.NewReplication()
	case DaemonSets:
		return daemonset.New()
	case Jobs:
		return job.New()
	case TTLAfterFinished:
		return job.NewTTL()
	case CronJobs:
		return cronjob.New()
	}
	panic("there is no actor " + name) // cannot happen: each name of actorNames is above
}

// withDeleter adds a deleter of hostPath volumes unless cfg has one. Upstream's
// deletes from the disk of the machine it runs on; ours from the first node's.
func (c *Cluster) withDeleter(cfg pvcontroller.Config) pvcontroller.Config {
	deleters := map[string]pvcontroller.Deleter{
		pvcontroller.HostPathPlugin: pvcontroller.NewHostPathDeleter(func(path string) error {
			if len(c.machines.Of(machine.Node)) == 0 {
				return nil // no node, no disk
			}
			return c.machines.Of(machine.Node)[0].Disk().RemoveAll(path)
		}),
	}
	maps.Copy(deleters, cfg.Deleters)
	cfg.Deleters = deleters
	return cfg
}

// claimUID returns the UID of a claim as the API server has it, "" if there is none. No request is made.
func (c *Cluster) claimUID(namespace, name string) types.UID {
	for _, obj := range c.server().Objects(true) {
		if claim, ok := obj.(*v1.PersistentVolumeClaim); ok && claim.Namespace == namespace && claim.Name == name {
			return claim.UID
		}
	}
	return ""
}

// collected returns the kinds that the garbage collector watches: those that manifests for
// storage have. It lists them in this order, so that the order is part of
// what a seed means. They are the same for all servers and looked up once.
var collected = sync.OnceValue(func() []metav1.APIResource {
	const names = "pods persistentvolumeclaims configmaps secrets services endpoints serviceaccounts replicationcontrollers podtemplates " +
		"resourcequotas limitranges persistentvolumes nodes namespaces " +
		"statefulsets deployments replicasets daemonsets controllerrevisions jobs cronjobs horizontalpodautoscalers poddisruptionbudgets " +
		"storageclasses csidrivers csinodes csistoragecapacities volumeattachments volumeattributesclasses " +
		"roles rolebindings clusterroles clusterrolebindings ingresses networkpolicies endpointslices leases priorityclasses runtimeclasses"
	registry := registry.New()
	var kinds []metav1.APIResource
	for _, name := range strings.Fields(names) {
		if kind, err := registry.Find(name); err == nil { // there may be none in this version
			kinds = append(kinds, kind)
		}
	}
	return kinds
})
