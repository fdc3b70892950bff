package museum

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

func boundElsewhere() Exhibit {
	return Exhibit{
		Number: 18, Name: "Immediate binding and local volumes",
		Mechanism: "There is a local volume on each of two nodes, and the pod must run on node-1. The PV controller knows nothing of the pod. " +
			"Of two volumes that fit the claim it takes one or the other.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/43504",
		Fix:      "the class's volumeBindingMode: WaitForFirstConsumer",
		Rule:     explore.Liveness, Replay: "x1;faults=1:refused",
		nodes: []string{"node-1", "node-2"},
		configure: func(cfg *storagesim.Config, _ bool) {
			cfg.Only = []string{storagesim.PVController, storagesim.Scheduler}
		},
		scenario: func(c *explore.Cluster, fixed bool) {
			mode := "Immediate"
			if fixed {
				mode = "WaitForFirstConsumer"
			}
			c.Machine("node/node-1").MakeDir("/disk", 0o755)
			c.Machine("node/node-2").MakeDir("/disk", 0o755)
			c.Apply(storageClass("local", "kubernetes.io/no-provisioner", mode))
			c.Settle()
			c.Apply(localVolume("pv-1", "local", "1Gi", "node-1", "/disk"), localVolume("pv-2", "local", "1Gi", "node-2", "/disk"),
				claims("local", "1Gi", "data"), pod("web", "nodeSelector: {kubernetes.io/hostname: node-1}", "data"))
			c.RunFor(time.Minute)
		},
	}
}

// filesOnly is a backend that claims to make block volumes, and makes file systems.
type filesOnly struct{ backend }

// SupportsBlock returns true, which is wrong.
func (*filesOnly) SupportsBlock(context.Context) bool { return true }

func wrongMode() Exhibit {
	return Exhibit{
		Number: 16, Name: "Block and Filesystem never bind, silently",
		Mechanism: "A claim wants a block volume. The provisioner says that it can make them, and makes one with a file system. The two never bind, " +
			"and no event says why.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/59942",
		Fix:      "claim and volume get the event VolumeMismatch",
		Rule:     ToldWhy, Replay: "x1",
		configure: without(storagesim.PVController, func(e *env) { e.silent = "VolumeMismatch" }),
		scenario: func(c *explore.Cluster, _ bool) {
			b := &filesOnly{}
			start(c, &b.backend, provisioner.Config{Provisioner: b})
			c.Apply(strings.Replace(backendClaim(), "spec:", "spec:\n  volumeMode: Block", 1))
			c.Settle()
		},
	}
}

// toldWhy looks at claims that are not bound though there is a volume that names them.
func (p *present) toldWhy(records []trace.Entry) error {
	for _, name := range slices.Sorted(maps.Keys(p.volumes)) {
		owner := p.ownerOf(p.volumes[name])
		if owner == nil || owner.Status.Phase == v1.ClaimBound {
			continue
		}
		about := trace.RefOf("PersistentVolumeClaim", owner)
		if !slices.ContainsFunc(records, func(e trace.Entry) bool {
			event, ok := e.Record.(trace.Event)
			return ok && event.About == about && event.Type == v1.EventTypeWarning && !event.Dropped
		}) {
			return fmt.Errorf("%s is %s, volume %s is made for it, and no event says why they are not bound", about, owner.Status.Phase, name)
		}
	}
	return nil
}

func lateDefault() Exhibit {
	return Exhibit{
		Number: 17, Name: "the default class comes too late",
		Mechanism: "A claim without a class is made before there is a default class. Admission gives the default class to new claims only.",
		Upstream:  "https://github.com/kubernetes/kubernetes/issues/99629",
		Fix:       "the PV controller gives the default class to claims that have none",
		Rule:      DefaultForAll, Replay: "x1",
		configure: without(storagesim.PVController, func(e *env) { e.show = unmarked }),
		scenario: func(c *explore.Cluster, _ bool) {
			start(c, &backend{}, provisioner.Config{})
			c.Apply(strings.Replace(backendClaim(), "  storageClassName: disk\n", "", 1))
			c.RunFor(10 * time.Second)
			c.Apply(strings.Replace(backendClass("Immediate"), "{name: disk}", `{name: disk, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}`, 1))
			c.RunFor(time.Minute)
		},
	}
}

// unmarked returns a class without the annotation of the default class, and anything else as it is.
func unmarked(obj control.Object) control.Object {
	if class, ok := obj.(*storagev1.StorageClass); ok && class.Annotations[binding.AnnDefaultClass] != "" {
		class = class.DeepCopy()
		delete(class.Annotations, binding.AnnDefaultClass)
		return class
	}
	return obj
}

// defaultForAll looks at the claims and classes that there are.
func defaultForAll(c *storagesim.Cluster) error {
	ctx := context.Background()
	classes, err := c.Client().StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := c.Client().CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, class := range classes.Items {
		for _, claim := range claims.Items {
			if class.Annotations[binding.AnnDefaultClass] == "true" && claim.Spec.StorageClassName == nil {
				return fmt.Errorf("claim %s has no class, and %s is the default class", control.Key(&claim), class.Name)
			}
		}
	}
	return nil
}
