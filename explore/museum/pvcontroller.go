package museum

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
)

// manualVolume returns the one volume "only".
func manualVolume() string { return volume("only", "manual", "1Gi", "hostPath: {path: /data}") }

// manualClaims returns claims that can have it.
func manualClaims(names ...string) string { return claims("manual", "1Gi", names...) }

// unfixed returns an Exhibit.configure that takes the fix out.
func unfixed(change func(*storagesim.Config)) func(*storagesim.Config, bool) {
	return func(cfg *storagesim.Config, fixed bool) {
		if !fixed {
			change(cfg)
		}
	}
}

// without returns an Exhibit.configure that takes the fix out of an actor's Env.
func without(actor string, change func(*env)) func(*storagesim.Config, bool) {
	return unfixed(func(cfg *storagesim.Config) { cfg.Wrap = wrap(actor, change) })
}

func twoClaims() Exhibit {
	return Exhibit{
		Number: 10, Name: "two claims bind one volume",
		Mechanism: "Two claims want the one volume that there is. The controller writes the first into its claimRef, and has no answer; it still thinks that the " +
			"volume is free, and writes the second claim over the first.",
		Upstream: "https://github.com/openshift/origin/issues/4829",
		Fix:      "the write has a resourceVersion, and is refused if the volume has changed",
		Rule:     explore.OneOwner, Replay: "x1;faults=2:lost",
		configure: without(storagesim.PVController, func(e *env) {
			e.volumes = func(c corev1client.PersistentVolumeInterface) corev1client.PersistentVolumeInterface {
				return unlocked{c}
			}
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			c.Apply(manualVolume(), manualClaims("data", "other"))
			c.Settle()
		},
	}
}

// unlocked writes volumes without their resourceVersion, so that no write is refused.
type unlocked struct {
	corev1client.PersistentVolumeInterface
}

func (u unlocked) Update(ctx context.Context, volume *v1.PersistentVolume, options metav1.UpdateOptions) (*v1.PersistentVolume, error) {
	volume = volume.DeepCopy()
	volume.ResourceVersion = ""
	return u.PersistentVolumeInterface.Update(ctx, volume, options)
}

func cacheWithoutClaim() Exhibit {
	return Exhibit{
		Number: 11, Name: "a cache without the claim",
		Mechanism: "The scheduler writes a claim into the claimRef of a volume. The PV controller has the volume from its cache, but not yet the claim. " +
			"It takes the claim for deleted, and the volume is Released while the claim lives.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/28002",
		Fix:      "the API server is asked before the volume is released",
		Rule:     NotReleasedInUse, Replay: "x1;holds=1:15s:persistent-volume-binder:persistentvolumeclaims",
		actors: []string{storagesim.Scheduler},
		configure: without(storagesim.PVController, func(e *env) {
			e.claims = func(c corev1client.PersistentVolumeClaimInterface) corev1client.PersistentVolumeClaimInterface {
				return noLiveClaims{c}
			}
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			addNodes(c, "node-1")
			c.Apply(storageClass("manual", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"), manualVolume())
			c.RunFor(time.Second)
			c.Apply(manualClaims("data"), pod("web", "", "data"))
			c.RunFor(time.Minute)
		},
	}
}

// noLiveClaims finds no claim at the API server.
type noLiveClaims struct {
	corev1client.PersistentVolumeClaimInterface
}

func (noLiveClaims) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1.PersistentVolumeClaim, error) {
	return nil, apierrors.NewNotFound(v1.Resource("persistentvolumeclaims"), name)
}

func zombieVolume() Exhibit {
	return Exhibit{
		Number: 12, Name: "a deleted volume comes back in the cache",
		Mechanism: "The controller writes the phase of a volume, and the server is slow to answer. Meanwhile the volume is deleted, and the controller is told. " +
			"Then the answer is stored in the controller's own cache again, and the claim is bound to a volume that does not exist.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/124224",
		Fix:      "pvcontroller.Config.Remember: what the informer does not have is not stored",
		Rule:     explore.NothingLeaks, Replay: "x1",
		configure: unfixed(func(cfg *storagesim.Config) {
			cfg.PVController.Remember = func(_, _ *v1.PersistentVolume) bool { return true }
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			c.Apply(manualVolume())
			c.Settle()
			c.Inject(engine.Fault{Actor: storagesim.PVController, Verb: "update", Resource: "persistentvolumes/status", After: true, Delay: 10 * time.Second})
			c.Apply(manualClaims("data"))
			c.RunFor(time.Second)
			removeVolume(c)
			c.RunFor(time.Minute)
		},
	}
}

// removeVolume removes the volume's finalizers and deletes it, as users do who are tired of waiting.
func removeVolume(c *explore.Cluster) {
	_, err := c.Client().CoreV1().PersistentVolumes().Patch(context.Background(), "only", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	c.Must(err)
	c.Delete("pv/only")
}

func nameUsedAgain() Exhibit {
	return Exhibit{
		Number: 15, Name: "the claim's name is used again",
		Mechanism: "A claim is deleted, and made again under the same name at once. The controller finds a claim of that name, takes it for the one that the " +
			"volume belonged to, and the volume is never released.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/43592",
		Fix:      "pvcontroller.Config.SameClaim: UIDs are compared",
		Rule:     ReleasedWithoutClaim, Replay: "x1",
		configure: unfixed(func(cfg *storagesim.Config) {
			cfg.PVController.SameClaim = func(*v1.PersistentVolumeClaim, types.UID) bool { return true }
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			c.Apply(manualVolume(), manualClaims("data"))
			c.Settle()
			c.Delete("pvc/data")
			untilGone(c, "data")
			c.Apply(manualClaims("data"))
			c.Settle()
		},
	}
}

// untilGone runs until the claim is gone, for at most 100 steps.
func untilGone(c *explore.Cluster, claim string) {
	for range 100 {
		if _, err := c.Cluster.Claim(claim); apierrors.IsNotFound(err) {
			return
		}
		c.Step()
	}
}

func protectionBelievesCache() Exhibit {
	return Exhibit{
		Number: 24, Name: "pvc-protection believes its cache",
		Mechanism: "A pod with a claim is made, and then the claim is deleted. The controller is told of the deletion first. It knows of no pod with the claim and " +
			"removes the finalizer, and the claim goes under the pod.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/75980",
		Fix:      "the API server is asked for pods",
		Rule:     explore.NotInUse, Replay: "x1;seed=2;order=pct2",
		configure: without(storagesim.PVCProtection, func(e *env) {
			e.pods = func(c corev1client.PodInterface) corev1client.PodInterface { return noLivePods{c} }
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			c.Apply(manualVolume(), manualClaims("data"))
			c.Settle()
			c.Apply(pod("web", "nodeName: node-1", "data"))
			c.Delete("pvc/data")
			c.Settle()
		},
	}
}

// noLivePods finds no pod at the API server.
type noLivePods struct{ corev1client.PodInterface }

func (noLivePods) List(context.Context, metav1.ListOptions) (*v1.PodList, error) {
	return &v1.PodList{}, nil
}
