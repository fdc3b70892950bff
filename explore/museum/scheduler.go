package museum

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/scheduler"
)

const replicaSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: mysql, volumeMounts: [{name: data, mountPath: /var/lib/mysql}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: disks
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 5Gi}}
`

// disksClass returns the class of disks and diskClaims.
func disksClass() string {
	return storageClass("disks", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
}

// disk returns a volume on a node.
func disk(node, name string) string { return localVolume(name, "disks", "5Gi", node, "/disks/"+name) }

// diskClaims returns claims of disks.
func diskClaims(names ...string) string { return claims("disks", "5Gi", names...) }

// makeDisks makes the directories of a node's disks.
func makeDisks(c *explore.Cluster, node string, names ...string) {
	for _, name := range names {
		c.Machine("node/"+node).MakeDir("/disks/"+name, 0o755)
	}
}

func oldDecision() Exhibit {
	return Exhibit{
		Number: 19, Name: "an old decision is used for a new attempt",
		Mechanism: "The scheduler finds a volume for a pod, and the write is refused. Before the next attempt another pod gets that volume. " +
			"The scheduler uses what it found at the first attempt, and each one fails, although there is another volume.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/72013",
		Fix:      "scheduler.Config.Decide: each attempt looks for volumes anew",
		Rule:     explore.Liveness, Replay: "x1;faults=4:refused",
		actors: []string{storagesim.Scheduler}, nodes: []string{"node-1"},
		configure: unfixed(func(cfg *storagesim.Config) {
			cfg.Wrap = func(actor string, f control.Factory) control.Factory {
				if actor != storagesim.Scheduler {
					return f
				}
				return func(env control.Env) error { return scheduler.New(scheduler.Config{Decide: onceForAll()})(env) }
			}
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			makeDisks(c, "node-1", "disk-1", "disk-2")
			c.Apply(disksClass(), disk("node-1", "disk-1"), disk("node-1", "disk-2"), diskClaims("a", "b"))
			c.Settle()
			c.Apply(pod("web", "", "a"))
			c.RunFor(500 * time.Millisecond)
			c.Apply(pod("other", "", "b"))
			c.RunFor(time.Minute)
		},
	}
}

// onceForAll looks for the volumes of a pod on a node once and keeps the result.
func onceForAll() scheduler.Decide {
	kept := map[string]*scheduler.PodVolumes{}
	return func(pod *v1.Pod, node string, find func() (*scheduler.PodVolumes, error)) (*scheduler.PodVolumes, error) {
		key := pod.Namespace + "/" + pod.Name + " on " + node
		if kept[key] != nil {
			return kept[key], nil
		}
		found, err := find()
		kept[key] = found
		return found, err
	}
}

func halves() Exhibit {
	return Exhibit{
		Number: 20, Name: "each pod holds half", Open: true,
		Mechanism: "A pod needs two volumes. The scheduler writes that it gets the first, and the second write is refused. Before the pod is tried again another " +
			"pod takes the second volume. Nothing is rolled back: the pod keeps the volume that it cannot use.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/73263",
		Fix:      "the user reserves both volumes with spec.claimRef",
		Rule:     NoHalf, Replay: "x1;faults=6:refused", except: []string{explore.Liveness},
		actors: []string{storagesim.Scheduler}, nodes: []string{"node-1"},
		scenario: func(c *explore.Cluster, fixed bool) {
			first, second := disk("node-1", "disk-1"), disk("node-1", "disk-2")
			if fixed {
				first += "  claimRef: {namespace: default, name: a}\n"
				second += "  claimRef: {namespace: default, name: b}\n"
			}
			makeDisks(c, "node-1", "disk-1", "disk-2")
			c.Apply(disksClass(), first, second, diskClaims("a", "b", "c"))
			c.Settle()
			c.Apply(pod("two", "", "a", "b"), pod("one", "", "c"))
			c.RunFor(time.Minute)
		},
	}
}

func oldClaim() Exhibit {
	return Exhibit{
		Number: 21, Name: "placed by the old claim", Open: true,
		Mechanism: "The pod and the claim of a replica are deleted and made again. The scheduler receives the new pod before it knows that the old claim is being " +
			"deleted, and binds the pod to the node of the old volume. The new claim waits for a consumer to be scheduled, which will never be.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/128164",
		Fix:      "the scheduler reads the claims again before it binds the pod",
		Rule:     explore.Liveness, Replay: "x1;holds=21:20s:kube-scheduler:persistentvolumeclaims",
		bug:    bugOf("kubernetes/kubernetes 128164", ""),
		actors: []string{storagesim.Scheduler, storagesim.StatefulSets}, nodes: []string{"node-1", "node-2"},
		configure: func(cfg *storagesim.Config, fixed bool) {
			if fixed {
				cfg.Wrap = wrap(storagesim.Scheduler, func(e *env) {
					e.pods = func(c corev1client.PodInterface) corev1client.PodInterface { return readsAgain{c, e} }
				})
			}
		},
		scenario: func(c *explore.Cluster, _ bool) {
			makeDisks(c, "node-1", "disk-1")
			makeDisks(c, "node-2", "disk-2")
			c.Apply(disksClass(), replicaSet, disk("node-1", "disk-1"))
			c.RunFor(time.Minute)
			c.Apply(disk("node-2", "disk-2"))
			c.RunFor(10 * time.Second)
			c.Delete("pvc/data-db-0", "pod/db-0")
			c.RunFor(time.Minute)
		},
	}
}

// readsAgain binds a pod only if each of its claims is bound and stays.
type readsAgain struct {
	corev1client.PodInterface
	env *env
}

func (r readsAgain) Bind(ctx context.Context, binding *v1.Binding, options metav1.CreateOptions) error {
	pod, err := r.Get(ctx, binding.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, name := range claimNames(pod) {
		claim, err := r.env.FullEnv.Client().CoreV1().PersistentVolumeClaims(binding.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if claim.Status.Phase != v1.ClaimBound || claim.DeletionTimestamp != nil {
			return fmt.Errorf("claim %s has been replaced or is being deleted since the pod was placed by it", name)
		}
	}
	return r.PodInterface.Bind(ctx, binding, options)
}

func bypassed() Exhibit {
	return Exhibit{
		Number: 22, Name: "spec.nodeName bypasses the scheduler",
		Mechanism: "A user sets spec.nodeName of a pod. The scheduler does not look at the pod, so no volume is chosen for its claim, " +
			"which waits for a first consumer to be scheduled.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/89953",
		Fix:      "the user writes a nodeSelector in place of spec.nodeName",
		Rule:     NoConsumerWaits, Replay: "x1",
		actors: []string{storagesim.Scheduler}, nodes: []string{"node-1"},
		scenario: func(c *explore.Cluster, fixed bool) {
			where := "nodeName: node-1"
			if fixed {
				where = "nodeSelector: {kubernetes.io/hostname: node-1}"
			}
			makeDisks(c, "node-1", "disk-1")
			c.Apply(disksClass(), disk("node-1", "disk-1"), diskClaims("a"), pod("web", where, "a"))
			c.RunFor(time.Minute)
		},
	}
}

func twoWriters() Exhibit {
	return Exhibit{
		Number: 23, Name: "ReadWriteOnce is for a node, not for a pod",
		Mechanism: "Two pods on one node have one claim, as when one is to replace the other. ReadWriteOnce allows that, and both write.",
		Upstream:  "https://github.com/kubernetes/kubernetes/issues/103082",
		Fix:       "the user writes ReadWriteOncePod in place of ReadWriteOnce",
		Rule:      OneWriter, Replay: "x1",
		actors: []string{storagesim.Scheduler}, nodes: []string{"node-1"},
		scenario: func(c *explore.Cluster, fixed bool) {
			storage := disk("node-1", "disk-1") + "---" + diskClaims("a")
			if fixed {
				storage = strings.ReplaceAll(storage, "ReadWriteOnce", "ReadWriteOncePod")
			}
			makeDisks(c, "node-1", "disk-1")
			c.Apply(disksClass(), storage, pod("old", "", "a"))
			c.RunFor(time.Minute)
			c.Apply(pod("new", "", "a"))
			c.RunFor(time.Minute)
			c.Delete("pod/old")
			c.RunFor(time.Minute)
		},
	}
}
