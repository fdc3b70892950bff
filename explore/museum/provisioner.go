package museum

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
)

const backendName = "example.com/disk"

// backendClass returns the class of the backend, "disk".
func backendClass(bindingMode string) string { return storageClass("disk", backendName, bindingMode) }

// backendClaim returns the claim "data" of that class.
func backendClaim() string { return claims("disk", "1Gi", "data") }

// backend keeps its volumes under their names, so that making one twice makes one.
type backend struct {
	holds map[string]bool
	// late is the state that Provision returns once, with an error, after it has made the volume:
	// its answer comes too late. Empty for an answer in time.
	late provisioner.ProvisioningState
}

// Provision makes the volume, unless it is there.
func (b *backend) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	b.holds[options.PVName] = true
	if state := b.late; state != "" {
		b.late = ""
		return nil, state, context.DeadlineExceeded
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      options.PVC.Spec.Resources.Requests,
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "disk", Path: "/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete removes the volume.
func (b *backend) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	delete(b.holds, volume.Name)
	return nil
}

// Volumes lists what the backend holds, for the rule that nothing leaks.
func (b *backend) Volumes(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(b.holds)), nil
}

// start runs the provisioner of a backend, with its class. cfg's Name is set.
func start(c *explore.Cluster, b *backend, cfg provisioner.Config) {
	b.holds = map[string]bool{}
	cfg.Name = backendName
	if cfg.New == nil && cfg.Provisioner == nil {
		cfg.Provisioner = b
	}
	c.AddProvisionController(cfg)
	c.Apply(backendClass("Immediate"))
	c.Settle()
}

func forgotten() Exhibit {
	return Exhibit{
		Number: 1, Name: "the process ends between CreateVolume and the object", Open: true,
		Mechanism: "The backend has made the volume. The process ends before it creates the PersistentVolume, and the claim is deleted before it is back and has " +
			"read the claims. Nothing leads to the volume any more.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/486",
		Fix:      "the provisioner, when it starts, deletes what has neither a claim nor a PersistentVolume",
		Rule:     NoAssetIsLost, Replay: "x1;faults=2:crash;holds=2:35s:example.com/disk:persistentvolumes",
		scenario: func(c *explore.Cluster, fixed bool) {
			b, cfg := &backend{}, provisioner.Config{}
			if fixed {
				cfg.New = b.tidy
			}
			start(c, b, cfg)
			c.Apply(backendClaim())
			c.RunFor(10 * time.Second)
			c.Delete("pvc/data")
			c.RunFor(time.Minute)
			c.Settle()
		},
	}
}

// tidy returns a provisioner that, when it starts, deletes what belongs to no object.
func (b *backend) tidy(env control.Env) (provisioner.Provisioner, error) {
	env.Go("tidy up", func(ctx context.Context) {
		claims, err := env.Client().CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		volumes, err := env.Client().CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, c := range claims.Items {
			known["pvc-"+string(c.UID)] = true
		}
		for _, v := range volumes.Items {
			known[v.Name] = true
		}
		maps.DeleteFunc(b.holds, func(name string, _ bool) bool { return !known[name] })
	})
	return b, nil
}

func timeout() Exhibit {
	return Exhibit{
		Number: 2, Name: "a timeout is taken for a final answer",
		Mechanism: "CreateVolume times out, and the claim is deleted before it is tried again. The backend has made the volume, " +
			"but the provisioner does not ask again.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/131",
		Fix:      "the backend answers Background where it answered Finished",
		Rule:     explore.NothingLeaks, Replay: "x1",
		scenario: func(c *explore.Cluster, fixed bool) {
			b := &backend{late: provisioner.ProvisioningFinished}
			if fixed {
				b.late = provisioner.ProvisioningInBackground
			}
			start(c, b, provisioner.Config{})
			c.Apply(backendClaim())
			c.RunFor(time.Second)
			c.Delete("pvc/data")
			c.Settle()
		},
	}
}

func retries() Exhibit {
	return Exhibit{
		Number: 3, Name: "each round of retries deletes what it waits for",
		Mechanism: "Creating the PersistentVolume fails, and the provisioner deletes the volume that it has made. The next attempt makes another one, " +
			"and so on for as long as it fails. Here a round is one try.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/94",
		Fix:      "provisioner.Config.CreateProvisionedPVLimiter: the volume is saved by a queue",
		Rule:     MadeOnce, Replay: "x1;faults=2:refused",
		except: []string{explore.NothingLeaks}, // a lost answer leaves an object whose volume is deleted
		scenario: func(c *explore.Cluster, fixed bool) {
			cfg := provisioner.Config{CreateProvisionedPVRetryCount: 1}
			if fixed {
				cfg = provisioner.Config{CreateProvisionedPVLimiter: &control.RateLimiter{Base: time.Second, Max: time.Minute}}
			}
			start(c, &backend{}, cfg)
			c.Apply(backendClaim())
			c.Settle()
		},
	}
}

func volumeFirst() Exhibit {
	return Exhibit{
		Number: 8, Name: "the volume is deleted before its claim",
		Mechanism: "A user deletes the PersistentVolume, then its claim. When the claim goes, the object of the volume is removed before the provisioner has " +
			"deleted the volume in the backend.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/546",
		Fix:      "provisioner.Config.AddFinalizer: a finalizer of the provisioner keeps the object",
		Rule:     explore.NothingLeaks, Replay: "x1",
		scenario: func(c *explore.Cluster, fixed bool) {
			start(c, &backend{}, provisioner.Config{AddFinalizer: fixed})
			c.Apply(backendClaim())
			c.Settle()
			name := c.Claim("data").Spec.VolumeName
			if name == "" {
				return
			}
			c.Delete("pv/" + name)
			c.Settle()
			c.Delete("pvc/data")
			c.Settle()
		},
	}
}
