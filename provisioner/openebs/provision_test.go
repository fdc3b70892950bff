package openebs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/trace"
)

// nodes plays the scheduler and the kubelets: it runs helper pods on the node
// that their affinity names, and keeps the directories they make.
type nodes struct {
	dirs map[string]bool // "node:/path"
	// fails has pods fail, hangs leaves them pending.
	fails, hangs bool
}

func (n *nodes) New(env control.Env) error {
	pods := control.NewCache[*v1.Pod](env, control.Pods())
	queue := env.Queue(control.QueueConfig{Name: "pods", Reconcile: func(ctx context.Context, key string) error {
		pod, ok := pods.Get(key)
		if !ok || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed || n.hangs {
			return nil
		}
		pod = pod.DeepCopy()
		pod.Status.Phase = v1.PodSucceeded
		if n.fails {
			pod.Status.Phase, pod.Status.Message = v1.PodFailed, "disk full"
		} else {
			n.run(pod)
		}
		_, err := env.Client().CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	}})
	pods.Handle(control.Enqueue[*v1.Pod](queue.Add))
	return nil
}

func (n *nodes) run(pod *v1.Pod) {
	node := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
	command := pod.Spec.Containers[0].Command
	dir := node + ":" + strings.Replace(command[len(command)-1], "/data", pod.Spec.Volumes[0].HostPath.Path, 1)
	if command[0] == "mkdir" {
		n.dirs[dir] = true
	} else {
		delete(n.dirs, dir)
	}
}

// world is the provisioner on the real API server and engine, with everything
// else played by the test.
type world struct {
	*engine.Engine
	t     testing.TB
	user  kubernetes.Interface
	nodes *nodes
	class *storagev1.StorageClass
}

func newWorld(t testing.TB, policy engine.Policy) *world {
	t.Helper()
	e := engine.New(engine.Config{Policy: policy})
	t.Cleanup(e.Close)
	w := &world{Engine: e, t: t, user: fake.New(e.Server(), "user"), nodes: &nodes{dirs: map[string]bool{}}}
	require.NoError(t, e.Add("nodes", w.nodes.New))
	require.NoError(t, e.Add(openebs.ProvisionerName, provisioner.New(provisioner.Config{Name: openebs.ProvisionerName, New: openebs.New(openebs.Config{})})))

	ctx, wait := context.Background(), storagev1.VolumeBindingWaitForFirstConsumer
	_, err := w.user.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: openebs.DefaultNamespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, name := range []string{"node1", "node2"} {
		_, err := w.user.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}},
			metav1.CreateOptions{})
		require.NoError(t, err)
	}
	w.class, err = w.user.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "openebs-hostpath",
			Annotations: map[string]string{openebs.AnnCASConfig: "- {name: BasePath, value: /var/openebs/local/}"}},
		Provisioner: openebs.ProvisionerName, VolumeBindingMode: &wait,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return w
}

// claim makes a claim as it is when the PV controller has asked for a volume.
func (w *world) claim(node string, change ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	w.t.Helper()
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default", Annotations: map[string]string{
			binding.AnnStorageProvisioner: openebs.ProvisionerName, binding.AnnSelectedNode: node,
		}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &w.class.Name, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}},
		},
	}
	for _, f := range change {
		f(claim)
	}
	claim, err := w.user.CoreV1().PersistentVolumeClaims("default").Create(context.Background(), claim, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return claim
}

// release makes the volume Released, as the PV controller does when its claim is
// gone.
func (w *world) release(name string) {
	w.t.Helper()
	ctx := context.Background()
	require.NoError(w.t, w.user.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "data", metav1.DeleteOptions{}))
	claim, err := w.user.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
	if err == nil { // protection, which no controller removes here
		claim.Finalizers = nil
		_, err = w.user.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{})
		require.NoError(w.t, err)
	}
	volume, err := w.user.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	volume.Finalizers = nil
	volume, err = w.user.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	volume.Status.Phase = v1.VolumeReleased
	_, err = w.user.CoreV1().PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) volumes() []v1.PersistentVolume {
	w.t.Helper()
	list, err := w.user.CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}

func (w *world) helperPods() []string {
	w.t.Helper()
	list, err := w.user.CoreV1().Pods(openebs.DefaultNamespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names
}

// events returns what kubectl describe shows of all objects, without repeats.
func (w *world) events() []string {
	w.t.Helper()
	list, err := w.user.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var lines []string
	for _, event := range list.Items {
		lines = append(lines, event.Reason+": "+event.Message)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (w *world) requireEvent(text string) {
	w.t.Helper()
	require.True(w.t, slices.ContainsFunc(w.events(), func(e string) bool { return strings.Contains(e, text) }), "no event says %q: %q", text, w.events())
}

func TestAVolumeIsMadeOnTheSelectedNodeAndRemovedFromIt(t *testing.T) {
	w := newWorld(t, nil)
	claim := w.claim("node2")
	require.NoError(t, w.Settle())

	name := "pvc-" + string(claim.UID)
	require.Len(t, w.volumes(), 1)
	volume := w.volumes()[0]
	assert.Equal(t, name, volume.Name)
	assert.Equal(t, "/var/openebs/local/"+name, volume.Spec.Local.Path)
	assert.Equal(t, []string{"node2"}, volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values)
	assert.Equal(t, openebs.ProvisionerName, volume.Annotations[binding.AnnDynamicallyProvisioned])
	assert.Equal(t, claim.UID, volume.Spec.ClaimRef.UID)
	assert.Equal(t, map[string]bool{"node2:/var/openebs/local/" + name: true}, w.nodes.dirs)
	assert.Empty(t, w.helperPods())
	w.requireEvent("ProvisioningSucceeded: Successfully provisioned volume " + name)

	w.release(name)
	require.NoError(t, w.Settle())
	assert.Empty(t, w.volumes())
	assert.Empty(t, w.nodes.dirs)
	assert.Empty(t, w.helperPods())
}

func TestAClaimThatHostpathCannotServeIsRefusedWithTheReason(t *testing.T) {
	block := v1.PersistentVolumeBlock
	tests := map[string]struct {
		change func(*v1.PersistentVolumeClaim)
		class  string
		want   string
	}{
		"selector": {func(c *v1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }, "", "claim.Spec.Selector is not supported"},
		"access mode": {func(c *v1.PersistentVolumeClaim) {
			c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
		}, "", "Only support ReadWriteOnce access mode"},
		"data source": {func(c *v1.PersistentVolumeClaim) {
			c.Spec.DataSource = &v1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "old"}
		}, "", "clone feature not supported by this provisioner"},
		"block":          {func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block }, "", "PV with BlockMode is not supported with StorageType hostpath"},
		"device":         {nil, "- {name: StorageType, value: device}", "PV with StorageType device is not supported"},
		"base path root": {nil, "- {name: BasePath, value: /}", "host path validation failed: [path should not be a root directory: //pvc-"},
		"base path up":   {nil, "- {name: BasePath, value: /var/../..}", "host path validation failed: [path should not be a root directory: /var/../../pvc-"},
		"relative path":  {nil, "- {name: BasePath, value: var/x}", "host path validation failed: [invalid path var/x/pvc-"},
		"no base path":   {nil, "- {name: BasePath, value: ' '}", "failed to get path: base path is empty"},
		"no label value": {nil, "- {name: NodeAffinityLabels, list: [rack]}", "[failed to build Pod object: missing node label values]"},
		"unknown setting": {nil, "- {name: Basepath, value: /mnt}",
			`failed to get config: invalid sc config {- {name: Basepath, value: /mnt}}: entry 0 has the unknown name "Basepath"`},
		"bad limit":    {nil, "- {name: XFSQuota, enabled: true, data: {softLimitGrace: '80'}}", "invalid format for limit grace"},
		"a huge limit": {nil, "- {name: XFSQuota, enabled: true, data: {softLimitGrace: 1e2147483648%}}", "invalid format for limit grace"},
		"hard below soft": {nil, "- {name: EXT4Quota, enabled: true, data: {softLimitGrace: 80%, hardLimitGrace: 20%}}",
			"hard limit cannot be smaller than soft limit"},
		"two quotas": {nil, "- {name: EXT4Quota, enabled: true}\n- {name: XFSQuota, enabled: true}", "XFSQuota and EXT4Quota are both enabled"},
		"bad mode": {nil, "- {name: FilePermissions, enabled: true, data: {mode: rwx}}",
			`FilePermissions has the mode "rwx"; it must be octal, like 0770, or symbolic, like g+s`},
		"bad UID": {nil, "- {name: FilePermissions, enabled: true, data: {UID: root}}", `FilePermissions has the UID "root"; it must be a number`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			if tt.class != "" {
				w.class.Annotations[openebs.AnnCASConfig] = tt.class
				_, err := w.user.StorageV1().StorageClasses().Update(context.Background(), w.class, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			if tt.change != nil {
				w.claim("node2", tt.change)
			} else {
				w.claim("node2")
			}
			require.NoError(t, w.Settle())
			w.requireEvent("ProvisioningFailed: " + tt.want)
			assert.Empty(t, w.volumes())
			assert.Empty(t, w.helperPods())
			assert.Empty(t, w.nodes.dirs)
		})
	}
}

// semantics 4 must 7, for each mode and for a claim that asks for a good one too.
func TestEveryModeButReadWriteOnceIsRefused(t *testing.T) {
	for _, modes := range [][]v1.PersistentVolumeAccessMode{
		{v1.ReadWriteMany}, {v1.ReadOnlyMany}, {v1.ReadWriteOncePod}, {v1.ReadWriteOnce, v1.ReadWriteMany},
	} {
		w := newWorld(t, nil)
		w.claim("node2", func(c *v1.PersistentVolumeClaim) { c.Spec.AccessModes = modes })
		require.NoError(t, w.Settle())
		w.requireEvent("ProvisioningFailed: Only support ReadWriteOnce access mode")
		assert.Empty(t, w.volumes())
		assert.Empty(t, w.nodes.dirs)
	}
}

// As upstream, which does not look there.
func TestAParameterOfTheClassHasNoEffectAndTheTraceSaysSo(t *testing.T) {
	w := newWorld(t, nil)
	require.NoError(t, w.user.StorageV1().StorageClasses().Delete(context.Background(), w.class.Name, metav1.DeleteOptions{}))
	w.class.ResourceVersion, w.class.Parameters = "", map[string]string{"BasePath": "/mnt"}
	_, err := w.user.StorageV1().StorageClasses().Create(context.Background(), w.class, metav1.CreateOptions{})
	require.NoError(t, err)
	w.claim("node2")
	require.NoError(t, w.Settle())
	assert.Contains(t, w.Trace().String(), `pvc default/data: storage class openebs-hostpath has the parameter BasePath: "/mnt", which is ignored; `+
		`the settings of openebs.io/local are in the annotation cas.openebs.io/config`)
	require.Len(t, w.volumes(), 1)
	assert.Contains(t, w.volumes()[0].Spec.Local.Path, "/var/openebs/local/pvc-")
}

func TestANodeThatIsGoneGivesTheClaimBackToTheScheduler(t *testing.T) {
	w := newWorld(t, nil)
	w.claim("node9")
	require.NoError(t, w.Settle())
	w.requireEvent(`ProvisioningFailed: nodes "node9" not found`)
	claim, err := w.user.CoreV1().PersistentVolumeClaims("default").Get(context.Background(), "data", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotContains(t, claim.Annotations, binding.AnnSelectedNode)
}

func TestANodeWithoutAHostNameIsAnError(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.user.CoreV1().Nodes().Create(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node3"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.claim("node3")
	require.NoError(t, w.Settle())
	w.requireEvent("ProvisioningFailed: configuration error, node{node3} hostname is empty")
	assert.Empty(t, w.volumes())
	assert.Empty(t, w.helperPods())
}

func TestANodeThatCannotBeReadIsTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	require.NoError(t, w.Inject(engine.Fault{Actor: openebs.ProvisionerName, Verb: "get", Resource: "nodes", Err: fmt.Errorf("etcd is down")}))
	w.claim("node2")
	require.NoError(t, w.Settle())
	w.requireEvent("ProvisioningFailed: failed to get target node: etcd is down")
	assert.Len(t, w.volumes(), 1)
}

// semantics 4.1: the order in which a claim is looked at. Each step mends what
// was told first.
func TestTheFirstThingWrongWithAClaimIsTold(t *testing.T) {
	group := "snapshot.storage.k8s.io"
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
		DataSource: &v1.TypedLocalObjectReference{Kind: "VolumeSnapshot"}, Selector: &metav1.LabelSelector{},
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
	}}
	source := claim.Spec.DataSource
	for _, step := range []struct {
		want string
		mend func()
	}{
		{"dataSource name not found for PVC `data`", func() { source.Name = "monday" }},
		{"snapshot feature not supported by this provisioner", func() { source.APIGroup = &group }},
		{"datasource `VolumeSnapshot` of group `snapshot.storage.k8s.io` is not handled by the provisioner", func() { source.Kind = "Other" }},
		{"datasource `Other` of group `snapshot.storage.k8s.io` is not handled by the provisioner", func() { source.Kind = "PersistentVolumeClaim" }},
		{"clone feature not supported by this provisioner", func() { claim.Spec.DataSource = nil }},
		{"claim.Spec.Selector is not supported", func() { claim.Spec.Selector = nil }},
		{"Only support ReadWriteOnce access mode", func() { claim.Spec.AccessModes = nil }},
		{"configuration error, no node was specified", func() {}},
	} {
		_, _, err := (&openebs.Provisioner{}).Provision(t.Context(), provisioner.ProvisionOptions{
			PVC: claim, StorageClass: &storagev1.StorageClass{Parameters: map[string]string{"a": "b"}}, PVName: "pvc-1",
		})
		require.EqualError(t, err, step.want)
		step.mend()
	}
}

func TestAFailedHelperPodIsReportedAtOnceAndDeleted(t *testing.T) {
	w := newWorld(t, nil)
	w.nodes.fails = true
	claim := w.claim("node2")
	require.NoError(t, w.RunFor(2*time.Second))
	w.requireEvent(fmt.Sprintf("helper pod openebs/init-pvc-%s has failed: disk full", claim.UID))
	assert.Empty(t, w.helperPods())

	w.nodes.fails = false
	require.NoError(t, w.Settle())
	assert.Len(t, w.volumes(), 1)
}

func TestAHelperPodThatNeverEndsIsGivenUpAfterTwoMinutesAndDeleted(t *testing.T) {
	w := newWorld(t, nil)
	w.nodes.hangs = true
	w.claim("node2")
	require.NoError(t, w.RunFor(119*time.Second))
	assert.Len(t, w.helperPods(), 1)
	require.NoError(t, w.RunFor(2*time.Second))
	w.requireEvent("ProvisioningFailed: create process timeout after 120 seconds")
	assert.Empty(t, w.helperPods())
}

func TestAHelperPodThatCannotBeDeletedIsNotForgotten(t *testing.T) {
	w := newWorld(t, nil)
	require.NoError(t, w.Inject(engine.Fault{Actor: openebs.ProvisionerName, Verb: "delete", Resource: "pods", Err: fmt.Errorf("etcd is down")}))
	w.claim("node2")
	require.NoError(t, w.Settle())
	w.requireEvent("etcd is down")
	assert.Len(t, w.volumes(), 1)
	assert.Empty(t, w.helperPods())
}

func TestAVolumeWhoseNodeCannotBeToldIsNotDeletedAnywhere(t *testing.T) {
	for name, prepare := range map[string]func(w *world){
		"Unable to get the Node with the Node Labels {map[kubernetes.io/hostname:node2]}": func(w *world) {
			require.NoError(w.t, w.user.CoreV1().Nodes().Delete(context.Background(), "node2", metav1.DeleteOptions{}))
		},
		"Unable to determine the Node. Found multiple nodes matching the labels {map[kubernetes.io/hostname:node2]}": func(w *world) {
			_, err := w.user.CoreV1().Nodes().Create(context.Background(),
				&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "twin", Labels: map[string]string{v1.LabelHostname: "node2"}}}, metav1.CreateOptions{})
			require.NoError(w.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			claim := w.claim("node2")
			require.NoError(t, w.Settle())
			prepare(w)
			volume := "pvc-" + string(claim.UID)
			w.release(volume)
			require.NoError(t, w.Settle())
			w.requireEvent(fmt.Sprintf("VolumeFailedDelete: failed to delete volume %s: failed to delete volume %s: %s", volume, volume, name))
			assert.Len(t, w.volumes(), 1)
			assert.Len(t, w.nodes.dirs, 1)
		})
	}
}

// A volume that claims to be ours must not have rm -rf run elsewhere on the node.
func TestAVolumeThatNobodyHereMadeIsNotRemoved(t *testing.T) {
	for want, change := range map[string]func(*v1.PersistentVolume){
		"host path validation failed: [volume directory {/etc} should not be under root directory]": func(pv *v1.PersistentVolume) { pv.Spec.Local.Path = "/etc" },
		"host path validation failed: [invalid path /var/../etc/x]": func(
			pv *v1.PersistentVolume) {
			pv.Spec.Local.Path = "/var/../etc/x"
		},
		"no HostPath set":                    func(pv *v1.PersistentVolume) { pv.Spec.Local = nil },
		"cannot find affinited node details": func(pv *v1.PersistentVolume) { pv.Spec.NodeAffinity = nil },
		"volume pv: node affinity must be one term of label expressions": func(pv *v1.PersistentVolume) {
			pv.Spec.NodeAffinity.Required.NodeSelectorTerms = append(pv.Spec.NodeAffinity.Required.NodeSelectorTerms, v1.NodeSelectorTerm{})
		},
	} {
		w := newWorld(t, nil)
		claim := w.claim("node2")
		require.NoError(t, w.Settle())
		volume, err := w.user.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-"+string(claim.UID), metav1.GetOptions{})
		require.NoError(t, err)
		volume.Name = "pv"
		change(volume)
		env := &envOf{client: w.user}
		p, err := openebs.New(openebs.Config{})(env)
		require.NoError(t, err)
		require.EqualError(t, p.Delete(t.Context(), volume), "failed to delete volume pv: failed to delete volume pv: "+want)
		assert.Empty(t, w.helperPods())
		assert.Len(t, w.nodes.dirs, 1)
	}
}

// envOf is an Env of which nothing is used but the client.
type envOf struct {
	control.Env
	client kubernetes.Interface
}

func (e *envOf) Client() kubernetes.Interface { return e.client }
func (e *envOf) Trace(trace.Record)           {}

func TestARetainedVolumeIsNotDeletedEvenIfAsked(t *testing.T) {
	volume := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain}}
	assert.NoError(t, (&openebs.Provisioner{}).Delete(context.Background(), volume))
}

// semantics 3 must 2 and semantics 4.1: whatever call the provisioner crashes
// at, before or after it took effect, there is one volume, one directory and no
// helper pod; and after deletion nothing at all.
func TestACrashAtAnyCallLeavesNothingBehind(t *testing.T) {
	for _, after := range []bool{false, true} {
		for call := range 12 {
			t.Run(fmt.Sprintf("after=%v/call %d", after, call), func(t *testing.T) {
				w := newWorld(t, nil)
				require.NoError(t, w.Inject(engine.Fault{Actor: openebs.ProvisionerName, Skip: call, After: after, Crash: true}))
				w.requireLife()
			})
		}
	}
}

func TestUnderAnyInterleavingNothingIsLeftBehind(t *testing.T) {
	seedtest.Each(t, 100, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Seeded(seed))
		require.NoError(t, w.Inject(engine.Fault{Actor: openebs.ProvisionerName, Skip: int(seed % 9), After: seed%2 == 0, Crash: true,
			Restart: time.Duration(seed%7) * time.Second}))
		w.requireLife()
	})
}

// requireLife makes a volume and deletes it.
func (w *world) requireLife() {
	w.t.Helper()
	claim := w.claim("node2")
	require.NoError(w.t, w.Settle())
	require.Len(w.t, w.volumes(), 1)
	name := "pvc-" + string(claim.UID)
	require.Equal(w.t, map[string]bool{"node2:/var/openebs/local/" + name: true}, w.nodes.dirs)
	require.Empty(w.t, w.helperPods())

	w.release(name)
	require.NoError(w.t, w.Settle())
	require.Empty(w.t, w.volumes())
	require.Empty(w.t, w.nodes.dirs)
	require.Empty(w.t, w.helperPods())
}

// semantics 4 must 2: no node is Reschedule, whatever the library makes of it.
func TestWithoutANodeTheStateIsReschedule(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	_, state, err := (&openebs.Provisioner{}).Provision(context.Background(), provisioner.ProvisionOptions{
		StorageClass: class, PVC: &v1.PersistentVolumeClaim{}, PVName: "pvc-1",
	})
	require.ErrorContains(t, err, "configuration error, no node was specified")
	assert.Equal(t, provisioner.ProvisioningReschedule, state)
}
