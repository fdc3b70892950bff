package scheduler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

func version(rv string, pv *v1.PersistentVolume) *v1.PersistentVolume {
	pv = pv.DeepCopy()
	pv.ResourceVersion = rv
	return pv
}

func TestAnAssumedObjectIsSeenUntilTheCacheHearsOfTheObject(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testVolume("pv", "1Gi", delayed, "")})
	cache := newAssumeCache("persistentvolumes", s.caches.volumes)
	known, _ := cache.Get("pv")
	assumed := known.DeepCopy()
	assumed.Spec.ClaimRef = &v1.ObjectReference{Name: "data"}
	require.NoError(t, cache.Assume(assumed))

	got, _ := cache.Get("pv")
	assert.Same(t, assumed, got)
	assert.Same(t, assumed, cache.ByIndex(byClass, delayed)[0])
	api, err := cache.GetAPIObj("pv")
	require.NoError(t, err)
	assert.Same(t, known, api, "GetAPIObj bypasses the overlay")

	s.caches.volumes.Replace([]control.Item{control.ItemOf(known)})
	got, _ = cache.Get("pv")
	assert.Same(t, assumed, got, "a relist of the same version keeps it")

	newer := version("2", known)
	s.caches.volumes.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(newer)})
	got, _ = cache.Get("pv")
	assert.Same(t, newer, got, "any news drops it")
	assert.Empty(t, cache.overlay)
}

func TestAssumingAnotherVersionThanTheCachedOneIsAnError(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testVolume("pv", "1Gi", delayed, "")})
	cache := newAssumeCache("persistentvolumes", s.caches.volumes)
	known, _ := cache.Get("pv")
	assert.EqualError(t, cache.Assume(version("2", known)), `"pv" is out of sync (stored: 1, assume: 2)`)
	assert.EqualError(t, cache.Assume(testVolume("gone", "1Gi", delayed, "")), `persistentvolumes "gone" not found`)
	_, err := cache.GetAPIObj("gone")
	assert.EqualError(t, err, `persistentvolumes "gone" not found`)
}

// semantics 2 must 8
func TestRestoreLeavesWhatSomebodyElseHasAssumedSince(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testVolume("pv", "1Gi", delayed, "")})
	cache := newAssumeCache("persistentvolumes", s.caches.volumes)
	known, _ := cache.Get("pv")
	first := known.DeepCopy()
	require.NoError(t, cache.Assume(first))
	s.caches.volumes.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(version("2", known))})
	second := version("2", known)
	require.NoError(t, cache.Assume(second))

	cache.Restore(first)
	got, _ := cache.Get("pv")
	assert.Same(t, second, got)
	cache.Restore(second)
	assert.Empty(t, cache.overlay)
}

func found(t *testing.T, b *volumeBinder, pod *v1.Pod, node *v1.Node) (*PodVolumes, Conflicts) {
	t.Helper()
	claims, err := b.GetPodVolumeClaims(pod)
	require.NoError(t, err)
	volumes, conflicts, err := b.FindPodVolumes(claims, node)
	require.NoError(t, err)
	return volumes, conflicts
}

// semantics 2 must 2
func TestTheNextPodSeesAnAssumedVolumeAsTaken(t *testing.T) {
	node := testNode("node-1")
	s := stillScheduler(Config{}, []runtime.Object{
		node, testClass(delayed, "kubernetes.io/no-provisioner"), testVolume("pv", "1Gi", delayed, "node-1"),
		testClaim("one", "1Gi", delayed), testClaim("two", "1Gi", delayed),
	})
	b := newVolumeBinder(stillEnv{}, s.caches, Config{})
	volumes, _ := found(t, b, testPod("a", "one"), node)
	before := volumes.StaticBindings[0].pv.DeepCopy()
	cached := volumes.StaticBindings[0].pv

	allBound, err := b.AssumePodVolumes(testPod("a", "one"), "node-1", volumes)
	require.NoError(t, err)
	assert.False(t, allBound)
	assert.Equal(t, before, cached, "the cache's object is not touched")
	assert.Equal(t, "one", volumes.StaticBindings[0].pv.Spec.ClaimRef.Name)
	assert.Contains(t, volumes.StaticBindings[0].pv.Annotations, binding.AnnBoundByController)

	_, conflicts := found(t, b, testPod("b", "two"), node)
	assert.Equal(t, []string{string(ErrReasonBindConflict)}, conflicts.Reasons())

	b.RevertAssumedPodVolumes(volumes)
	_, conflicts = found(t, b, testPod("b", "two"), node)
	assert.Empty(t, conflicts)
}

func TestAssumeThatFailsHalfWayGivesBackTheFirstHalf(t *testing.T) {
	for name, change := range map[string]func(s *scheduler){
		"a claim to provision has changed": func(s *scheduler) {
			changed := testClaim("two", "1Gi", dynamic)
			changed.ResourceVersion = "2"
			s.caches.claims.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(changed)})
		},
		"a volume has changed": func(s *scheduler) {
			s.caches.volumes.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(version("2", testVolume("pv-2", "2Gi", delayed, "node-1")))})
		},
	} {
		node := testNode("node-1")
		s := stillScheduler(Config{}, []runtime.Object{
			node, testClass(delayed, "kubernetes.io/no-provisioner"), testClass(dynamic, "example.com/ext"),
			testVolume("pv", "1Gi", delayed, "node-1"), testVolume("pv-2", "2Gi", delayed, "node-1"),
			testClaim("one", "1Gi", delayed), testClaim("three", "2Gi", delayed), testClaim("two", "1Gi", dynamic),
		})
		b := newVolumeBinder(stillEnv{}, s.caches, Config{})
		pod := testPod("a", "one", "two", "three")
		volumes, _ := found(t, b, pod, node)
		change(s)
		_, err := b.AssumePodVolumes(pod, "node-1", volumes)
		assert.ErrorContains(t, err, "is out of sync", name)
		assert.Empty(t, b.pvs.overlay, name)
		assert.Empty(t, b.pvcs.overlay, name)
	}
}

// What is so already is not assumed: a claim that is bound meanwhile, and a volume that is the claim's.
func TestWhatIsSoAlreadyIsNotAssumed(t *testing.T) {
	pod, data := testPod("a", "data"), testClaim("data", "1Gi", delayed)
	theirs := testVolume("pv", "1Gi", delayed, "node-1", func(pv *v1.PersistentVolume) {
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data", UID: data.UID}
	})
	for name, c := range map[string]struct {
		now   []runtime.Object
		bound bool
	}{
		"the claim is bound":           {[]runtime.Object{testVolume("pv", "1Gi", delayed, "node-1"), testClaim("data", "1Gi", delayed, boundTo("pv"))}, true},
		"the volume is the claim's":    {[]runtime.Object{theirs, data}, false},
		"so it is, and the claim gone": {[]runtime.Object{theirs}, false},
	} {
		b := newVolumeBinder(stillEnv{}, stillScheduler(Config{}, c.now).caches, Config{})
		pv, _ := b.pvs.Get("pv")
		volumes := &PodVolumes{StaticBindings: []*BindingInfo{{pvc: data, pv: pv}}}
		bound, err := b.AssumePodVolumes(pod, "node-1", volumes)
		assert.NoError(t, err, name)
		assert.Equal(t, c.bound, bound, name)
		assert.Empty(t, b.pvs.overlay, name)
		assert.Same(t, pv, volumes.StaticBindings[0].pv, name)
	}
}

func TestTheSelectedNodeIsAssumedForAClaimToProvision(t *testing.T) {
	one, two := testNode("node-1"), testNode("node-2")
	s := stillScheduler(Config{}, []runtime.Object{one, two, testClass(dynamic, "example.com/ext"), testClaim("data", "1Gi", dynamic)})
	b := newVolumeBinder(stillEnv{}, s.caches, Config{})
	volumes, _ := found(t, b, testPod("a", "data"), one)
	_, err := b.AssumePodVolumes(testPod("a", "data"), "node-1", volumes)
	require.NoError(t, err)

	_, conflicts := found(t, b, testPod("b", "data"), two)
	assert.Equal(t, []string{string(ErrReasonBindConflict)}, conflicts.Reasons(), "a second pod of the claim follows the first")
	again, conflicts := found(t, b, testPod("b", "data"), one)
	assert.Empty(t, conflicts)
	assert.Len(t, again.DynamicProvisions, 1)
}

func TestCheckBindingsSaysWhyWaitingIsInVain(t *testing.T) {
	pod := testPod("web", "data")
	claimRef := func(uid string) func(*v1.PersistentVolume) {
		return func(pv *v1.PersistentVolume) {
			pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data", UID: "x"}
			if uid == "" {
				pv.Spec.ClaimRef.UID = ""
			}
		}
	}
	wrote := func(objs ...any) *PodVolumes {
		v := &PodVolumes{}
		for _, o := range objs {
			switch o := o.(type) {
			case *v1.PersistentVolume:
				v.StaticBindings = append(v.StaticBindings, &BindingInfo{pvc: testClaim("data", "1Gi", delayed), pv: o})
			case *v1.PersistentVolumeClaim:
				v.DynamicProvisions = append(v.DynamicProvisions, o)
			}
		}
		return v
	}
	node, pv := testNode("node-1"), testVolume("pv", "1Gi", delayed, "node-1", claimRef("x"))
	ended := pod.DeepCopy()
	ended.Status.Phase = v1.PodSucceeded
	claim := testClaim("data", "1Gi", delayed)
	chosen := testClaim("data", "1Gi", dynamic, selectedNode("node-1"))
	tests := map[string]struct {
		now   []runtime.Object
		wrote *PodVolumes
		done  bool
		err   string
	}{
		"node gone":                    {[]runtime.Object{pod}, wrote(), false, `failed to get node "node-1": node "node-1" not found`},
		"semantics 2 must 7: pod gone": {[]runtime.Object{node}, wrote(), false, `pod does not exist any more: pod "web" not found`},
		"pod ended, as good as gone":   {[]runtime.Object{node, ended}, wrote(), false, `pod does not exist any more: pod "web" not found`},
		"volume gone":                  {[]runtime.Object{node, pod, claim}, wrote(pv), false, `failed to check binding: persistentvolumes "pv" not found`},
		"claim gone": {[]runtime.Object{node, pod, pv}, wrote(pv), false,
			`failed to check binding: persistentvolumeclaims "default/data" not found`},
		"our write not back yet": {[]runtime.Object{node, pod, claim, pv}, wrote(version("2", pv)), false, ``},
		"volume moved to another node": {[]runtime.Object{node, pod, claim, testVolume("pv", "1Gi", delayed, "node-2", claimRef("x"))}, wrote(pv), false,
			`pv "pv" node affinity doesn't match node "node-1": no matching NodeSelectorTerms`},
		"PV controller unbound it": {[]runtime.Object{node, pod, claim, testVolume("pv", "1Gi", delayed, "node-1", claimRef(""))}, wrote(pv), false,
			`ClaimRef got reset for pv "pv"`},
		"volume given to nobody": {[]runtime.Object{node, pod, claim, testVolume("pv", "1Gi", delayed, "node-1")}, wrote(pv), false,
			`ClaimRef got reset for pv "pv"`},
		"claim not bound yet":  {[]runtime.Object{node, pod, claim, pv}, wrote(pv), false, ``},
		"bound":                {[]runtime.Object{node, pod, testClaim("data", "1Gi", delayed, boundTo("pv")), pv}, wrote(pv), true, ``},
		"provisioning goes on": {[]runtime.Object{node, pod, chosen}, wrote(chosen), false, ``},
		"our claim not back yet": {[]runtime.Object{node, pod, testClaim("data", "1Gi", dynamic)}, wrote(func() *v1.PersistentVolumeClaim {
			written := chosen.DeepCopy()
			written.ResourceVersion = "2"
			return written
		}()), false, ``},
		"claim deleted": {[]runtime.Object{node, pod}, wrote(chosen), false,
			`failed to check provisioning pvc: persistentvolumeclaims "default/data" not found`},
		"all annotations gone": {[]runtime.Object{node, pod, testClaim("data", "1Gi", dynamic)}, wrote(chosen), false,
			`selectedNode annotation reset for PVC "data"`},
		"semantics 2 must 4: given back": {[]runtime.Object{node, pod, testClaim("data", "1Gi", dynamic, selectedNode(""))}, wrote(chosen), false,
			`provisioning failed for PVC "data"`},
		"volume not heard of yet": {[]runtime.Object{node, pod, testClaim("data", "1Gi", dynamic, selectedNode("node-1"), boundTo("pv"))},
			wrote(chosen), false, ``},
		"made for the wrong node": {[]runtime.Object{node, pod, testClaim("data", "1Gi", dynamic, selectedNode("node-1"), boundTo("pv")),
			testVolume("pv", "1Gi", dynamic, "node-2")},
			wrote(chosen), false,
			`pv "pv" node affinity doesn't match node "node-1": no matching NodeSelectorTerms`},
		"made and bound": {[]runtime.Object{node, pod, testClaim("data", "1Gi", dynamic, selectedNode("node-1"), boundTo("pv")),
			testVolume("pv", "1Gi", dynamic, "node-1")}, wrote(chosen), true, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newVolumeBinder(stillEnv{}, stillScheduler(Config{}, tt.now).caches, Config{})
			done, err := b.checkBindings(pod, "node-1", tt.wrote)
			assert.Equal(t, tt.done, done)
			if tt.err == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, tt.err)
			}
		})
	}
}

// A pod made anew under its name is another one, for which nothing was bound; upstream takes it for the old one.
func TestAPodMadeAnewEndsTheWaitForTheVolumesOfTheOldOneWithWaitByUID(t *testing.T) {
	anew := testPod("web")
	anew.UID = "another"
	for name, c := range map[string]struct {
		byUID bool
		now   *v1.Pod
		done  bool
	}{
		"as upstream":      {false, anew, true},
		"by UID":           {true, anew, false},
		"by UID, the same": {true, testPod("web"), true},
	} {
		b := newVolumeBinder(stillEnv{}, stillScheduler(Config{}, []runtime.Object{testNode("node-1"), c.now}).caches, Config{WaitByUID: c.byUID})
		done, err := b.checkBindings(testPod("web"), "node-1", &PodVolumes{})
		assert.Equal(t, c.done, done, name)
		assert.Equal(t, c.done, err == nil, name)
	}
}

// A claim that the cache shows and that is gone from the API, or was made anew, stops the binding of its pod, with SeeClaims.
func TestAClaimThatIsGoneStopsTheBindingOfItsPod(t *testing.T) {
	now := func(uid types.UID) func(namespace, name string) types.UID {
		return func(_, name string) types.UID {
			if name == "other" {
				return "uid-other"
			}
			return uid
		}
	}
	for name, c := range map[string]struct {
		see  bool
		uid  func(namespace, name string) types.UID
		want string
	}{
		"it is there":         {true, now("uid-data"), ""},
		"it is gone":          {true, now(""), "claim default/data with UID uid-data is gone"},
		"it was made anew":    {true, now("another"), "claim default/data with UID uid-data is gone"},
		"as upstream":         {false, now(""), ""},
		"nobody can be asked": {true, nil, ""},
	} {
		s := stillScheduler(Config{}, []runtime.Object{testClaim("data", "1Gi", delayed), testClaim("other", "1Gi", delayed)})
		s.cfg.SeeClaims, s.cfg.ClaimUID = c.see, c.uid
		pod := testPod("web", "missing", "other", "data")
		pod.Spec.Volumes = append([]v1.Volume{{Name: "plain"}}, pod.Spec.Volumes...)
		if err := s.staleClaim(pod); c.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, c.want, name)
		}
	}
}
