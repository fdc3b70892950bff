package main

import (
	"context"
	"fmt"
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

// allBound fails the run if a claim has no volume, though its class is there.
func allBound(c *explore.Cluster) {
	claims, err := c.Client().CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).List(context.Background(), metav1.ListOptions{})
	c.Must(err)
	for _, claim := range claims.Items {
		_, err := c.Client().StorageV1().StorageClasses().Get(context.Background(), *claim.Spec.StorageClassName, metav1.GetOptions{})
		if err == nil && claim.Status.Phase != v1.ClaimBound {
			c.T.Fatalf("claim %s is %s", claim.Name, claim.Status.Phase)
		}
	}
}

// oneDiskEach fails the run unless each volume has a disk, and no disk is left over. Without its claim a volume stays only if it is to
// be retained. This judges the cluster and not what the scenario has asked for: the explorer leaves some of that out to make a failure smaller.
func oneDiskEach(c *explore.Cluster, cloud *backend.Cloud) {
	allBound(c)
	volumes, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	c.Must(err)
	for _, pv := range volumes.Items {
		of, id := pv.Spec.ClaimRef.Name, path.Base(pv.Spec.HostPath.Path)
		switch kept := pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRetain; {
		case cloud.Label(id) != "" && pv.Status.Phase != v1.VolumeBound && !kept:
			c.T.Fatalf("the claim %s is gone, and its volume and its disk %s are left", of, id)
		case cloud.Label(id) == "" && pv.Status.Phase == v1.VolumeBound:
			c.T.Fatalf("claim %s is bound, and its disk %s is gone", of, id)
		case cloud.Label(id) == "" && kept:
			c.T.Fatalf("the volume of claim %s is to be retained, and its disk %s is gone", of, id)
		}
	}
	if disks := cloud.Disks(); len(disks) != len(volumes.Items) {
		c.T.Fatalf("%s there, and the cloud has these disks: %v", are(len(volumes.Items), "volume"), disks)
	}
}

// are returns a number of things with its verb.
func are(n int, of string) string {
	if n == 1 {
		return "1 " + of + " is"
	}
	return fmt.Sprintf("%d %ss are", n, of)
}

// idempotent creates and deletes two claims, and creates one of them again while its first volume goes.
func idempotent(newProvisioner func(*backend.Cloud) provisioner.Provisioner) play {
	return func(c *explore.Cluster, wait bool) {
		cloud := &backend.Cloud{}
		c.AddProvisionController(provisioner.Config{Name: name, New: func(control.Env) (provisioner.Provisioner, error) { return newProvisioner(cloud), nil }})
		c.Apply(class + "---" + claim("one") + "---" + claim("two"))
		rest(c, wait)
		oneDiskEach(c, cloud)
		c.Delete("pvc/one")
		c.RunUntil(func() bool {
			_, err := c.Cluster.Claim("one")
			return err != nil
		})
		c.Apply(claim("one"))
		rest(c, wait)
		oneDiskEach(c, cloud)
		c.Delete("pvc/one", "pvc/two")
		rest(c, wait)
		oneDiskEach(c, cloud)
	}
}

// finalizer deletes the volume before the claim.
func finalizer(config func(*backend.Cloud) provisioner.Config) play {
	return func(c *explore.Cluster, wait bool) {
		cloud := &backend.Cloud{}
		c.AddProvisionController(config(cloud))
		c.Apply(class + "---" + claim("data"))
		rest(c, wait)
		oneDiskEach(c, cloud)
		c.Delete("pv/" + c.Claim("default/data").Spec.VolumeName)
		c.RunFor(time.Minute)
		c.Delete("pvc/data")
		rest(c, wait)
		oneDiskEach(c, cloud)
	}
}

// crash ends the process between the disk and the volume, and deletes the claim before it is back. Another claim stays, and so does
// the volume of a third one, which is to be retained.
func crash(newProvisioner func(*backend.Cloud, kubernetes.Interface) provisioner.Provisioner) play {
	return func(c *explore.Cluster, wait bool) {
		cloud := &backend.Cloud{}
		c.AddProvisionController(provisioner.Config{Name: name,
			New: func(env control.Env) (provisioner.Provisioner, error) {
				return newProvisioner(cloud, env.Client()), nil
			}})
		c.Apply(class + "---" + claim("stays") + "---" + strings.ReplaceAll(class+"reclaimPolicy: Retain\n", "name: disks", "name: archive") +
			"---" + strings.Replace(claim("old"), "storageClassName: disks", "storageClassName: archive", 1))
		rest(c, wait)
		c.Delete("pvc/old")
		rest(c, wait)
		oneDiskEach(c, cloud)
		c.Inject(engine.Fault{Actor: name, Verb: "create", Resource: "persistentvolumes", Crash: true, Restart: 5 * time.Minute})
		c.Apply(claim("data"))
		c.RunFor(time.Minute)
		c.Delete("pvc/data")
		rest(c, wait)
		oneDiskEach(c, cloud)
		c.Delete("pvc/stays")
		rest(c, wait)
		oneDiskEach(c, cloud)
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
		loaded(c, library)
		c.Delete("pod/one")
		rest(c, wait)
		loaded(c, library)
		c.Delete("pod/two")
		rest(c, wait)
		loaded(c, library)
		c.Delete("pvc/data")
		rest(c, wait)
	}
}

// loaded fails the run unless each pod that is there runs, and the tape is loaded if there is one and not otherwise.
func loaded(c *explore.Cluster, library *backend.Tapes) {
	allBound(c)
	pods, err := c.Client().CoreV1().Pods(metav1.NamespaceDefault).List(context.Background(), metav1.ListOptions{})
	c.Must(err)
	claim, err := c.Cluster.Claim("default/data")
	bound := err == nil && claim.Status.Phase == v1.ClaimBound
	var names []string
	for _, pod := range pods.Items {
		if bound && pod.Status.Phase != v1.PodRunning {
			c.T.Fatalf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
		if pod.Status.Phase == v1.PodRunning {
			names = append(names, pod.Name)
		}
	}
	switch tapes := len(library.Holdings().Staged); {
	case len(names) == 0 && tapes != 0:
		c.T.Fatalf("no pod runs, and %s loaded", are(tapes, "tape"))
	case len(names) != 0 && tapes == 0:
		c.T.Fatalf("the pods that run are %v, and no tape is loaded", names)
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
	}, {
		Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: spec.ControllerServiceCapability_RPC_EXPAND_VOLUME}},
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

// ControllerExpandVolume implements spec.ControllerServer. Without it the resizer would end again and again.
func (c *controller) ControllerExpandVolume(_ context.Context, req *spec.ControllerExpandVolumeRequest) (*spec.ControllerExpandVolumeResponse, error) {
	return &spec.ControllerExpandVolumeResponse{CapacityBytes: req.GetCapacityRange().GetRequiredBytes()}, nil
}
