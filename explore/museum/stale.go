package museum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// slowBackend answers ten seconds after it was called. A volume is there when Provision ends,
// and gone when Delete begins.
type slowBackend struct {
	backend
	env control.Env
}

func (s *slowBackend) run(env control.Env) (provisioner.Provisioner, error) {
	s.env = env
	return s, nil
}

// Provision makes the volume after ten seconds.
func (s *slowBackend) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if err := s.env.Sleep(ctx, 10*time.Second); err != nil {
		return nil, provisioner.ProvisioningInBackground, err
	}
	return s.backend.Provision(ctx, options)
}

// Delete removes the volume and answers after ten seconds.
func (s *slowBackend) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	return errors.Join(s.backend.Delete(ctx, volume), s.env.Sleep(ctx, 10*time.Second))
}

func madeAgain() Exhibit {
	return Exhibit{
		Number: 4, Name: "an old copy of the claim makes the volume again",
		Mechanism: "The claim changes while its volume is being made, so that the provisioner looks at it again. Its caches have neither the volume nor that the " +
			"claim is bound, and the volume is provisioned once more. Meanwhile the claim is deleted, and then the volume. The second one is finished after the first " +
			"is gone, and the object that should name it is being deleted.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/1469",
		Fix:      "a volume that the cache does not have is read from the API server", Open: true,
		Rule: explore.NothingLeaks, Replay: "x1",
		configure: without(backendName, func(e *env) {
			e.volumes = func(c corev1client.PersistentVolumeInterface) corev1client.PersistentVolumeInterface {
				return noLiveVolumes{c}
			}
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			s := &slowBackend{}
			start(c, &s.backend, provisioner.Config{New: s.run})
			c.Apply(backendClaim())
			c.RunFor(time.Second)
			c.Apply(strings.Replace(backendClaim(), "{name: data}", "{name: data, labels: {app: web}}", 1))
			c.RunFor(11 * time.Second)
			c.Delete("pvc/data")
			c.Settle()
		},
	}
}

// noLiveVolumes finds no volume at the API server.
type noLiveVolumes struct {
	corev1client.PersistentVolumeInterface
}

func (noLiveVolumes) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1.PersistentVolume, error) {
	return nil, apierrors.NewNotFound(v1.Resource("persistentvolumes"), name)
}

// looksAgain is a backend that may read a claim again before it makes its volume.
type looksAgain struct {
	backend
	looks bool
	env   control.Env
}

func (l *looksAgain) run(env control.Env) (provisioner.Provisioner, error) {
	l.env = env
	return l, nil
}

// Provision makes nothing for a claim that is gone, if it looks.
func (l *looksAgain) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if l.looks {
		now, err := l.env.Client().CoreV1().PersistentVolumeClaims(options.PVC.Namespace).Get(ctx, options.PVC.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != options.PVC.UID:
			return nil, provisioner.ProvisioningFinished, &provisioner.IgnoredError{Reason: "the claim is gone"}
		case err != nil:
			return nil, provisioner.ProvisioningNoChange, err
		}
	}
	return l.backend.Provision(ctx, options)
}

func oldUID() Exhibit {
	return Exhibit{
		Number: 13, Name: "an old UID releases the new volume", Open: true,
		Mechanism: "A claim is deleted and made again under the same name. A provisioner whose cache is behind makes a volume for the first one. " +
			"The volume has that claim's UID, so it is Released at once, and deleted.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/105131",
		Fix:      "the provisioner reads the claim before it makes a volume",
		Rule:     ForLivingClaims, Replay: "x1;choices=24:3",
		scenario: func(c *explore.Cluster, fixed bool) {
			l := &looksAgain{looks: fixed}
			start(c, &l.backend, provisioner.Config{New: l.run})
			c.Hold(backendName, "persistentvolumeclaims")
			c.Apply(backendClaim())
			c.Settle()
			c.Delete("pvc/data")
			c.Settle()
			c.Apply(backendClaim())
			c.Release(backendName, "persistentvolumeclaims")
			c.Settle()
		},
	}
}

// forLivingClaims looks at the calls of provisioners that answer at once.
func forLivingClaims(records []trace.Entry) error {
	living := map[string]bool{}
	for _, entry := range records {
		switch r := entry.Record.(type) {
		case trace.Write:
			if old, ok := r.Old.(*v1.PersistentVolumeClaim); ok && r.New == nil && r.Err == nil {
				delete(living, "pvc-"+string(old.UID))
			}
			if made, ok := r.New.(*v1.PersistentVolumeClaim); ok {
				living["pvc-"+string(made.UID)] = true
			}
		case trace.Call:
			if r.Method == "Provision" && r.Err == "" && !living[r.Volume] {
				return fmt.Errorf("at %s volume %s is made, and its claim is gone", entry.Time.Format("15:04:05.000"), r.Volume)
			}
		}
	}
	return nil
}
