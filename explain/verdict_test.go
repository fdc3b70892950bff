package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/story/bundled"
)

const (
	csiClass      = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: csi}\nprovisioner: csi.storagesim.io\nallowVolumeExpansion: true\n"
	csiLaterClass = csiClass + "volumeBindingMode: WaitForFirstConsumer\n"
	ofCSI         = ", storageClassName: csi"
	quota         = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"2\"}}\n"
	plainSet      = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: nginx}]}
`
	usingDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 1
  paused: PAUSED
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers: [{name: c, image: nginx}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
	mountingPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
)

// withCSI returns a cluster with the reference driver and a running pod that uses claim data.
func withCSI(t *testing.T) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(csiClass, explainClaim("data", "1Gi", ofCSI), strings.Replace(mountingPod, "spec:\n", "spec:\n  nodeSelector: {kubernetes.io/hostname: node-1}\n", 1))
	c.RunFor(30 * time.Second)
	c.RequireRunning("web")
	return c
}

// Each kind of cause is a value that names the object at fault. The words are not tested here.
func TestAVerdictNamesTheCauseAndTheObjectAtFault(t *testing.T) {
	empty := func(t *testing.T) *storagesimtest.Cluster {
		return storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	}
	later := func(t *testing.T) *storagesimtest.Cluster {
		c := empty(t)
		c.InstallCSIDriver(driver.Config{})
		c.Apply(csiLaterClass)
		return c
	}
	type want struct {
		class  explain.Class
		code   explain.Code
		object string
		field  string
	}
	for name, tt := range map[string]struct {
		cluster func(t *testing.T) *storagesimtest.Cluster
		trouble func(c *storagesimtest.Cluster)
		ref     string
		want    want
	}{
		"the volume that a claim names is missing": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(csiClass, explainClaim("data", "1Gi", ofCSI+", volumeName: gone"))
		}, "pvc/data", want{explain.Ill, explain.VolumeMissing, "pvc/default/data", "spec.volumeName"}},
		"the volume that a claim names has another's claimRef": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("mine", "1Gi", "node-1", "  claimRef: {namespace: default, name: other}"),
				explainClaim("data", "1Gi", ", storageClassName: '', volumeName: mine"))
		}, "pvc/data", want{explain.Ill, explain.VolumeTaken, "pv/mine", "spec.claimRef"}},
		"the volume that a claim names is too small": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("small", "1Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: '', volumeName: small"))
		}, "pvc/data", want{explain.Ill, explain.VolumeMismatch, "pv/small", "spec.capacity.storage"}},
		"the volume that a claim names has another volumeMode": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("disk", "5Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: '', volumeName: disk, volumeMode: Block"))
		}, "pvc/data", want{explain.Ill, explain.VolumeMismatch, "pv/disk", "spec.volumeMode"}},
		"no volume fits a claim without a class": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("small", "1Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: ''"))
		}, "pvc/data", want{explain.Ill, explain.NoVolumeFits, "pv/small", "spec.capacity.storage"}},
		"the class is missing": {empty, func(c *storagesimtest.Cluster) { c.Apply(explainClaim("data", "5Gi", ofCSI)) }, "pvc/data",
			want{explain.Ill, explain.ClassMissing, "pvc/default/data", "spec.storageClassName"}},
		"the class has an in-tree plugin that is gone": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(csiClass, "csi.storagesim.io", "kubernetes.io/glusterfs", 1), explainClaim("data", "5Gi", ofCSI))
		}, "pvc/data", want{explain.Ill, explain.PluginMissing, "storageclass/csi", "provisioner"}},
		"the binder is stopped": {empty, func(c *storagesimtest.Cluster) {
			c.Stop(storagesim.PVController)
			c.Apply(explainVolume("disk", "5Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: ''"))
		}, "pvc/data", want{explain.Ill, explain.ActorDown, "actor/persistent-volume-binder", ""}},
		"the scheduler is stopped": {later, func(c *storagesimtest.Cluster) {
			c.Stop(storagesim.Scheduler)
			c.Apply(explainClaim("data", "1Gi", ofCSI), explainPod("web", "", "data"))
		}, "pvc/data", want{explain.Ill, explain.ActorDown, "actor/kube-scheduler", ""}},
		"the provisioner is stopped": {later, func(c *storagesimtest.Cluster) {
			c.Stop("csi-provisioner/csi.storagesim.io")
			c.Apply(explainClaim("data", "1Gi", ofCSI), explainPod("web", "", "data"))
		}, "pod/web", want{explain.Ill, explain.ActorDown, "actor/csi-provisioner/csi.storagesim.io", ""}},
		"the driver's controller is stopped": {later, func(c *storagesimtest.Cluster) {
			c.Stop("csi-driver/csi.storagesim.io")
			c.Apply(explainClaim("data", "1Gi", ofCSI), explainPod("web", "", "data"))
		}, "pod/web", want{explain.Ill, explain.ActorDown, "actor/csi-driver/csi.storagesim.io", ""}},
		"the attacher is stopped": {later, func(c *storagesimtest.Cluster) {
			c.Stop("csi-attacher/csi.storagesim.io")
			c.Apply(explainClaim("data", "1Gi", ofCSI), mountingPod)
		}, "pod/web", want{explain.Ill, explain.ActorDown, "actor/csi-attacher/csi.storagesim.io", ""}},
		"the kubelet is stopped": {empty, func(c *storagesimtest.Cluster) {
			c.Stop("kubelet/node-1")
			c.Apply(explainPod("web", "  nodeName: node-1"))
		}, "pod/web", want{explain.Ill, explain.ActorDown, "actor/kubelet/node-1", ""}},
		"the kubelet has refused the pod, whose claim waits": {later, func(c *storagesimtest.Cluster) {
			c.Apply(explainClaim("data", "1Gi", ofCSI), explainPod("web", "  nodeName: node-1\n  nodeSelector: {disk: fast}", "data"))
		}, "pod/web", want{explain.Ill, explain.PodFailed, "pod/default/web", ""}},
		"the StatefulSet controller is stopped": {empty, func(c *storagesimtest.Cluster) {
			c.Stop(storagesim.StatefulSets)
			c.Apply(plainSet)
		}, "statefulset/db", want{explain.Ill, explain.ActorDown, "actor/statefulset-controller", ""}},
		"a process starts again": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("disk", "5Gi", "node-1", ""))
			c.Settle()
			c.Must(c.Engine().CrashFor(storagesim.PVController, time.Hour))
			c.Apply(explainClaim("data", "5Gi", ", storageClassName: ''"))
		}, "pvc/data", want{explain.UnderWay, explain.ActorDown, "actor/persistent-volume-binder", ""}},
		"no pod uses the claim": {later, func(c *storagesimtest.Cluster) { c.Apply(explainClaim("data", "1Gi", ofCSI)) }, "pvc/data",
			want{explain.Waits, explain.NoConsumer, "pvc/default/data", ""}},
		"a paused Deployment would be the first consumer": {later, func(c *storagesimtest.Cluster) {
			c.Apply(explainClaim("data", "1Gi", ofCSI), strings.Replace(usingDeployment, "PAUSED", "true", 1))
		}, "pvc/data", want{explain.Waits, explain.ConsumerWithoutPods, "deployment/default/shop", ""}},
		"a Deployment whose pods the quota refuses would be the first consumer": {later, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(quota, `"2"`, `"0"`, 1))
			c.Settle()
			c.Apply(explainClaim("data", "1Gi", ofCSI), strings.Replace(usingDeployment, "PAUSED", "false", 1))
		}, "pvc/data", want{explain.Ill, explain.ConsumerWithoutPods, "deployment/default/shop", ""}},
		"a quota ends a StatefulSet at two of three": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(quota)
			c.Settle()
			c.Apply(plainSet)
		}, "statefulset/db", want{explain.Ill, explain.FailedCreate, "statefulset/default/db", ""}},
		"the DaemonSet controller is stopped": {empty, func(c *storagesimtest.Cluster) {
			c.Stop(storagesim.DaemonSets)
			c.Apply(agents("{}"))
		}, "ds/agent", want{explain.Ill, explain.ActorDown, "actor/daemonset-controller", ""}},
		"a DaemonSet is for no node": {empty, func(c *storagesimtest.Cluster) { c.Apply(agents("{'no': where}")) }, "ds/agent",
			want{explain.Waits, explain.NoNodeFits, "daemonset/default/agent", ""}},
		"a quota ends a DaemonSet at one of two": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(quota, `"2"`, `"1"`, 1))
			c.Settle()
			c.Apply(agents("{}"))
		}, "ds/agent", want{explain.Ill, explain.FailedCreate, "daemonset/default/agent", ""}},
		"the Job controller is stopped": {empty, func(c *storagesimtest.Cluster) {
			c.Stop(storagesim.Jobs)
			c.Apply(aJob("true", ""))
		}, "job/once", want{explain.Ill, explain.ActorDown, "actor/job-controller", ""}},
		"a Job has failed": {empty, func(c *storagesimtest.Cluster) { c.Apply(aJob("exit 3", ", backoffLimit: 0")) }, "job/once",
			want{explain.Ill, explain.JobFailed, "job/default/once", ""}},
		"a Job is suspended": {empty, func(c *storagesimtest.Cluster) { c.Apply(aJob("true", ", suspend: true")) }, "job/once",
			want{explain.Waits, explain.Paused, "job/default/once", ""}},
		"a Job waits for a controller of others": {empty, func(c *storagesimtest.Cluster) { c.Apply(aJob("true", ", managedBy: example.com/queue")) }, "job/once",
			want{explain.Waits, explain.ActorMissing, "actor/example.com/queue", ""}},
		"a Job runs": {empty, func(c *storagesimtest.Cluster) { c.Apply(aJob("sleep 10000", "")) }, "job/once",
			want{explain.UnderWay, explain.JobRuns, "job/default/once", ""}},
		"a Job is complete": {empty, func(c *storagesimtest.Cluster) { c.Apply(aJob("true", "")) }, "job/once", want{explain.Well, explain.Fine, "", ""}},
		"a CronJob is not yet due": {empty, func(c *storagesimtest.Cluster) { c.Apply(aCronJob("true", "")) }, "cronjob/often",
			want{explain.Well, explain.Fine, "", ""}},
		"a CronJob's newest Job is complete": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(aCronJob("true", ""))
			c.RunFor(11 * time.Minute)
		}, "cronjob/often", want{explain.Well, explain.Fine, "", ""}},
		"a CronJob is suspended": {empty, func(c *storagesimtest.Cluster) { c.Apply(aCronJob("true", ", suspend: true")) }, "cronjob/often",
			want{explain.Waits, explain.Paused, "cronjob/default/often", ""}},
		"a CronJob's newest Job has failed": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(aCronJob("exit 3", ""), "{template:", "{backoffLimit: 0, template:", 1))
			c.RunFor(11 * time.Minute)
		}, "cj/often", want{explain.Ill, explain.JobFailed, "job/default/often-29453770", ""}},
		"a CronJob's newest Job waits for a claim": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(aCronJob("true", ", concurrencyPolicy: Forbid"), "restartPolicy: Never",
				"restartPolicy: Never, volumes: [{name: d, persistentVolumeClaim: {claimName: ghost}}]", 1))
			c.RunFor(31 * time.Minute)
		}, "cronjob/often", want{explain.Ill, explain.ClaimMissing, "pvc/default/ghost", "spec.volumes"}},
		"the CronJob controller is stopped": {empty, func(c *storagesimtest.Cluster) {
			c.Stop(storagesim.CronJobs)
			c.Apply(aCronJob("true", ""))
		}, "cronjob/often", want{explain.Ill, explain.ActorDown, "actor/cronjob-controller", ""}},
		"a quota keeps a CronJob from its Jobs": {empty, func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {count/jobs.batch: '0'}}\n")
			c.Settle()
			c.Apply(aCronJob("true", ""))
			c.RunFor(11 * time.Minute)
		}, "cronjob/often", want{explain.Ill, explain.FailedCreate, "cronjob/default/often", ""}},
		"a quota keeps a Job from its pods": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(quota, `"2"`, `"0"`, 1))
			c.Settle()
			c.Apply(aJob("true", ""))
		}, "job/once", want{explain.Ill, explain.FailedCreate, "job/default/once", ""}},
		"a Job's pod waits for a claim": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(aJob("true", ""), "restartPolicy: Never", "restartPolicy: Never, volumes: [{name: d, persistentVolumeClaim: {claimName: ghost}}]",
				1))
		}, "job/once", want{explain.Ill, explain.ClaimMissing, "pvc/default/ghost", "spec.volumes"}},
		"all is well with the DaemonSet": {empty, func(c *storagesimtest.Cluster) { c.Apply(agents("{}")) }, "ds/agent", want{explain.Well, explain.Fine, "", ""}},
		"a pod names a claim that does not exist": {empty, func(c *storagesimtest.Cluster) { c.Apply(explainPod("web", "", "ghost")) }, "pod/web",
			want{explain.Ill, explain.ClaimMissing, "pvc/default/ghost", "spec.volumes"}},
		"a pod has gates": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainPod("web", "  schedulingGates: [{name: example.com/wait}]"))
		}, "pod/web",
			want{explain.Waits, explain.Gated, "pod/default/web", "spec.schedulingGates"}},
		"a pod mounts a claim of volumeMode Block": {later, func(c *storagesimtest.Cluster) {
			c.Apply(explainClaim("data", "1Gi", ofCSI+", volumeMode: Block"), mountingPod)
		}, "pod/web", want{explain.Ill, explain.VolumeMode, "pvc/default/data", "spec.volumeMode"}},
		"the local volume's node was deleted": {empty, func(c *storagesimtest.Cluster) {
			c.Machine("node/node-1").MakeDir("/data", 0o755)
			c.Apply(explainClass, explainVolume("disk", "5Gi", "node-1", "  storageClassName: local"), explainClaim("data", "5Gi", ", storageClassName: local"),
				explainPod("web", "", "data"))
			c.Settle()
			c.Stop("kubelet/node-1")
			c.Delete("node/node-1")
			c.RunFor(10 * time.Minute)
			c.Apply(explainPod("next", "", "data"))
		}, "pod/next", want{explain.Ill, explain.NodeGone, "pv/disk", "spec.nodeAffinity"}},
		"volumes on two nodes": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("a", "1Gi", "node-1", ""), explainVolume("b", "1Gi", "node-2", ""),
				explainClaim("first", "1Gi", ", storageClassName: '', volumeName: a"), explainClaim("second", "1Gi", ", storageClassName: '', volumeName: b"))
			c.Settle()
			c.Apply(explainPod("web", "", "first", "second"))
			c.Settle()
		}, "pod/web", want{explain.Ill, explain.VolumesApart, "pv/b", "spec.nodeAffinity"}},
		"a bound claim whose node is gone": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("disk", "1Gi", "node-1", ""), explainClaim("data", "1Gi", ", storageClassName: ''"))
			c.Settle()
			c.Stop("node/node-1")
			c.Delete("node/node-1")
			c.Settle()
		}, "pvc/data", want{explain.Ill, explain.NodeGone, "pv/disk", "spec.nodeAffinity"}},
		"a bound claim whose node is gone, asked of the volume": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("disk", "1Gi", "node-1", ""), explainClaim("data", "1Gi", ", storageClassName: ''"))
			c.Settle()
			c.Stop("node/node-1")
			c.Delete("node/node-1")
			c.Settle()
		}, "pv/disk", want{explain.Ill, explain.NodeGone, "pv/disk", "spec.nodeAffinity"}},
		"growth is infeasible": {withCSI, func(c *storagesimtest.Cluster) {
			c.Inject(socket.Fault{Method: "ControllerExpandVolume", Code: codes.OutOfRange, Message: "too big", Times: -1})
			grow(c, "9Gi")
		}, "pvc/data", want{explain.Ill, explain.ResizeInfeasible, "pvc/default/data", "spec.resources.requests.storage"}},
		"growth fails": {withCSI, func(c *storagesimtest.Cluster) {
			c.Inject(socket.Fault{Method: "ControllerExpandVolume", Code: codes.Internal, Message: "no answer", Times: -1})
			grow(c, "9Gi")
		}, "pvc/data", want{explain.Ill, explain.ResizeFailed, "actor/csi-resizer/csi.storagesim.io", "spec.resources.requests.storage"}},
		"the resizer is stopped": {withCSI, func(c *storagesimtest.Cluster) { c.Stop("csi-resizer/csi.storagesim.io"); grow(c, "9Gi") }, "pvc/data",
			want{explain.Ill, explain.ActorDown, "actor/csi-resizer/csi.storagesim.io", ""}},
		"a claim is used while it is deleted": {withCSI, func(c *storagesimtest.Cluster) { c.Delete("pvc/data") }, "pvc/data",
			want{explain.Waits, explain.InUse, "pod/default/web", ""}},
		"a pod's volume cannot be unmounted": {withCSI, func(c *storagesimtest.Cluster) {
			c.Inject(socket.Fault{Method: "NodeUnpublishVolume", Code: codes.Internal, Message: "busy", Times: -1})
			c.Delete("pod/web")
		}, "pod/web", want{explain.Ill, explain.UnmountFailed, "", ""}},
		"an attachment keeps a volume": {withCSI, func(c *storagesimtest.Cluster) {
			c.Inject(socket.Fault{Method: "ControllerUnpublishVolume", Code: codes.Internal, Message: "stuck", Times: -1})
			c.Delete("pod/web", "pvc/data")
		}, "PV", want{explain.Ill, explain.Attached, "", "spec.nodeName"}},
		"the pod's node is dead": {withCSI, func(c *storagesimtest.Cluster) { c.Stop("kubelet/node-1"); c.RunFor(3 * time.Minute) }, "pod/web",
			want{explain.Ill, explain.NodeUnreachable, "node/node-1", "status.conditions[Ready]"}},
		"a node is dead": {withCSI, func(c *storagesimtest.Cluster) { c.Stop("kubelet/node-1"); c.RunFor(12 * time.Minute) }, "node/node-1",
			want{explain.Ill, explain.NodeUnreachable, "node/node-1", "status.conditions[Ready]"}},
		"a node is cordoned": {withCSI, func(c *storagesimtest.Cluster) {
			_, err := c.Client().CoreV1().Nodes().Patch(c.T.Context(), "node-1", "application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`),
				metav1.PatchOptions{})
			c.Must(err)
		}, "node/node-1", want{explain.Waits, explain.Cordoned, "node/node-1", "spec.unschedulable"}},
		"an in-use volume that two nodes want": {withCSI, func(c *storagesimtest.Cluster) {
			c.Apply(strings.NewReplacer("name: web", "name: two", "spec:\n", "spec:\n  nodeName: node-2\n").Replace(mountingPod))
		}, "pod/two", want{explain.Ill, explain.AttachFailed, "pod/default/web", ""}},
		"the disk is full": {empty, func(c *storagesimtest.Cluster) {
			c.Machine("node/node-1").MakeDir("/data", 0o755)
			c.Inject(machine.Fault{Machine: "node/node-1", Op: "create", Times: -1, Err: syscall.ENOSPC})
			c.Apply(explainClass, explainVolume("disk", "5Gi", "node-1", "  storageClassName: local"), explainClaim("data", "5Gi", ", storageClassName: local"),
				explainPod("web", "", "data"))
		}, "pod/web", want{explain.Ill, explain.ContainerFailed, "pod/default/web", ""}},
		"no node has the driver": {empty, func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: far.example.com}\nspec: {attachRequired: false}\n",
				"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: "+
					"far.example.com, volumeHandle: h}}\n",
				explainClaim("data", "1Gi", ", storageClassName: ''"), mountingPod)
		}, "pod/web", want{explain.Ill, explain.DriverMissing, "", "spec.drivers"}},
		"the driver on the node is stopped": {withCSI, func(c *storagesimtest.Cluster) {
			c.Stop("csi-driver/csi.storagesim.io/node-2")
			c.Stop("csi-registrar/csi.storagesim.io/node-2")
			_, err := c.Client().StorageV1().CSINodes().Patch(c.T.Context(), "node-2", "application/merge-patch+json", []byte(`{"spec":{"drivers":[]}}`),
				metav1.PatchOptions{})
			c.Must(err)
			c.Delete("pod/web")
			c.RunFor(time.Minute)
			c.Apply(strings.Replace(mountingPod, "spec:\n", "spec:\n  nodeName: node-2\n", 1))
		}, "pod/web", want{explain.Ill, explain.ActorDown, "actor/csi-driver/csi.storagesim.io/node-2", ""}},
		"no program expands the volume": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainClass+"allowVolumeExpansion: true\n",
				strings.Replace(explainVolume("disk", "5Gi", "node-1", "  storageClassName: local"), "local: {path: /data}", "hostPath: {path: /data}", 1),
				explainClaim("data", "5Gi", ", storageClassName: local, volumeName: disk"))
			c.Settle()
			c.RequireBound("data")
			grow(c, "9Gi")
		}, "pvc/data", want{explain.Ill, explain.NoResizer, "pvc/default/data", "spec.resources.requests.storage"}},
		"a claim has lost its volume": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("disk", "5Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: ''"))
			c.Settle()
			_, err := c.Client().CoreV1().PersistentVolumes().Patch(c.T.Context(), "disk", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{})
			c.Must(err)
			c.Stop("pv-protection-controller")
			c.Delete("pv/disk")
		}, "pvc/data", want{explain.Ill, explain.VolumeLost, "pv/disk", "spec.volumeName"}},
		"a finalizer is not removed": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(strings.Replace(explainClaim("data", "5Gi", ", storageClassName: ''"), "name: data", "name: data, finalizers: [example.com/keep]", 1))
			c.Delete("pvc/data")
		}, "pvc/data", want{explain.Ill, explain.Finalizer, "pvc/default/data", "metadata.finalizers"}},
		"a released volume is retained": {empty, func(c *storagesimtest.Cluster) {
			c.Apply(explainVolume("disk", "5Gi", "node-1", "  persistentVolumeReclaimPolicy: Retain"), explainClaim("data", "5Gi", ", storageClassName: ''"))
			c.Settle()
			c.Delete("pvc/data")
		}, "pv/disk", want{explain.Waits, explain.Retained, "pv/disk", ""}},
		"a pod with a node of its own would be the first consumer": {later, func(c *storagesimtest.Cluster) {
			c.Apply(explainClaim("data", "1Gi", ofCSI), strings.Replace(mountingPod, "spec:\n", "spec:\n  nodeName: node-2\n", 1))
		}, "pvc/data", want{explain.Ill, explain.NodeNameSet, "pod/default/web", "spec.nodeName"}},
		"there are no nodes": {empty, func(c *storagesimtest.Cluster) {
			c.Delete("node/node-1", "node/node-2")
			c.Apply(explainPod("web", ""))
		}, "pod/web",
			want{explain.Ill, explain.NoNodes, "pod/default/web", ""}},
		"a pod has failed": {empty, func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: " +
				"[mkdir, /no/such]}]}\n")
		}, "pod/web", want{explain.Ill, explain.ContainerFailed, "pod/default/web", ""}},
		"a liveness probe fails": {empty, func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" +
				"spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: busybox, command: [sleep, '3600'], livenessProbe: " +
				"{periodSeconds: 1, exec: {command: ['false']}}}]}\n")
		}, "pod/web", want{explain.Ill, explain.ProbeFailed, "pod/default/web", "spec.containers[c].livenessProbe"}},
		"a startup probe fails": {empty, func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" +
				"spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: busybox, command: [sleep, '3600'], startupProbe: " +
				"{periodSeconds: 1, exec: {command: ['false']}}}]}\n")
		}, "pod/web", want{explain.Ill, explain.ProbeFailed, "pod/default/web", "spec.containers[c].startupProbe"}},
		"a container ends by itself beside a probe that succeeds": {empty, func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: busybox, command: ['false'], livenessProbe: {exec: " +
				"{command: ['true']}}}]}\n")
		}, "pod/web", want{explain.Ill, explain.ContainerFailed, "pod/default/web", ""}},
		"a rollout is paused": {empty, func(c *storagesimtest.Cluster) { c.Apply(strings.Replace(usingDeployment, "PAUSED", "true", 1)) }, "deployment/shop",
			want{explain.Waits, explain.Paused, "deployment/default/shop", ""}},
		"a class without its provisioner": {empty, func(c *storagesimtest.Cluster) { c.Apply(csiClass) }, "sc/csi",
			want{explain.Ill, explain.ActorMissing, "actor/csi.storagesim.io", "provisioner"}},
		"all is well with the claim": {withCSI, nil, "pvc/data", want{explain.Well, explain.Fine, "", ""}},
		"all is well with the pod":   {withCSI, nil, "pod/web", want{explain.Well, explain.Fine, "", ""}},
		"all is well with the class": {withCSI, nil, "sc/csi", want{explain.Well, explain.Fine, "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.cluster(t)
			if tt.trouble != nil {
				tt.trouble(c)
			}
			c.RunFor(20 * time.Second)
			if tt.ref == "PV" {
				tt.ref = "pv/pvc-" + uidOf(c)
			}
			why, err := c.Lab().Explanation(tt.ref)
			require.NoError(t, err)
			v := why.Verdict
			got := want{v.Class, v.Code, v.Object, v.Field}
			if tt.want.object == "" {
				got.object = "" // it has a generated name
			}
			assert.Equal(t, tt.want, got, why.Text)
			first, _, _ := strings.Cut(why.Text, "\n")
			assert.True(t, first == v.String() || v.Class == explain.Well && strings.HasPrefix(first, v.String()), "the verdict is in the first line")
			if v.Class == explain.Well {
				assert.Equal(t, 1, strings.Count(why.Text, v.String()), "it is said once:\n%s", why.Text)
			}
			if v.Class == explain.Ill && v.Code != explain.NoNodeFits {
				assert.NotEmpty(t, v.Do, "what to do")
			}
			assert.NotContains(t, why.Text, "2562047", "a process that is stopped starts at no time")
		})
	}
}

// aJob returns the manifest of a Job that runs a script.
func aJob(script, more string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, " +
		"command: [sh, -c, '" + script + "']}]}}" + more + "}\n"
}

// aCronJob returns the manifest of a CronJob that is due every ten minutes.
func aCronJob(script, more string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: often}\nspec: {schedule: '*/10 * * * *', jobTemplate: {spec: {template: {spec: {" +
		"restartPolicy: Never, containers: [{name: c, image: busybox, command: [sh, -c, '" + script + "']}]}}}}" + more + "}\n"
}

// agents returns the manifest of a DaemonSet with a nodeSelector.
func agents(nodeSelector string) string {
	return "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n  selector: {matchLabels: {app: agent}}\n  template:\n" +
		"    metadata: {labels: {app: agent}}\n    spec: {nodeSelector: " +
		nodeSelector + ", containers: [{name: c, image: busybox}]}\n"
}

// grow asks for more of claim data.
func grow(c *storagesimtest.Cluster, size string) {
	_, err := c.Client().CoreV1().PersistentVolumeClaims("default").Patch(c.T.Context(), "data", "application/merge-patch+json",
		[]byte(`{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`), metav1.PatchOptions{})
	c.Must(err)
	c.RunFor(time.Minute)
}

// uidOf returns the UID in the name of the only PersistentVolume.
func uidOf(c *storagesimtest.Cluster) string {
	list, err := c.Client().CoreV1().PersistentVolumes().List(c.T.Context(), metav1.ListOptions{})
	c.Must(err)
	return strings.TrimPrefix(list.Items[0].Name, "pvc-")
}

// No verdict says that all is well while a pod is not ready or a claim is not bound, whatever happens on the way.
func TestNoVerdictIsWellWhileAPodOrAClaimIsNot(t *testing.T) {
	looked, ill := 0, 0
	_, err := explore.Run(t.Context(),
		explore.Config{Runs: wellRuns, Cluster: storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")}},
		func(c *storagesim.Cluster) error {
			look := func() error {
				rests, wrong := judge(c)
				looked, ill = looked+rests.looked, ill+rests.ill
				return wrong
			}
			if err := errors.Join(c.InstallCSIDriver(driver.Config{}),
				c.Apply(csiLaterClass, explainClaim("data", "1Gi", ofCSI), explainClaim("idle", "1Gi", ofCSI), mountingPod)); err != nil {
				return err
			}
			for range 3 {
				if err := errors.Join(c.RunFor(3*time.Second), look()); err != nil {
					return err
				}
			}
			return errors.Join(c.Settle(), look(), c.Delete("pod/web", "pvc/data"), c.RunFor(2*time.Second), look(), c.Settle(), look())
		})
	require.NoError(t, err)
	t.Logf("%d verdicts of objects that are not as they should be, %d of them ill", looked, ill)
	require.Greater(t, looked, 2*wellRuns)
}

// wellRuns is the number of runs of TestNoVerdictIsWellWhileAPodOrAClaimIsNot, with six looks each.
const wellRuns = 60

// judged counts verdicts of what is not as it should be.
type judged struct{ looked, ill int }

// judge returns an error if a verdict says that a pod or a claim is well that is not, or if what looks at the server's own objects
// changes them.
func judge(c *storagesim.Cluster) (n judged, err error) {
	objects := c.Engine().Server().Objects(false)
	defer func() {
		c.Lab().Lost()
		if err == nil && !equality.Semantic.DeepEqual(objects, c.Engine().Server().Objects(false)) {
			err = errors.New("an explanation has changed an object")
		}
	}()
	for _, obj := range objects {
		ref := ""
		switch o := obj.(type) {
		case *v1.Pod:
			if !podstatus.IsReady(o) || o.DeletionTimestamp != nil {
				ref = "pod/" + o.Namespace + "/" + o.Name
			}
		case *v1.PersistentVolumeClaim:
			if o.Status.Phase != v1.ClaimBound || o.DeletionTimestamp != nil {
				ref = "pvc/" + o.Namespace + "/" + o.Name
			}
		}
		if ref == "" {
			continue
		}
		why, err := c.Lab().Explanation(ref)
		if err != nil {
			return n, err
		}
		n.looked++
		switch why.Verdict.Class {
		case explain.Well:
			return n, fmt.Errorf("%s is not as it should be, and the verdict is: %s", ref, why.Verdict)
		case explain.Ill:
			n.ill++
		}
	}
	return n, nil
}

// A name that nearly fits is probably another one.
func TestAVerdictNamesWhatWasProbablyMeant(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(csiClass, strings.NewReplacer("name: csi", "name: typo", "csi.storagesim.io", "csi.storagsim.io").Replace(csiClass),
		explainClaim("a", "1Gi", ", storageClassName: cssi"), explainClaim("b", "1Gi", ", storageClassName: typo"),
		explainVolume("disk", "1Gi", "node1", ""), explainClaim("c", "1Gi", ", storageClassName: ''"), explainPod("web", "", "c"))
	c.Apply(strings.Replace(snapshotClass, "csi.storagesim.io", "csi.storagsim.io", 1), explainClaim("d", "1Gi", ofCSI))
	c.RunFor(20 * time.Second)
	c.Apply(snapshotOf("snap", "d"))
	c.RunFor(20 * time.Second)
	for ref, meant := range map[string]string{
		"pvc/a": `"csi"`, "pvc/b": `"csi.storagesim.io"`, "pod/web": `"node-1"`, "volumesnapshot/snap": `"csi.storagesim.io"`,
	} {
		why, err := c.Lab().Explanation(ref)
		require.NoError(t, err)
		require.Contains(t, why.Verdict.Do, "did you mean "+meant, ref)
	}
}

func TestTheProvisionersThatRunAreNamedWhereThatOfAClassDoesNot(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(strings.NewReplacer("name: csi", "name: other", "csi.storagesim.io", "example.com/nfs").Replace(csiClass),
		explainClaim("a", "1Gi", ", storageClassName: other"))
	c.Settle()
	require.Contains(t, c.Explain("pvc/a"), "To do: run provisioner example.com/nfs, or use a class of one that runs.")
	for _, name := range []string{"nfs", "openebs"} {
		require.NoError(t, bundled.Install(c.Cluster, name))
	}
	c.Settle()
	require.Contains(t, strings.Join(strings.Fields(c.Explain("pvc/a")), " "), "To do: run provisioner example.com/nfs "+
		`(did you mean "provisioner.test.com/nfs"?), or use a class of one that runs: provisioner.test.com/nfs, openebs.io/local.`)
}

// A data source in another namespace is dropped by an API server whose feature gate is off, and the claim gets an empty volume.
func TestADroppedDataSourceIsTold(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(csiClass, explainClaim("data", "1Gi", ofCSI+", dataSourceRef: {kind: PersistentVolumeClaim, name: golden, namespace: images}"))
	c.RunFor(20 * time.Second)
	c.RequireBound("data")
	why, err := c.Lab().Explanation("pvc/data")
	require.NoError(t, err)
	require.Equal(t, explain.SourceDropped, why.Verdict.Code, why.Text)
	require.Equal(t, explain.Ill, why.Verdict.Class)
	require.Contains(t, c.Story(), "the server drops spec.dataSourceRef")
}

// Two claims of one name are told apart by their UIDs.
func TestAVolumeOfAnEarlierClaimIsTold(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(explainVolume("kept", "1Gi", "node-1", "  persistentVolumeReclaimPolicy: Retain"), explainClaim("data", "1Gi", ", storageClassName: ''"))
	c.Settle()
	first := string(c.Claim("data").UID)
	c.Delete("pvc/data")
	c.Settle()
	c.Apply(explainClaim("data", "1Gi", ", storageClassName: ''"))
	c.Settle()
	why, err := c.Lab().Explanation("pvc/data")
	require.NoError(t, err)
	v := why.Verdict
	require.Equal(t, [3]string{string(explain.VolumeTaken), "pv/kept", first}, [3]string{string(v.Code), v.Object, v.Value})
	require.Contains(t, c.Explain("pv/kept"), "(UID "+first+")")
}

// Who asks before anything has happened is told.
func TestARequirementThatComesTooEarlySaysSo(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(explainPod("web", ""))
	const early = "Nothing has happened since the user's last write: Settle or RunFor lets the controllers work."
	require.ErrorContains(t, c.Cluster.RequireRunning("web"), early)
	c.Settle()
	c.RequireRunning("web")
	c.Apply(explainClaim("data", "1Gi", ", storageClassName: none"))
	c.Settle()
	err := c.Cluster.RequireBound("data")
	require.Error(t, err)
	require.NotContains(t, err.Error(), early)
}
