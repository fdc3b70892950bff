package csi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// watched is the reference driver with a check of every call that arrives, whatever the driver
// answers: rules that no caller of a driver may break.
type watched struct {
	*storagesimtest.Cluster
	driver  csi.Driver
	handles map[string]string              // by PersistentVolume
	listed  map[string][]v1.AttachedVolume // by node
	broken  []string
	// refusals counts, by method, the calls that nodes' servers are to end with a final error.
	refusals map[string]int
}

// watch installs the reference driver, whose processes lose their memory when they end.
func watch(c *storagesimtest.Cluster) *watched { return watchWith(c, false) }

// watchWith reports whether a process of the driver that starts again has the memory of the last one.
func watchWith(c *storagesimtest.Cluster, keepsMemory bool) *watched {
	w := &watched{Cluster: c, handles: map[string]string{}, listed: map[string][]v1.AttachedVolume{}, refusals: map[string]int{}}
	d, err := driver.New(driver.Config{})
	require.NoError(c.T, err)
	d.Interceptors = nil // calls come one at a time here, and what the driver holds is looked at during them
	controller, node := d.NewController, d.Node
	if keepsMemory {
		controller, node = kept(controller), kept(node)
	}
	d.NewController = func(h csi.Host) (spec.ControllerServer, error) {
		s, err := controller(h)
		return watchedController{s, w}, err
	}
	d.Node = func(h csi.Host) (spec.NodeServer, error) {
		s, err := node(h)
		return watchedNode{s, w, h.Node}, err
	}
	w.driver = d
	c.Engine().Server().OnWrite(w.attaching)
	c.InstallCSIDriver(d)
	c.Apply(`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}`)
	return w
}

// kept returns a server that is made once for each machine, and has its memory for ever.
func kept[S any](makes func(h csi.Host) (S, error)) func(h csi.Host) (S, error) {
	made := map[string]S{}
	return func(h csi.Host) (server S, err error) {
		server, ok := made[h.Machine.String()]
		if !ok {
			server, err = makes(h)
			made[h.Machine.String()] = server
		}
		return server, err
	}
}

// attaching looks at each VolumeAttachment that is made: no other node's status may list the
// volume as attached. Of an attach that failed the attach/detach controller does not hear when
// it succeeds after all, and tries another node (semantics 6 (7), quirk): it is for the driver
// to refuse that.
func (w *watched) attaching(write trace.Write) {
	if write.Err != nil {
		return
	}
	switch obj := write.New.(type) {
	case *v1.PersistentVolume:
		w.handles[obj.Name] = obj.Spec.CSI.VolumeHandle
	case *v1.Node:
		w.listed[obj.Name] = obj.Status.VolumesAttached
	case *storagev1.VolumeAttachment:
		handle := w.handles[*obj.Spec.Source.PersistentVolumeName]
		for node, volumes := range w.listed {
			has := slices.ContainsFunc(volumes, func(v v1.AttachedVolume) bool { return strings.HasSuffix(string(v.Name), "^"+handle) })
			w.check(write.Old == nil && node != obj.Spec.NodeName && has, "%s is to be attached to %s while %s lists it", handle, obj.Spec.NodeName, node)
		}
	}
}

func (w *watched) holds() csi.Holdings { return w.driver.Inventory.Holdings() }

// at reports whether a list of places has a volume on a node; on any if the node is "".
func at(places []csi.Place, volume, node string) bool {
	return slices.ContainsFunc(places, func(p csi.Place) bool { return p.Volume == volume && (node == "" || p.Node == node) })
}

func (w *watched) check(wrong bool, format string, args ...any) {
	if wrong {
		w.broken = append(w.broken, w.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

type watchedController struct {
	spec.ControllerServer
	*watched
}

func (c watchedController) DeleteVolume(ctx context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	held := c.holds()
	c.check(at(held.Attached, req.VolumeId, ""), "%s is deleted while it is attached", req.VolumeId)
	c.check(at(held.Staged, req.VolumeId, ""), "%s is deleted while it is staged", req.VolumeId)
	return c.ControllerServer.DeleteVolume(ctx, req)
}

func (c watchedController) ControllerPublishVolume(ctx context.Context, req *spec.ControllerPublishVolumeRequest) (*spec.ControllerPublishVolumeResponse,
	error) {
	answer, err := c.ControllerServer.ControllerPublishVolume(ctx, req)
	n := 0
	for _, p := range c.holds().Attached {
		if p.Volume == req.VolumeId {
			n++
		}
	}
	c.check(n > 1, "%s is attached to %d nodes", req.VolumeId, n)
	return answer, err
}

func (c watchedController) ControllerUnpublishVolume(ctx context.Context, req *spec.ControllerUnpublishVolumeRequest) (*spec.ControllerUnpublishVolumeResponse,
	error) {
	c.check(at(c.holds().Staged, req.VolumeId, req.NodeId), "%s is detached from %s while it is staged there", req.VolumeId, req.NodeId)
	return c.ControllerServer.ControllerUnpublishVolume(ctx, req)
}

type watchedNode struct {
	spec.NodeServer
	*watched
	name string
}

// refuses reports whether a call is to end with a final error. Where an earlier call has done its work, whatever its caller heard, the driver
// does not say that: to the caller it means that nothing is there.
func (n watchedNode) refuses(method string, done bool) bool {
	if n.refusals[method] == 0 || done {
		return false
	}
	n.refusals[method]--
	return true
}

func (n watchedNode) NodeStageVolume(ctx context.Context, req *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	if n.refuses("NodeStageVolume", at(n.holds().Staged, req.VolumeId, n.name)) {
		return nil, status.Error(codes.Internal, "not now")
	}
	n.check(!at(n.holds().Attached, req.VolumeId, n.name), "%s is to be staged on %s, and is not attached", req.VolumeId, n.name)
	return n.NodeServer.NodeStageVolume(ctx, req)
}

func (n watchedNode) NodePublishVolume(ctx context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	if n.refuses("NodePublishVolume", at(n.holds().Published, req.VolumeId, n.name)) {
		return nil, status.Error(codes.Internal, "not now")
	}
	n.check(!at(n.holds().Staged, req.VolumeId, n.name), "%s is to be published on %s, and is not staged", req.VolumeId, n.name)
	return n.NodeServer.NodePublishVolume(ctx, req)
}

func (n watchedNode) NodeUnstageVolume(ctx context.Context, req *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	n.check(at(n.holds().Published, req.VolumeId, n.name), "%s is to be unstaged on %s while it is published", req.VolumeId, n.name)
	return n.NodeServer.NodeUnstageVolume(ctx, req)
}

// requireNothing checks that no volume, mount or attachment is left, and that no rule was broken.
func (w *watched) requireNothing(when string) {
	require.Empty(w.T, w.broken, when)
	held := w.holds()
	require.Empty(w.T, held.Volumes, when)
	require.Empty(w.T, held.Attached, when)
	require.Empty(w.T, held.Staged, when)
	require.Empty(w.T, held.Published, when)
	require.NoError(w.T, w.Cluster.Cluster.RequireNoLeaks(), when)
}

func csiClaim(name string) string {
	return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ` + name +
		`}, spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}}`
}

// claimPodOn returns a pod that uses a claim of its name, on one node.
func claimPodOn(name, node string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {nodeSelector: {kubernetes.io/hostname: ` + node +
		`}, terminationGracePeriodSeconds: 1,
	  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}],
	  volumes: [{name: v, persistentVolumeClaim: {claimName: ` + name + `}}]}}`
}

func twoNodes() storagesim.Config {
	return storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")}
}

// csiActors returns the actors that take part in the life of a CSI volume.
func (w *watched) csiActors() (list []string) {
	for _, actor := range w.Engine().Actors() {
		if strings.HasPrefix(actor, "csi-") || strings.HasPrefix(actor, "kubelet/") || actor == storagesim.AttachDetach {
			list = append(list, actor)
		}
	}
	return list
}

// moves is one run in which pods with volumes for one node move between two nodes, and
// everything that has to do with them fails.
type moves struct {
	*watched
	rng *rand.Rand
}

var csiMethods = []string{
	"CreateVolume", "DeleteVolume", "ControllerPublishVolume", "ControllerUnpublishVolume",
	"NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume",
}

// trouble makes calls of the driver fail, or an actor's process die now or at one of its calls.
func (m *moves) trouble() {
	fault := call.Fault{Method: csiMethods[m.rng.IntN(len(csiMethods))], Skip: m.rng.IntN(3), Times: 1 + m.rng.IntN(3), After: m.rng.IntN(2) == 0}
	actors := m.csiActors()
	actor := actors[m.rng.IntN(len(actors))]
	switch m.rng.IntN(7) {
	case 0:
		fault.Code = []codes.Code{codes.Internal, codes.Unavailable, codes.ResourceExhausted, codes.Aborted}[m.rng.IntN(4)]
		// Internal is final: it says that nothing was done. Kubelets believe it, and do not unstage.
		fault.After = fault.After && fault.Code != codes.Internal
		if fault.Code == codes.Internal && (fault.Method == "NodeStageVolume" || fault.Method == "NodePublishVolume") {
			m.refusals[fault.Method] = fault.Times // by the driver, which knows whether an earlier call has done it
			return
		}
	case 1:
		fault.Hang = true
	case 2:
		fault.Delay = time.Duration(1+m.rng.IntN(20)) * time.Second
	case 3:
		fault.Crash, fault.Restart = true, time.Duration(m.rng.IntN(20))*time.Second
	case 4: // the answer is lost
		fault.After = true
	case 5:
		m.Crash(actor)
		return
	case 6:
		m.Inject(engine.Fault{Actor: actor, Skip: m.rng.IntN(6), After: m.rng.IntN(2) == 0, Crash: true, Restart: time.Duration(m.rng.IntN(20)) * time.Second})
		return
	}
	m.Inject(fault)
}

// move deletes a pod, and makes it again on one of the nodes if it is gone by then.
func (m *moves) move(name string) {
	pods := m.Client().CoreV1().Pods("default")
	if _, err := pods.Get(context.Background(), name, metav1.GetOptions{}); err == nil {
		m.Delete("pod/" + name)
	}
	m.RunFor(time.Duration(m.rng.IntN(20)) * time.Second)
	if _, err := pods.Get(context.Background(), name, metav1.GetOptions{}); err != nil {
		m.Apply(claimPodOn(name, fmt.Sprintf("node-%d", 1+m.rng.IntN(2))))
	}
}

func (m *moves) steps(n int) {
	for range n {
		m.Step()
	}
}

func (m *moves) play() {
	names := []string{"a", "b"}
	m.RunFor(5 * time.Second) // the driver registers
	for _, name := range names {
		m.Apply(csiClaim(name), claimPodOn(name, "node-1"))
	}
	for range 2 + m.rng.IntN(5) {
		m.trouble()
		m.steps(m.rng.IntN(60))
		if m.rng.IntN(2) == 0 {
			m.RunFor(time.Duration(m.rng.IntN(30000)) * time.Millisecond)
		}
		m.move(names[m.rng.IntN(2)])
	}
	m.Lab().ClearFaults()
	clear(m.refusals)
	m.requireSoon("pods run", m.allRun)
	m.move(names[m.rng.IntN(2)])
	m.requireSoon("pods run", m.allRun)
	for _, p := range m.pods() {
		m.Delete("pod/" + p.Name)
	}
	m.requireSoon("pods are gone", func() bool { return len(m.pods()) == 0 })
	for _, name := range names {
		m.Delete("pvc/" + name)
	}
	m.requireSoon("volumes are gone", func() bool { return len(m.holds().Volumes) == 0 })
	m.RunFor(time.Minute)
	m.requireNothing("in the end")
}

func (m *moves) pods() []v1.Pod {
	list, err := m.Client().CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(m.T, err)
	return list.Items
}

func (m *moves) allRun() bool {
	return !slices.ContainsFunc(m.pods(), func(p v1.Pod) bool { return p.Status.Phase != v1.PodRunning || p.DeletionTimestamp != nil })
}

// requireSoon lets time pass until something holds, but no longer than the longest backoffs.
func (m *moves) requireSoon(what string, holds func() bool) {
	for end := m.Now().Add(25 * time.Minute); !holds(); m.RunFor(5 * time.Second) {
		require.True(m.T, m.Now().Before(end), "%s when all trouble is over", what)
	}
}

// semantics 6 must 1 and 8, 7 must 4, 5 must 1 and 5. CI tries more seeds.
func TestAVolumeMovesBetweenNodesInOrderWhateverFails(t *testing.T) {
	t.Parallel()
	explore.Test(t, randomly(20, twoNodes()), func(c *explore.Cluster) {
		m := &moves{watched: watch(c), rng: rand.New(rand.NewPCG(c.Lab().Seed(), 13))}
		m.play()
	})
}

// With every bug of Kubernetes mended nothing is attributed to it, and nothing fails.
func TestNoFailureIsAttributedToKubernetesWhereItsFaultsAreMended(t *testing.T) {
	t.Parallel()
	cfg := randomly(12, mended())
	report, err := explore.Run(t.Context(), cfg, explore.Scenario(func(c *explore.Cluster) {
		m := &moves{watched: watch(c), rng: rand.New(rand.NewPCG(c.Lab().Seed(), 13))}
		m.play()
	}))
	require.NoError(t, err)
	require.Equal(t, 12, report.Runs)
	require.Empty(t, report.Upstream)
}

// withMemory follows the name of an actor of the driver that keeps its memory in a crash.
const withMemory = " with its memory"

// csiLifeSteps plays the life of a volume. After so many steps an actor's process dies, never
// if that is negative. It says how many steps there were.
func csiLifeSteps(t testing.TB, actor string, crash int) (steps int) {
	process, keeps := strings.CutSuffix(actor, withMemory)
	w := watchWith(storagesimtest.New(t, mended()), keeps)
	w.RunFor(5 * time.Second)
	until := func(done func() bool) {
		for end := w.Now().Add(10 * time.Minute); !done(); steps++ {
			require.True(t, w.Now().Before(end), "%s crashed at step %d", actor, crash)
			if steps == crash {
				w.Crash(process)
			}
			if !w.Step() {
				w.RunFor(time.Second)
			}
		}
	}
	pods := w.Client().CoreV1().Pods("default")
	w.Apply(csiClaim("data"), claimPodOn("data", "node-1"))
	until(func() bool {
		p, err := pods.Get(context.Background(), "data", metav1.GetOptions{})
		return err == nil && p.Status.Phase == v1.PodRunning
	})
	w.Delete("pod/data", "pvc/data")
	until(func() bool { return len(w.holds().Volumes) == 0 })
	w.RunFor(2 * time.Minute)
	w.requireNothing(fmt.Sprintf("%s crashed at step %d", actor, crash))
	return steps
}

// mended returns the configuration without the bugs of Kubernetes itself, by which a kubelet that crashes may lose
// a volume (kubernetes/kubernetes 121937).
func mended() storagesim.Config {
	cfg := twoNodes()
	for _, bug := range explore.UpstreamBugs() {
		bug.Mend(&cfg)
	}
	return cfg
}

// Each actor crashes at each step of a volume's life: a seed is one of the pairs. The driver's
// processes do so twice, with their memory and without. CI tries more of them.
func TestACrashOfAnyActorAtAnyStepOfACSIVolumesLifeLosesNothing(t *testing.T) {
	steps := csiLifeSteps(t, "", -1)
	actors := watch(storagesimtest.New(t, twoNodes())).csiActors()
	for _, actor := range actors {
		if strings.HasPrefix(actor, "csi-driver/") {
			actors = append(actors, actor+withMemory)
		}
	}
	pairs := uint64(steps * len(actors))
	seedtest.Each(t, 60, func(t testing.TB, seed uint64) {
		pair := seed * 7919 % pairs // a prime: no pair comes twice before all have come
		csiLifeSteps(t, actors[pair%uint64(len(actors))], int(pair/uint64(len(actors))))
	})
	t.Logf("%d actors, %d steps: %d pairs", len(actors), steps, pairs)
}

// randomly returns a configuration for scenarios that cause faults of their own, by the seed: no two runs do the same, and the
// scenario itself checks what is left.
func randomly(runs int, cluster storagesim.Config) explore.Config {
	return explore.Config{Runs: runs, Cluster: cluster, Strategies: []string{explore.Random},
		Except: []string{explore.Liveness, explore.NothingLeaks, explore.PlainRun}}
}
