package live_test

import (
	"testing"
	"time"

	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
)

// local-path is ready if it can list one object of each kind that it reads.
func TestLocalPathsReadinessCheckPasses(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(localpath.Controller(localpath.Config{}))
	ctx, one, core := t.Context(), metav1.ListOptions{Limit: 1}, c.Client().CoreV1()
	maps, err := core.ConfigMaps(localpath.DefaultNamespace).List(ctx, one)
	require.NoError(t, err)
	require.Len(t, maps.Items, 1)
	for _, key := range []string{"config.json", "setup", "teardown", "helperPod.yaml"} {
		assert.NotEmpty(t, maps.Items[0].Data[key], key)
	}
	_, err = core.Pods(localpath.DefaultNamespace).List(ctx, one)
	require.NoError(t, err)
	_, err = core.PersistentVolumeClaims(localpath.DefaultNamespace).List(ctx, one)
	require.NoError(t, err)
	_, err = core.PersistentVolumes().List(ctx, one)
	require.NoError(t, err)
	_, err = c.Client().StorageV1().StorageClasses().List(ctx, one)
	require.NoError(t, err)
}

// The pod that local-path makes for a volume, by the calls that it makes: create, get
// until it has succeeded, delete.
func TestAHelperPodOfLocalPathRunsWhereItsNodeNameSays(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.AddProvisionController(localpath.Controller(localpath.Config{}))
	ctx, kind := t.Context(), v1.HostPathDirectoryOrCreate
	pods := c.Client().CoreV1().Pods(localpath.DefaultNamespace)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "helper-pod-create-pvc-1"}, Spec: v1.PodSpec{
		NodeName: "node-2", RestartPolicy: v1.RestartPolicyNever, ServiceAccountName: localpath.DefaultServiceAccount, PriorityClassName: "system-node-critical",
		Tolerations: []v1.Toleration{{Key: v1.TaintNodeDiskPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}},
		Containers: []v1.Container{{
			Name: "helper-pod", Image: "docker.io/library/busybox", ImagePullPolicy: v1.PullIfNotPresent, Command: []string{"/bin/sh", "/script/setup"},
			Args:         []string{"-p", "/opt/local-path-provisioner/pvc-1_default_data", "-s", "134217728", "-m", "Filesystem", "-a", "create"},
			Env:          []v1.EnvVar{{Name: "VOL_DIR", Value: "/opt/local-path-provisioner/pvc-1_default_data"}, {Name: "VOL_USER"}},
			VolumeMounts: []v1.VolumeMount{{Name: "script", MountPath: "/script"}, {Name: "data", MountPath: "/opt/local-path-provisioner/"}},
		}},
		Volumes: []v1.Volume{
			{Name: "data", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/opt/local-path-provisioner/", Type: &kind}}},
			{Name: "script", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
				LocalObjectReference: v1.LocalObjectReference{Name: localpath.DefaultConfigMapName},
				Items:                []v1.KeyToPath{{Key: "setup", Path: "setup"}, {Key: "teardown", Path: "teardown"}},
			}}},
		},
	}}
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	c.RunFor(5 * time.Second)
	pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.PodSucceeded, pod.Status.Phase)
	names := c.Machine("node/node-2").ListDir("/opt/local-path-provisioner")
	assert.Equal(t, []string{"pvc-1_default_data/"}, names)
	require.NoError(t, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
}

// Provisioners of older versions of the library, nfs-subdir among them and the first
// versions of local-path, ask the server for its version when they start, end if they cannot parse it, and
// decide by it whether there is storage.k8s.io/v1, which finalizers and which fields of pods.
func TestTheServersVersionIsOneThatProvisionersDecideBy(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	requireVersion(t, c.Client())
}

// The client is the same beside a driver, and may be asked from any goroutine.
func TestTheServersVersionIsThereForProgramsThatRunLive(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now()})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	driver := live.Start(cluster.Engine())
	requireVersion(t, cluster.Client())
	require.NoError(t, driver.Stop())
}

func requireVersion(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	info, err := client.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, []string{"1", "37", "v1.37.2"}, []string{info.Major, info.Minor, info.GitVersion})
	kubeVersion := version.MustParseSemantic(info.GitVersion) // panics if it is no version
	for _, feature := range []string{"v1.5.0", "v1.6.0", "v1.9.0", "v1.11.0"} {
		assert.True(t, kubeVersion.AtLeast(version.MustParseSemantic(feature)), feature)
	}
	assert.True(t, kubeVersion.LessThan(version.MustParseSemantic("v1.38.0")))
}

// The class, the claim and the pod that nfs-subdir-external-provisioner is shipped with.
func TestTheManifestsOfNFSSubdirWorkAndItsEventsNameTheirSource(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	nas := c.AddNFSServer("10.3.243.101", "/ifs/kubernetes")
	c.AddProvisionController(nfsprovisioner.Controller(nas, nfsprovisioner.Config{Server: nas.Name(), Path: "/ifs/kubernetes"}))
	c.Apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: nfs-client}
provisioner: k8s-sigs.io/nfs-subdir-external-provisioner
parameters: {archiveOnDelete: "false"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: test-claim}
spec: {storageClassName: nfs-client, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Mi}}}
`)
	c.Settle()
	claim := c.Claim("test-claim")
	require.Equal(t, v1.ClaimBound, claim.Status.Phase)
	pv := c.Volume(claim.Spec.VolumeName)
	assert.Equal(t, "10.3.243.101", pv.Spec.NFS.Server)
	assert.Equal(t, "/ifs/kubernetes/default-test-claim-"+pv.Name, pv.Spec.NFS.Path)
	class, err := c.Client().StorageV1().StorageClasses().Get(t.Context(), pv.Spec.StorageClassName, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"archiveOnDelete": "false"}, class.Parameters)
	assert.Equal(t, storagev1.VolumeBindingImmediate, *class.VolumeBindingMode)

	events, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	source := nfsprovisioner.SubdirName + "_" + provisioner.IdentityOf(nfsprovisioner.SubdirName, 0)
	said := map[string]string{}
	for _, e := range events.Items {
		if e.Source.Component == source {
			said[e.Reason] = e.Message
		}
	}
	assert.Equal(t, map[string]string{
		"Provisioning":          `External provisioner is provisioning volume for claim "default/test-claim"`,
		"ProvisioningSucceeded": "Successfully provisioned volume " + pv.Name,
	}, said)
	c.Delete("pvc/test-claim")
	c.Settle()
	c.RequireNoLeaks()
}
