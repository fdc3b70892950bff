package storagesim

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/workdir"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// User is the name of the actor whose calls Cluster.Client makes.
const User = "user"

// Setup is the actor of what comes with a driver or provisioner that is installed: its namespace, its CSIDriver, the definitions of
// snapshots.
const Setup = "setup"

// Cluster is a storage control plane with its nodes. It is not safe for
// concurrent use; its clients are.
type Cluster struct {
	cfg          Config
	engine       *engine.Engine
	client       *fake.Clientset
	setup        *fake.Clientset // calls as Setup
	dir          string
	own          *workdir.Dir // dir, if Close removes it
	mounted      []string     // the numbers of the mounts that were in dir before, if it is the caller's
	realPaths    []string     // the drivers that may mount in dir
	closed       bool
	machines     machine.Set
	containers   map[string]*runtime.Containers // by node
	kubelets     map[string]kubelet.Config      // by node
	nfs          nfs.Network
	applied      map[string][]byte // the manifest that Apply applied last, by object
	annotates    bool              // see Lab.AnnotateApplied
	provisioners []*installed
	schedulers   []scheduler.Config
	// schedulerActors are the actors of schedulers.
	schedulerActors []string
	sockets         socket.Table // of all machines
	csiDrivers      []deploy.Plan
	snapshots       bool                // InstallSnapshots was called
	onNode          map[string][]string // the actors of each node
	off             map[string]bool     // nodes that are switched off
	began           int                 // the number of records written while the cluster started
	ids             prose.IDs
	onAct           func(verb, ref string) bool
	onWarning       func(text string)
	onRest          func()
	progress        *progress // nil: Settle has no rounds

	helpersMu sync.Mutex // clients write beside the engine
	helpers   map[trace.Ref]bool
	gapsMu    sync.Mutex // clients write beside the engine
	gaps      []trace.Gap
	gapsSeen  map[*gaps.Gap]bool
}

// addActor adds an actor that is not of the control plane.
func (c *Cluster) addActor(name string, f control.Factory) error {
	return c.engine.Add(name, c.cfg.wrapped(name, f))
}

// Client returns a clientset whose calls the trace attributes to "user". It is one of client-go's
// fakes (*fake.Clientset), so PrependReactor works, but it does not keep its actions: the
// trace has them.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

func (c *Cluster) server() *api.Server { return c.engine.Server() }

// Engine returns the engine that drives the actors. Engine.Server is the API server.
func (c *Cluster) Engine() *engine.Engine { return c.engine }

// Now returns the virtual time.
func (c *Cluster) Now() time.Time { return c.engine.Now() }

// Claim returns a claim: "data" in the namespace default, or "namespace/data", with or without
// "pvc/" before it.
func (c *Cluster) Claim(ref string) (*v1.PersistentVolumeClaim, error) {
	at, err := manifest.ParseRefOf(c.server().Registry(), "pvc", ref)
	if err != nil {
		return nil, err
	}
	claim, err := c.client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(context.Background(), at.Name, metav1.GetOptions{})
	return claim, c.near(at, err)
}

// Volume returns the PersistentVolume "name" or "pv/name".
func (c *Cluster) Volume(ref string) (*v1.PersistentVolume, error) {
	at, err := manifest.ParseRefOf(c.server().Registry(), "pv", ref)
	if err != nil {
		return nil, err
	}
	pv, err := c.client.CoreV1().PersistentVolumes().Get(context.Background(), at.Name, metav1.GetOptions{})
	return pv, c.near(at, err)
}

// Pod returns a pod: "web" in the namespace default, or "namespace/web", with or without
// "pod/" before it.
func (c *Cluster) Pod(ref string) (*v1.Pod, error) {
	at, err := manifest.ParseRefOf(c.server().Registry(), "pod", ref)
	if err != nil {
		return nil, err
	}
	pod, err := c.client.CoreV1().Pods(at.Namespace).Get(context.Background(), at.Name, metav1.GetOptions{})
	return pod, c.near(at, err)
}

// Lab is the side of a cluster for tools, such as the commands and package explore: what it is made of, what was found in it,
// and hooks. A test of a provisioner, a driver or an operator seldom needs it.
type Lab struct{ c *Cluster }

// Lab returns the side of the cluster for tools.
func (c *Cluster) Lab() Lab { return Lab{c} }

// installed is a provisioner that runs in the cluster.
type installed struct {
	name string
	also []string           // its other names
	cfg  provisioner.Config // with all defaults set
	// inventory lists the volumes of its backend; nil if the backend cannot say.
	inventory provisioner.Inventory
	counters  *provisioner.Counters
}
