package siglib_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/live/siglib"
)

// hostPath is built as the library's example is (examples/hostpath-provisioner, v13): a
// directory for each volume on the machine that the program runs on, and an annotation that
// says whose volume it is.
type hostPath struct{ dir, identity string }

const identityAnnotation = "hostPathProvisionerIdentity"

func (p *hostPath) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	path := filepath.Join(p.dir, options.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName, Annotations: map[string]string{identityAnnotation: p.identity}},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path}},
		},
	}, controller.ProvisioningFinished, nil
}

func (p *hostPath) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	switch identity, ok := volume.Annotations[identityAnnotation]; {
	case !ok:
		return errors.New("the volume does not say whose it is")
	case identity != p.identity:
		return &controller.IgnoredError{Reason: "the volume is another provisioner's"}
	}
	return os.RemoveAll(filepath.Join(p.dir, volume.Name))
}

// run does the work of the example's main: a client of a rest.Config, the library's controller, and Run.
func (p *hostPath) run(ctx context.Context, config *restclient.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return siglib.Run(ctx, controller.NewProvisionController(ctx, client, "example.com/hostpath", p))
}

const hostPathClaim = `
kind: StorageClass
apiVersion: storage.k8s.io/v1
metadata: {name: example-hostpath}
provisioner: example.com/hostpath
---
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {name: hostpath-pvc}
spec: {storageClassName: example-hostpath, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Mi}}}
`

func TestTheLibrarysExampleBindsAndRemovesAVolumeThroughARESTConfig(t *testing.T) {
	dir := t.TempDir()
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Nodes: storagesim.Nodes("node-1"), Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		p := &hostPath{dir: dir, identity: "node-1"}
		require.NoError(t, cluster.AddProgram(storagesim.Program{
			Name: "hostpath-provisioner", Provisions: []string{"example.com/hostpath"},
			Run: func(ctx context.Context, config *restclient.Config) error {
				return p.run(logr.NewContext(ctx, logr.Discard()), config)
			},
		}))
		driver := live.Start(cluster.Engine())
		require.NoError(t, cluster.Apply(hostPathClaim))
		claims, volumes := cluster.Client().CoreV1().PersistentVolumeClaims("default"), cluster.Client().CoreV1().PersistentVolumes()

		time.Sleep(time.Minute)
		claim, err := claims.Get(t.Context(), "hostpath-pvc", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, v1.ClaimBound, claim.Status.Phase, cluster.Story())
		made, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, made, 1)
		assert.Equal(t, claim.Spec.VolumeName, made[0].Name())

		require.NoError(t, claims.Delete(t.Context(), "hostpath-pvc", metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		_, err = volumes.Get(t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
		made, err = os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, made)
		require.NoError(t, driver.Stop())
		require.NoError(t, cluster.Close())
	}, append(siglib.LeftBehind(), live.ClientGo()...)...)
}
