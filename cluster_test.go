package storagesim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestTheZeroConfigIsOneReadyNode(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Settle()
	require.Regexp(t, `node-1 +Ready`, c.Get("nodes"))
	require.Equal(t, []string{
		"persistent-volume-binder", "pvc-protection-controller", "pv-protection-controller",
		"ephemeral-volume-controller", "expand-controller", "statefulset-controller", "generic-garbage-collector", "attachdetach-controller",
		"kube-scheduler", "node-controller", "taint-eviction-controller", "pod-garbage-collector", "kubelet/node-1", "namespace-controller",
		"volumeattributesclass-protection-controller",
		"resourcequota-controller", "disruption-controller", "deployment-controller", "replicaset-controller",
		"daemonset-controller", "job-controller", "ttl-after-finished-controller", "cronjob-controller", "replication-controller",
	}, c.Engine().Actors())
}

func TestASenselessConfigIsRefusedInWords(t *testing.T) {
	for says, cfg := range map[string]storagesim.Config{
		`Config.Nodes[1].Name: there are two nodes called "a"`: {Nodes: storagesim.Nodes("a", "a")},
		`Config.Nodes[0].Name: "A_b" is not a node name`:       {Nodes: storagesim.Nodes("A_b")},
		`Config.Nodes[0].Name: "../x" is not a node name`:      {Nodes: storagesim.Nodes("../x")},
		`Config.Only[0]: no actor is called "kubelt"`:          {Only: []string{"kubelt"}},
		`Config.Patience: -1s is negative`:                     {Patience: -time.Second},
		`Config.ResyncPhase: -1ns is negative`:                 {ResyncPhase: -1},
		`Config.StepLimit: -1 is negative`:                     {StepLimit: -1},
		`Config.TraceLimit: -1 is negative`:                    {TraceLimit: -1},
		`Config.Disks: there is no kind 7`:                     {Disks: 7},
		`Config.Dir: "/x": with MemoryDisks nothing`:           {Disks: storagesim.MemoryDisks, Dir: "/x"},
		`Config.RealMounts: the kernel cannot mount`:           {Disks: storagesim.MemoryDisks, RealMounts: true},
		`no such file or directory`:                            {Dir: "/dev/null/x"},
	} {
		_, err := storagesim.New(cfg)
		require.Error(t, err, says)
		if says != "no such file or directory" {
			require.ErrorContains(t, err, says)
		}
	}
}

func TestOfSeveralMistakesInAConfigTheSameIsReportedEachTime(t *testing.T) {
	for range 20 {
		_, err := storagesim.New(storagesim.Config{ResyncPhase: -1, Patience: -1})
		require.ErrorContains(t, err, "Config.ResyncPhase")
		_, err = storagesim.New(storagesim.Config{StepLimit: -1, TraceLimit: -1})
		require.ErrorContains(t, err, "Config.StepLimit")
	}
}

func TestCloseRemovesTheTemporaryDirectoryAndKeepsYours(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{})
	require.NoError(t, err)
	require.DirExists(t, c.Lab().Dir())
	require.NoError(t, c.Close())
	require.NoDirExists(t, c.Lab().Dir())

	mine := t.TempDir()
	c, err = storagesim.New(storagesim.Config{Dir: mine})
	require.NoError(t, err)
	require.NoError(t, c.Settle())
	require.NoError(t, c.Close())
	require.DirExists(t, filepath.Join(mine, "node-1"))
}

const claimYAML = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  labels: {a: "1", b: "2"}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

func TestNothingOfABadManifestIsApplied(t *testing.T) {
	for says, bad := range map[string]string{
		`manifest 2:3: `: "apiVersion: v1\nkind: Pod\nmetadat: {name: x}\n",
		`Clam`:           "apiVersion: v1\nkind: PersistentVolumeClam\nmetadata: {name: x}\n",
		`5GG`:            strings.Replace(strings.Replace(claimYAML, "1Gi", "5GG", 1), "name: data", "name: other", 1),
		`not valid YAML`: "a: b: c",
	} {
		c := storagesimtest.New(t, storagesim.Config{})
		err := c.Cluster.Apply(claimYAML, bad)
		require.ErrorContains(t, err, says)
		_, err = c.Cluster.Claim("data")
		require.True(t, apierrors.IsNotFound(err), says)
	}
}

func TestARefusedObjectIsNamedAndTheOthersAreApplied(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	err := c.Cluster.Apply("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: empty}\nspec:\n  capacity: {storage: 1Gi}\n" +
		"  accessModes: [ReadWriteOnce]\n---" + claimYAML)
	require.EqualError(t, err, "manifest:4: PersistentVolume/empty: PersistentVolume \"empty\" is invalid: spec: Required value: must specify a volume type")
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	require.EqualValues(t, 422, status.Status().Code)
	require.Equal(t, v1.ClaimPending, c.Claim("data").Status.Phase)
}

func TestApplyIsAThreeWayMerge(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(claimYAML)
	claim := c.Claim("data")
	claim.Labels["theirs"] = "stays"
	_, err := c.Client().CoreV1().PersistentVolumeClaims("default").Update(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Apply(strings.Replace(claimYAML, `{a: "1", b: "2"}`, `{a: "changed"}`, 1))
	require.Equal(t, map[string]string{"a": "changed", "theirs": "stays"}, c.Claim("data").Labels)
	version := c.Claim("data").ResourceVersion
	c.Apply(strings.Replace(claimYAML, `{a: "1", b: "2"}`, `{a: "changed"}`, 1))
	require.Equal(t, version, c.Claim("data").ResourceVersion, "nothing to change")

	err = c.Cluster.Apply(strings.Replace(claimYAML, "ReadWriteOnce", "ReadOnlyMany", 1))
	require.True(t, apierrors.IsInvalid(errors.Unwrap(unjoin(err))), "%v", err)
}

func TestApplyFindsInAnAnnotationWhatKubectlHasApplied(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	var warnings []string
	c.Lab().OnWarning(func(text string) { warnings = append(warnings, text) })
	c.Apply(claimYAML)
	c.Lab().AnnotateApplied()
	c.Apply(strings.Replace(claimYAML, `{a: "1", b: "2"}`, `{a: "1"}`, 1))
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, c.Claim("data").Labels, "the object did not say that b was applied")
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "resource persistentvolumeclaims/data is missing the kubectl.kubernetes.io/last-applied-configuration annotation")

	c.Apply(claimYAML)
	applied := c.Claim("data").Annotations[v1.LastAppliedConfigAnnotation]
	require.Contains(t, applied, `"labels":{"a":"1","b":"2"}`)
	c.Apply(strings.Replace(claimYAML, `{a: "1", b: "2"}`, `{a: "1"}`, 1))
	require.Equal(t, map[string]string{"a": "1"}, c.Claim("data").Labels)
	require.Len(t, warnings, 1)
	before := c.Engine().Trace().Len()
	c.Apply(strings.Replace(claimYAML, `{a: "1", b: "2"}`, `{a: "1"}`, 1))
	require.Equal(t, before, c.Engine().Trace().Len(), "nothing to change")
}

// What `kubectl get -o yaml` has written has the version and UID of another object, and kubectl creates it all the same.
func TestAnObjectThatWasWrittenOutIsCreated(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	exported := strings.Replace(claimYAML, "metadata:", "metadata:\n  resourceVersion: \"71\"\n  uid: 11111111-2222-3333-4444-555555555555", 1)
	require.NotEqual(t, claimYAML, exported)
	c.Apply(exported)
	require.NotEqual(t, "71", c.Claim("data").ResourceVersion)
}

// As kubectl, which sends no patch then.
func TestApplyOfWhatIsThereSendsNothing(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	for _, text := range []string{
		claimYAML,
		"{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: nginx}]}}}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: other}}",
	} {
		c.Apply(text)
		before := c.Engine().Trace().Len()
		c.Apply(text)
		require.Equal(t, before, c.Engine().Trace().Len(), text)
	}
}

func unjoin(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

func TestReferencesThatMakeNoSenseAreRefusedInWords(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	for ref, says := range map[string]string{
		"data":           `"data" does not name an object; expected kind/name or kind/namespace/name`,
		"pvc/":           `"pvc/" does not name a PersistentVolumeClaim; expected pvc/name or pvc/namespace/name`,
		"pv/default/x":   "which has no namespace; expected pv/x",
		"claim/data":     `doesn't have a resource type "claim"`,
		"pvc/a/b/c":      "does not name a PersistentVolumeClaim",
		"pvc/missing":    `persistentvolumeclaims "missing" not found`,
		"pod/other/nope": `pods "nope" not found`,
	} {
		require.ErrorContains(t, c.Cluster.Delete(ref), says)
	}
	_, err := c.Cluster.Explain("cm/x")
	require.ErrorContains(t, err, "explain cm/x: objects of this kind have no explanation; see what describe prints of it")
	_, err = c.Cluster.Explain("node/node-l")
	require.EqualError(t, err, `nodes "node-l" not found (did you mean "node-1"?)`)
	_, err = c.Cluster.Machine("nod/x").ReadFile("/")
	require.ErrorContains(t, err, "is not a place for files")
	_, err = c.Cluster.Machine("node/x").ReadFile("/")
	require.ErrorContains(t, err, `no node is called "x"; expected node-1`)
	require.ErrorContains(t, c.Cluster.Crash("x"), `no actor is called "x"`)
	require.ErrorContains(t, c.Cluster.RunFor(-1), "a negative time cannot pass: -1ns")
	require.EqualError(t, c.Cluster.Apply(""), "manifest: is empty; expected at least one object in YAML or JSON")
	require.EqualError(t, c.Cluster.Apply(), "no manifest is given; expected at least one object in YAML or JSON")
	require.EqualError(t, c.Cluster.AddProvisioner("example.com/disks", nil), `AddProvisioner "example.com/disks": the provisioner is nil`)
	require.ErrorContains(t, c.Cluster.AddProvisioner("", &asserting{}), "a provisioner needs a name, for example example.com/nfs")
}

func TestExplainSaysWhyAClaimIsPending(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(claimYAML, `
apiVersion: v1
kind: PersistentVolume
metadata: {name: tiny}
spec:
  storageClassName: manual
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
`, `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
`)
	c.Settle()
	why := c.Explain("pvc/data")
	require.Contains(t, why, "pvc default/data is Pending\n")
	require.Contains(t, why, `its class "manual" does not exist, so it can only be bound to a volume that names the same class`)
	require.Contains(t, why, "volume tiny is passed over: capacity 1Mi is less than the requested 1Gi")
	require.Contains(t, why, `persistentvolume-controller said Warning ProvisioningFailed: storageclass.storage.k8s.io "manual" not found`)
	require.Contains(t, why, "it is used by pod default/web, which is Pending: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims")
	require.Contains(t, c.Explain("pod/web"), "pvc default/data is Pending")
	require.Contains(t, c.Explain("pod/web"), "no node is looked at: pod has unbound immediate PersistentVolumeClaims")
	require.Contains(t, c.Explain("pv/tiny"), "pv tiny is Available")
}

func TestAWaitInVainNamesFiveObjectsAndCountsTheOthers(t *testing.T) {
	for n, more := range map[int]string{5: "", 6: "", 7: "and 2 more objects are not finished"} {
		c := storagesimtest.New(t, storagesim.Config{})
		for i := range n {
			c.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, finalizers: [example.com/x]}}", i))
			c.Delete(fmt.Sprintf("configmap/c%d", i))
		}
		lines := strings.Split(c.Cluster.RunUntil(func() bool { return false }).Error(), "\n")
		if more == "" {
			require.Len(t, lines, 1+n)
			require.Equal(t, fmt.Sprintf("configmap/default/c%d is not finished", n-1), lines[n])
		} else {
			require.Len(t, lines, 1+5+1)
			require.Equal(t, more, lines[6])
		}
	}
}

func TestLeaksAreFoundAndTheirMakersNamed(t *testing.T) {
	backend := &myProvisioner{}
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisioner("example.com/nfs", backend)
	c.Apply(manifests)
	c.Settle()
	c.RequireNoLeaks()
	pv := c.Claim("data").Spec.VolumeName

	backend.holds["extra"] = true
	err := c.Cluster.RequireNoLeaks()
	require.ErrorContains(t, err, "volume extra in the backend of example.com/nfs, for which there is no pv (made by example.com/nfs)")
	delete(backend.holds, "extra")

	delete(backend.holds, pv)
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(),
		"pv "+pv+" refers to a volume that the backend of example.com/nfs does not have (made by example.com/nfs)")
	backend.holds[pv] = true

	// The provisioner cannot delete: its calls to the API fail.
	c.Inject(engine.Fault{Actor: "example.com/nfs", Verb: "delete", Times: -1, Err: errors.New("no")})
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(), "pv "+pv+" (Released), whose claim default/data is gone (made by example.com/nfs)")
}

func TestALostDirectoryOnANodeIsALeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory...)
	c.Settle()
	c.RequireNoLeaks()
	pv := c.Claim("local-hostpath-pvc").Spec.VolumeName
	c.Delete("pod/hello-local-hostpath-pod")
	c.Settle()
	// The user removes the volume by force: no controller will ever delete the directory.
	volumes := c.Client().CoreV1().PersistentVolumes()
	require.NoError(t, volumes.Delete(context.Background(), pv, metav1.DeleteOptions{}))
	volume := c.Volume(pv)
	volume.Finalizers = nil
	_, err := volumes.Update(context.Background(), volume, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Settle()
	err = c.Cluster.RequireNoLeaks()
	require.ErrorContains(t, err, "directory /var/openebs/local/"+pv+" on node-1, which no volume uses (made by openebs.io/local)")
	var leaks *storagesim.LeakError
	require.ErrorAs(t, err, &leaks)
	require.Len(t, leaks.Leaks, 1)
}

func TestAPodDirectoryWithoutItsPodIsALeak(t *testing.T) {
	dir := t.TempDir()
	c := storagesimtest.New(t, storagesim.Config{Dir: dir})
	c.Settle()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node-1/var/lib/kubelet/pods/some-uid"), 0o755))
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(), "directory /var/lib/kubelet/pods/some-uid on node-1, whose pod is gone (made by kubelet/node-1)")
}

func TestANodeHasTheCapacityRuntimeAndDriversThatItIsGiven(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: []storagesim.Node{{
		Name: "node-1", Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3"), v1.ResourcePods: resource.MustParse("7")},
		Runtime: runtime.FakeRuntime, CSIDrivers: []kubelet.CSIDriver{{Name: "plain.csi.example.com", NodeID: "id"}},
	}}})
	node, err := c.Client().CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "3", node.Status.Allocatable.Cpu().String())
	require.Equal(t, `{"plain.csi.example.com":"id"}`, node.Annotations["csi.volume.kubernetes.io/nodeid"])
	require.Contains(t, node.Status.NodeInfo.ContainerRuntimeVersion, "fakeRuntime://")
	_, err = storagesim.New(storagesim.Config{Nodes: []storagesim.Node{{Name: "node-1", Runtime: "docker"}}})
	require.ErrorContains(t, err, `Config.Nodes[0].Runtime is "docker"; it must be "containerd" (the default) or "fakeRuntime"`)
}

func TestATraceKeepsTheLatestRecordsUpToItsLimit(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{TraceLimit: 20})
	for i := range 50 {
		_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d", i)}},
			metav1.CreateOptions{})
		require.NoError(t, err)
	}
	log := c.Engine().Trace()
	require.LessOrEqual(t, len(log.Entries()), 20)
	require.Contains(t, log.Tail(1)[0].String(), "c-49")
	require.Contains(t, log.String(), "earlier records were dropped: the trace keeps at most 20 records")
}

func TestWrapIsGivenEachActor(t *testing.T) {
	var names []string
	cfg := storagesim.Config{Disks: storagesim.MemoryDisks, Schedulers: []scheduler.Config{{SchedulerName: "other"}},
		Wrap: func(actor string, f control.Factory) control.Factory {
			names = append(names, actor)
			return f
		}}
	c := storagesimtest.New(t, cfg)
	c.Must(c.Lab().InstallSnapshots())
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	c.InstallCSIDriver(d)
	require.ElementsMatch(t, c.Engine().Actors(), names)

	names = nil
	actors, err := storagesim.ControlPlane(cfg)
	require.NoError(t, err)
	require.Len(t, names, len(actors))
}

// named returns a claim, its volume and a pod that uses it, in a namespace.
func named(namespace string) string {
	return `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-` + namespace + `}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /srv}, claimRef: {namespace: ` + namespace + `, name: data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: ` + namespace + `}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: ` + namespace + `}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
}

func TestAReferenceIsUnderstoodInEveryFormWhereverOneIsTaken(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks}).Cluster
	require.NoError(t, errors.Join(c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}", named("default"), named("team")), c.Settle()))

	claim := func(ref string) error { _, err := c.Claim(ref); return err }
	pod := func(ref string) error { _, err := c.Pod(ref); return err }
	volume := func(ref string) error { _, err := c.Volume(ref); return err }
	explain := func(ref string) error { _, err := c.Explain(ref); return err }
	file := func(ref string) error { _, err := c.Machine(ref).ListDir("/data"); return err }
	running := func(ref string) error { return c.RequireRunning(ref) }
	bound := func(ref string) error { return c.RequireBound(ref) }
	remove := func(ref string) error { return c.Delete(ref) }
	claims := []string{"data", "team/data", "pvc/data", "pvc/team/data", "persistentvolumeclaims/team/data", "PersistentVolumeClaim/data"}
	pods := []string{"web", "team/web", "pod/web", "pod/team/web", "po/web", "pods/team/web"}
	const aClaim, aPod = "does not name a PersistentVolumeClaim; expected pvc/name or pvc/namespace/name",
		"does not name a Pod; expected pod/name or pod/namespace/name"
	for entrance, tt := range map[string]struct {
		call    func(ref string) error
		good    []string
		refused map[string]string
	}{
		"Claim": {claim, claims, map[string]string{"": aClaim, "pvc/": aClaim, "a/b/c": aClaim, "pvc/a/b/c": aClaim,
			"date":          `"date" not found (did you mean "data"?)`,
			"pod/team/data": `"pod/team/data" names a Pod, not a PersistentVolumeClaim; expected pvc/name`, "other": `"other" not found`}},
		"Pod": {pod, pods, map[string]string{"": aPod, "/web": aPod, "pod/": aPod,
			"pvc/team/web": "names a PersistentVolumeClaim, not a Pod; expected pod/name or pod/namespace/name"}},
		"Volume": {volume, []string{"disk-team", "pv/disk-team", "persistentvolume/disk-team"},
			map[string]string{"": "does not name a PersistentVolume; expected pv/name",
				"pvc/data":  `"pvc/data" names a PersistentVolumeClaim, not a PersistentVolume; expected pv/name`,
				"team/disk": `"team/disk" does not name a PersistentVolume, which has no namespace; expected pv/disk`}},
		"RequireBound":   {bound, claims, map[string]string{"pvc/a/b/c": aClaim}},
		"RequireRunning": {running, pods, map[string]string{"pod/": aPod}},
		"Explain": {explain, append([]string{"pv/disk-team"}, append(claims[2:], pods[2:]...)...),
			map[string]string{"data": `"data" does not name an object; expected kind/name or kind/namespace/name`,
				"pcv/data": `the server doesn't have a resource type "pcv"`, "pod/": aPod}},
		"a place": {file, pods[2:], map[string]string{"web": "is not a place for files", "pod/": aPod, "pvc/data": "is not a place for files"}},
		"Delete": {remove, []string{"pod/web", "pods/team/web", "pvc/data", "persistentvolumeclaim/team/data"},
			map[string]string{"data": "does not name an object", "pod/": aPod, "pv/a/b": "which has no namespace; expected pv/b"}},
	} {
		if entrance == "Delete" {
			defer func() {
				for _, ref := range tt.good {
					require.NoError(t, tt.call(ref), ref)
				}
			}()
		} else {
			for _, ref := range tt.good {
				require.NoError(t, tt.call(ref), "%s %s", entrance, ref)
			}
		}
		for ref, says := range tt.refused {
			require.ErrorContains(t, tt.call(ref), says, "%s %s", entrance, ref)
		}
	}
}

func TestAFaultStrikesTheObjectThatItNames(t *testing.T) {
	down := errors.New("down")
	config := storagesim.Config{Disks: storagesim.MemoryDisks, NoNodes: true}
	for _, f := range []engine.Fault{
		{Resource: "pvc", Name: "team/data"}, {Name: "pvc/team/data"}, {Resource: "persistentvolumeclaims", Name: "pvc/team/data"},
		{Resource: "persistentvolumeclaims", Namespace: "team", Name: "data"},
	} {
		c := storagesimtest.New(t, config)
		f.Actor, f.Verb, f.Err, f.Times = storagesim.PVController, "update", down, -1
		c.Inject(f)
		c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}", named("default"), named("team"))
		c.Settle()
		require.NotEmpty(t, c.Claim("default/data").Spec.VolumeName)
		require.Empty(t, c.Claim("team/data").Spec.VolumeName)
	}
	c := storagesimtest.New(t, config).Cluster
	require.EqualError(t, c.Inject(engine.Fault{Name: "pvc/a/b/c", Err: down}),
		`fault: "pvc/a/b/c" does not name a PersistentVolumeClaim; expected pvc/name or pvc/namespace/name`)
	require.ErrorContains(t, c.Inject(engine.Fault{Name: "pcv/a", Err: down}), `fault: the server doesn't have a resource type "pcv"`)
	require.ErrorContains(t, c.Inject(engine.Fault{Resource: "pv", Name: "pvc/a", Err: down}), `names a PersistentVolumeClaim, not a PersistentVolume`)
}
