package scheduler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// semantics section 2.4 NodeVolumeLimits: node-1 may have two volumes of the
// driver attached.
func TestADriverAttachesAsManyVolumesToANodeAsItsCSINodeSays(t *testing.T) {
	attachable := func(name string) []runtime.Object {
		return []runtime.Object{testClaim(name, "1Gi", "", boundTo("pv-"+name)), testVolume("pv-"+name, "1Gi", "", "", ofDriver("handle-"+name))}
	}
	waiting := []runtime.Object{testClass(dynamic, "example.com/ext"), testClaim("new", "1Gi", dynamic)}
	user := func(pod string, claims ...string) runtime.Object { return on(testPod(pod, claims...), "node-1") }
	ephemeral := testPod("web")
	ephemeral.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	scratch := testClaim("web-scratch", "1Gi", dynamic, func(c *v1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ephemeral, v1.SchemeGroupVersion.WithKind("Pod"))}
	})
	tests := map[string]struct {
		objects []runtime.Object
		pod     *v1.Pod
		fits    bool
	}{
		"the second":                       {[]runtime.Object{user("a", "a")}, testPod("web", "b"), true},
		"the third":                        {[]runtime.Object{user("a", "a"), user("b", "b")}, testPod("web", "c"), false},
		"two at once":                      {[]runtime.Object{user("a", "a")}, testPod("web", "b", "c"), false},
		"one of them twice":                {[]runtime.Object{user("a", "a")}, testPod("web", "b", "b"), true},
		"one that is there already":        {[]runtime.Object{user("a", "a"), user("b", "b")}, testPod("web", "b"), true},
		"one that two pods share":          {[]runtime.Object{user("a", "a"), user("b", "a")}, testPod("web", "b"), true},
		"attached for nobody":              {[]runtime.Object{user("a", "a"), attachment("pv-b", "node-1")}, testPod("web", "c"), false},
		"attached for a pod":               {[]runtime.Object{user("a", "a"), attachment("pv-a", "node-1")}, testPod("web", "c"), true},
		"attached for this pod":            {[]runtime.Object{attachment("pv-c", "node-1")}, testPod("web", "c"), true},
		"attached, and counted twice":      {[]runtime.Object{user("a", "a"), attachment("pv-c", "node-1")}, testPod("web", "c"), false},
		"attached elsewhere":               {[]runtime.Object{user("a", "a"), attachment("pv-b", "node-2")}, testPod("web", "c"), true},
		"attached, but the volume is gone": {[]runtime.Object{user("a", "a"), attachment("gone", "node-1")}, testPod("web", "c"), true},
		"not made yet":                     {append(waiting, user("a", "a"), user("b", "b")), testPod("web", "new"), false},
		"not made yet, and there is room":  {append(waiting, user("a", "a")), testPod("web", "new"), true},
		"ephemeral":                        {[]runtime.Object{scratch, testClass(dynamic, "example.com/ext"), user("a", "a"), user("b", "b")}, ephemeral, false},
		"a volume of no CSI driver": {[]runtime.Object{user("a", "a"), user("b", "b"), testClaim("disk", "1Gi", "", boundTo("disk")),
			testVolume("disk", "1Gi", "", "")},
			testPod("web", "disk"), true},
		"a driver without a count": {[]runtime.Object{
			user("a", "a"), user("b", "b"), testClaim("free", "1Gi", "", boundTo("free")),
			testVolume("free", "1Gi", "", "", func(pv *v1.PersistentVolume) {
				pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "example.com/free", VolumeHandle: "x"}
			}),
		}, testPod("web", "free"), true},
		"no claims":        {[]runtime.Object{user("a", "a"), user("b", "b")}, testPod("web"), true},
		"too many already": {[]runtime.Object{user("a", "a", "b", "c")}, testPod("web", "c"), true},
		"a pod that has ended": {[]runtime.Object{user("a", "a"), func() runtime.Object {
			pod := on(testPod("b", "b"), "node-1")
			pod.Status.Phase = v1.PodFailed
			return pod
		}()}, testPod("web", "c"), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{testNode("node-1"), attaches("node-1", 2), tt.pod}
			for _, claim := range []string{"a", "b", "c"} {
				objects = append(objects, attachable(claim)...)
			}
			got, err := Explain(Config{}, "default/web", append(objects, tt.objects...))
			require.NoError(t, err)
			require.Len(t, got.Nodes, 1, got.PreFilter)
			if tt.fits {
				assert.Equal(t, "", got.Nodes[0].Plugin)
				return
			}
			assert.Equal(t, "NodeVolumeLimits", got.Nodes[0].Plugin)
			assert.Equal(t, []string{"node(s) exceed max volume count"}, got.Nodes[0].Reasons)
		})
	}
}

func TestANodeWithoutCSINodeHasNoLimit(t *testing.T) {
	objects := []runtime.Object{testNode("node-1"), testNode("node-2"), attaches("node-2", 0), testPod("web", "a"),
		testClaim("a", "1Gi", "", boundTo("pv")), testVolume("pv", "1Gi", "", "", ofDriver("h"))}
	got, err := Explain(Config{}, "default/web", objects)
	require.NoError(t, err)
	assert.Equal(t, "node-1: fits", got.Nodes[0].String())
	assert.Equal(t, []string{"node(s) exceed max volume count"}, got.Nodes[1].Reasons)
}
