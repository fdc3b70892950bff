package main

import (
	"context"
	"path"
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/storagesim-learn/backend"
	crashanswer "example.com/storagesim-learn/crash/answer"
	crashstart "example.com/storagesim-learn/crash/start"
	crashwrong "example.com/storagesim-learn/crash/wrong"
	finalizeranswer "example.com/storagesim-learn/finalizer/answer"
	finalizerstart "example.com/storagesim-learn/finalizer/start"
	finalizerwrong "example.com/storagesim-learn/finalizer/wrong"
	idempotentanswer "example.com/storagesim-learn/idempotent/answer"
	idempotentstart "example.com/storagesim-learn/idempotent/start"
	idempotentwrong "example.com/storagesim-learn/idempotent/wrong"
	unstageanswer "example.com/storagesim-learn/unstage/answer"
	unstagestart "example.com/storagesim-learn/unstage/start"
	unstagewrong "example.com/storagesim-learn/unstage/wrong"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/provisioner"
)

// play plays a scenario; with wait an hour passes at its end.
type play func(c *explore.Cluster, wait bool)

// scenarios has the variants of each exercise: the learner's file takes the place of that of start.
var scenarios = map[string]map[string]play{
	"idempotent": {"start": idempotent(idempotentstart.New), "answer": idempotent(idempotentanswer.New), "wrong": idempotent(idempotentwrong.New)},
	"finalizer":  {"start": finalizer(finalizerstart.Config), "answer": finalizer(finalizeranswer.Config), "wrong": finalizer(finalizerwrong.Config)},
	"crash":      {"start": crash(crashstart.New), "answer": crash(crashanswer.New), "wrong": crash(crashwrong.New)},
	"unstage":    {"start": unstage(node(unstagestart.New)), "answer": unstage(node(unstageanswer.New)), "wrong": unstage(node(unstagewrong.New))},
}

const name = "example.com/disks"

const class = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: example.com/disks
`

// claim returns the manifest of a claim.
func claim(of string) string {
	return `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ` + of + `}
spec: {storageClassName: disks, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
}

// rest lets the cluster come to rest, after all faults, and an hour more if that is asked for.
func rest(c *explore.Cluster, wait bool) {
	c.RunFor(10 * time.Minute)
	if wait {
		c.RunFor(time.Hour)
	}
}

// oneDiskEach fails the run unless each bound volume has a disk, and no disk is left over.
func oneDiskEach(c *explore.Cluster, cloud *backend.Cloud, volumes int) {
	if disks := cloud.Disks(); len(disks) != volumes {
		c.T.Fatalf("%d volumes are there, and the cloud has these disks: %v", volumes, disks)
	}
}

// disksThere fails the run if a bound volume has no disk.
func disksThere(c *explore.Cluster, cloud *backend.Cloud) {
	volumes, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	c.Must(err)
	for _, pv := range volumes.Items {
		if id := path.Base(pv.Spec.HostPath.Path); pv.Status.Phase == v1.VolumeBound && cloud.Label(id) == "" {
			c.T.Fatalf("claim %s is bound, and its disk %s is gone", pv.Spec.ClaimRef.Name, id)
		}
	}
}

// idempotent creates and deletes two claims, and creates one of them again while its first volume goes.
func idempotent(newProvisioner func(*backend.Cloud) provisioner.Provisioner) play {
	return func(c *explore.Cluster, wait bool) {
		cloud := &backend.Cloud{}
		c.AddProvisionController(provisioner.Config{Name: name, New: func(control.Env) (provisioner.Provisioner, error) { return newProvisioner(cloud), nil }})
		c.Apply(class + "---" + claim("one") + "---" + claim("two"))
		rest(c, wait)
		oneDiskEach(c, cloud, 2)
		c.Delete("pvc/one")
		c.RunUntil(func() bool {
			_, err := c.Cluster.Claim("one")
			return err != nil
		})
		c.Apply(claim("one"))
		rest(c, wait)
		disksThere(c, cloud)
		oneDiskEach(c, cloud, 2)
		c.Delete("pvc/one", "pvc/two")
		rest(c, wait)
		oneDiskEach(c, cloud, 0)
	}
}

// finalizer deletes the volume before the claim.
func finalizer(config func(*backend.Cloud) provisioner.Config) play {
	return func(c *explore.Cluster, wait bool) {
		cloud := &backend.Cloud{}
		c.AddProvisionController(config(cloud))
		c.Apply(class + "---" + claim("data"))
		rest(c, wait)
		oneDiskEach(c, cloud, 1)
		c.Delete("pv/" + c.Claim("default/data").Spec.VolumeName)
		c.RunFor(time.Minute)
		c.Delete("pvc/data")
		rest(c, wait)
		oneDiskEach(c, cloud, 0)
	}
}

// crash ends the process between the disk and the volume, and deletes the claim before it is back. Another claim stays.
func crash(newProvisioner func(*backend.Cloud, kubernetes.Interface) provisioner.Provisioner) play {
	return func(c *explore.Cluster, wait bool) {
		cloud := &backend.Cloud{}
		c.AddProvisionController(provisioner.Config{Name: name,
			New: func(env control.Env) (provisioner.Provisioner, error) {
				return newProvisioner(cloud, env.Client()), nil
			}})
		c.Apply(class + "---" + claim("stays"))
		rest(c, wait)
		oneDiskEach(c, cloud, 1)
		c.Inject(engine.Fault{Actor: name, Verb: "create", Resource: "persistentvolumes", Crash: true, Restart: 5 * time.Minute})
		c.Apply(claim("data"))
		c.RunFor(time.Minute)
		c.Delete("pvc/data")
		rest(c, wait)
		oneDiskEach(c, cloud, 1)
		c.Delete("pvc/stays")
		rest(c, wait)
		oneDiskEach(c, cloud, 0)
	}
}

// node returns a function that makes the node's server of a driver.
func node[N spec.NodeServer](newNode func(*backend.Tapes, string, *disk.Disk) N) func(*backend.Tapes, csi.Host) spec.NodeServer {
	return func(t *backend.Tapes, h csi.Host) spec.NodeServer { return newNode(t, h.Node, h.Machine.Disk()) }
}

const tapes = "tape.example.com"

// pod returns the manifest of a pod that uses the claim data.
func pod(of string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + of + `}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: web, image: busybox, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
}

// unstage deletes two pods of one volume, one after the other, and then the claim.
func unstage(newNode func(*backend.Tapes, csi.Host) spec.NodeServer) play {
	return func(c *explore.Cluster, wait bool) {
		library := &backend.Tapes{}
		d := csi.Driver{
			Name: tapes, Inventory: library,
			NewController: func(csi.Host) (spec.ControllerServer, error) { return &controller{tapes: library}, nil },
			Node:          func(h csi.Host) (spec.NodeServer, error) { return newNode(library, h), nil },
		}
		d.Spec.AttachRequired = new(bool)
		c.InstallCSIDriver(d)
		c.RunFor(10 * time.Second) // the kubelet registers it
		c.Apply(strings.Replace(class, name, tapes, 1) + "---" + claim("data") + "---" + pod("one") + "---" + pod("two"))
		rest(c, wait)
		loaded(c, library, 1, "one", "two")
		c.Delete("pod/one")
		rest(c, wait)
		loaded(c, library, 1, "two")
		c.Delete("pod/two")
		rest(c, wait)
		loaded(c, library, 0)
		c.Delete("pvc/data")
		rest(c, wait)
	}
}

// loaded fails the run unless the pods run and so many tapes are loaded.
func loaded(c *explore.Cluster, library *backend.Tapes, tapes int, pods ...string) {
	for _, pod := range pods {
		if phase := c.Pod(pod).Status.Phase; phase != v1.PodRunning {
			c.T.Fatalf("pod %s is %s", pod, phase)
		}
	}
	if n := len(library.Holdings().Staged); n != tapes {
		c.T.Fatalf("the pods that run are %v, and %d tapes are loaded", pods, n)
	}
}

// controller is the other half of the driver.
type controller struct {
	spec.UnimplementedControllerServer
	tapes *backend.Tapes
}

// ControllerGetCapabilities implements spec.ControllerServer.
func (c *controller) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	return &spec.ControllerGetCapabilitiesResponse{Capabilities: []*spec.ControllerServiceCapability{{
		Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}},
	}}}, nil
}

// CreateVolume implements spec.ControllerServer.
func (c *controller) CreateVolume(_ context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	c.tapes.Add(req.GetName())
	return &spec.CreateVolumeResponse{Volume: &spec.Volume{VolumeId: req.GetName(), CapacityBytes: req.GetCapacityRange().GetRequiredBytes()}}, nil
}

// DeleteVolume implements spec.ControllerServer.
func (c *controller) DeleteVolume(_ context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	c.tapes.Remove(req.GetVolumeId())
	return &spec.DeleteVolumeResponse{}, nil
}
