package attachdetach

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// What may run beside an operation on a volume, and what not. A place without a node is all nodes.
func TestOperationsOnAVolumeExcludeEachOther(t *testing.T) {
	now := time.Unix(1000, 0)
	var (
		everywhere, one, two = place{"v", ""}, place{"v", "one"}, place{"v", "two"}
		runs                 = func(at place) *operation { return &operation{at: at, name: attachOperation, pending: true} }
		failed               = func(at place, name string) *operation {
			return &operation{at: at, name: name, failed: now.Add(-time.Second), backoff: time.Second}
		}
		over = func(at place) *operation {
			return &operation{at: at, name: attachOperation, failed: now.Add(-time.Second - 1), backoff: time.Second}
		}
	)
	for name, c := range map[string]struct {
		list          []*operation
		at            place
		pending, safe bool
		found         int // in the list
	}{
		"nothing happens":                                {nil, one, false, true, -1},
		"one runs at the same node":                      {[]*operation{runs(one)}, one, true, false, 0},
		"one runs at another node":                       {[]*operation{runs(two)}, one, false, true, -1},
		"one runs at all nodes":                          {[]*operation{runs(everywhere)}, one, true, false, 0},
		"one runs somewhere, this is for all":            {[]*operation{runs(one)}, everywhere, true, false, 0},
		"one that runs comes before one that failed":     {[]*operation{failed(everywhere, attachOperation), runs(one)}, one, true, false, 1},
		"one that runs at all nodes, too":                {[]*operation{failed(one, attachOperation), runs(everywhere)}, one, true, false, 1},
		"the same failed a moment ago":                   {[]*operation{failed(one, attachOperation)}, one, false, false, 0},
		"another kind failed a moment ago":               {[]*operation{failed(one, detachOperation)}, one, false, true, 0},
		"the same failed long ago":                       {[]*operation{over(one)}, one, false, true, 0},
		"of those that failed, that of this place":       {[]*operation{failed(everywhere, attachOperation), over(one)}, one, false, true, 1},
		"of those that failed elsewhere, the first":      {[]*operation{failed(one, attachOperation), over(two)}, everywhere, false, false, 0},
		"the one of this place stays, whatever is later": {[]*operation{over(one), failed(everywhere, attachOperation)}, one, false, true, 0},
	} {
		o := operations{"v": c.list, "w": {runs(place{"w", "one"})}}
		assert.Equal(t, c.pending, o.isPending(c.at), name)
		assert.Equal(t, c.safe, o.isSafeToRetry(c.at, attachOperation, now), name)
		var want *operation
		if c.found >= 0 {
			want = c.list[c.found]
		}
		assert.Same(t, want, o.find(c.at), name)
	}
}

func TestAnOperationThatBeginsKeepsTheBackoffThatIsOver(t *testing.T) {
	now, at := time.Unix(1000, 0), place{"v", "one"}
	o := operations{}
	first := o.begin(at, attachOperation, now)
	assert.Equal(t, &operation{at: at, name: attachOperation, pending: true}, first)
	first.pending = false
	first.fail(now)
	assert.Equal(t, initialBackoff, first.backoff)

	again := o.begin(at, attachOperation, now.Add(time.Second))
	assert.Same(t, first, again)
	assert.Equal(t, initialBackoff, again.backoff, "it was over, and the next one is longer")
	again.fail(now.Add(time.Second))
	assert.Equal(t, 2*initialBackoff, again.backoff)

	other := o.begin(at, detachOperation, now.Add(time.Second))
	assert.Equal(t, &operation{at: at, name: detachOperation, pending: true}, other, "another one begins anew")
	assert.Len(t, o["v"], 1)

	second := o.begin(place{"v", "two"}, attachOperation, now)
	o.forget(other)
	assert.Equal(t, []*operation{second}, o["v"])
	o.forget(second)
	assert.Empty(t, o)
}

// semantics 6 must 1, 7 and 8: when a volume that no pod needs is detached, and whether the node is asked before.
func TestAVolumeInUseIsDetachedOnlyFromANodeThatIsLost(t *testing.T) {
	const still, early, late = 6 * time.Minute, time.Minute, 6*time.Minute + 1
	ready, lost, out := health{ready: true}, health{}, health{ready: true, outOfService: true}
	notReady := "the node is not ready, and no pod has needed it for 6m0s"
	always := Config{ForceDetach: func(bool) bool { return true }}
	for name, c := range map[string]struct {
		cfg    Config
		waited time.Duration
		inUse  bool
		node   health
		want   verdict
	}{
		"not in use":                          {Config{}, early, false, ready, verdict{detach: true, verify: true}},
		"not in use, and late":                {Config{}, late, false, ready, verdict{detach: true}},
		"not in use, node out of service":     {Config{}, early, false, out, verdict{detach: true}},
		"in use":                              {Config{}, early, true, ready, verdict{verify: true}},
		"in use, late, the node is ready":     {Config{}, late, true, ready, verdict{}},
		"in use, node lost":                   {Config{}, early, true, lost, verdict{verify: true}},
		"in use, node lost, the last instant": {Config{}, still, true, lost, verdict{verify: true}},
		"in use, node lost, late":             {Config{}, late, true, lost, verdict{detach: true, forced: notReady}},
		"in use, node out of service":         {Config{}, early, true, out, verdict{detach: true, forced: "the node is out of service"}},
		"an administrator says no":            {Config{DisableForceDetachOnTimeout: true}, late, true, lost, verdict{verify: true}},
		"an administrator says no, in vain": {Config{DisableForceDetachOnTimeout: true}, late, true, out,
			verdict{detach: true, forced: "the node is out of service"}},
		"an old version, the node is ready": {always, late, true, ready, verdict{detach: true, forced: "no pod has needed it for 6m0s"}},
		"an old version, the node is lost":  {always, late, true, lost, verdict{detach: true, forced: notReady}},
		"an old version, early":             {always, early, true, ready, verdict{verify: true}},
		"another time, over":                {Config{MaxWaitForUnmount: 30 * time.Second}, early, false, ready, verdict{detach: true}},
	} {
		assert.Equal(t, c.want, judge(c.cfg, c.waited, c.inUse, c.node), name)
	}
}

func TestOnlyAVolumeForManyNodesIsAttachedToMany(t *testing.T) {
	for _, c := range []struct {
		modes []v1.PersistentVolumeAccessMode
		want  bool
	}{
		{nil, true},
		{[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, false},
		{[]v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}, false},
		{[]v1.PersistentVolumeAccessMode{v1.ReadWriteMany}, true},
		{[]v1.PersistentVolumeAccessMode{v1.ReadOnlyMany}, true},
		{[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany}, true},
	} {
		pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{AccessModes: c.modes}}
		assert.Equal(t, c.want, isMultiAttachAllowed(pv), c.modes)
	}
	assert.True(t, isMultiAttachAllowed(nil), "nothing is known of it")
}

func TestWhatDecidesAboutAVolume(t *testing.T) {
	for _, c := range []struct {
		phase  v1.PersistentVolumeClaimPhase
		volume string
		want   bool
	}{{v1.ClaimBound, "pv", true}, {v1.ClaimBound, "", false}, {v1.ClaimPending, "pv", false}, {v1.ClaimLost, "pv", false}} {
		claim := &v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{VolumeName: c.volume}, Status: v1.PersistentVolumeClaimStatus{Phase: c.phase}}
		assert.Equal(t, c.want, isBound(claim), "claim %+v", c)
	}
	assert.False(t, skipsAttach(nil))
	assert.False(t, skipsAttach(&storagev1.CSIDriver{}))
	assert.False(t, skipsAttach(&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)}}))
	assert.True(t, skipsAttach(&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}))

	looks := control.Backoff{First: 500 * time.Millisecond, Factor: 1.05, Max: 7 * time.Second}
	assert.Equal(t, looks, (&controller{}).looks(), "when an attachment is looked at, as upstream")
	looks.Jitter = 0.1
	assert.Equal(t, looks, (&controller{cfg: Config{Late: true}}).looks())
	driver, handle, err := splitUniqueName(uniqueVolumeName(&v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}))
	assert.Equal(t, []any{"d", "h", nil}, []any{driver, handle, err})
	for _, name := range []v1.UniqueVolumeName{"kubernetes.io/nfs/d^h", "kubernetes.io/csi/d", "kubernetes.io/csi/d^h^i"} {
		_, _, err := splitUniqueName(name)
		assert.Error(t, err, name)
	}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	assert.Equal(t, storagev1.VolumeAttachmentSource{InlineVolumeSpec: &pv.Spec}, sourceOf(pv), "a volume that is no object")
	pv.UID = "1"
	assert.Equal(t, storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name}, sourceOf(pv))

	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus) *v1.Node {
		return &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: kind, Status: status}}}}
	}
	assert.True(t, healthOf(condition(v1.NodeReady, v1.ConditionTrue)).ready)
	assert.False(t, healthOf(condition(v1.NodeReady, v1.ConditionUnknown)).ready)
	assert.False(t, healthOf(condition(v1.NodeMemoryPressure, v1.ConditionTrue)).ready)
	assert.Equal(t, health{outOfService: true}, healthOf(&v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "other"}, {Key: v1.TaintNodeOutOfService}}}}))
	assert.Equal(t, health{}, healthOf(&v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "other"}}}}))
}

// A new attachment counts as in use, one that is certain is reported, and nothing stays of one that is gone.
func TestWhatIsAttachedIsInUseUntilTheNodeSaysOtherwise(t *testing.T) {
	w, at, pv := newActualStateOfWorld(), place{"v", "one"}, &v1.PersistentVolume{}
	w.report(at)
	assert.Empty(t, w.reports, "what is not attached is not reported")
	w.set(at, pv, uncertain)
	assert.True(t, w.inUse["one"]["v"])
	assert.Empty(t, w.reports)
	assert.Empty(t, w.nodesOf("v"), "it may not be there")
	assert.False(t, w.isEmpty())

	w.set(at, pv, attached)
	assert.Equal(t, map[string]names{"one": {"v": true}}, w.reports)
	assert.Equal(t, map[string]bool{"one": true}, w.due)
	assert.Equal(t, []string{"one"}, w.nodesOf("v"))
	delete(w.due, "one")
	w.set(at, pv, attached)
	assert.Empty(t, w.due, "it is listed already")

	assert.Equal(t, []v1.UniqueVolumeName{"a", "b", "v"}, w.setInUse("one", []v1.UniqueVolumeName{"b", "a"}))
	assert.Equal(t, []v1.UniqueVolumeName{"b", "c"}, w.setInUse("one", []v1.UniqueVolumeName{"a", "c"}))
	assert.Empty(t, w.setInUse("one", []v1.UniqueVolumeName{"c", "a"}))
	assert.Equal(t, []v1.UniqueVolumeName{"a", "c"}, w.setInUse("one", nil))
	assert.Empty(t, w.inUse)
	w.set(at, pv, uncertain)
	assert.Empty(t, w.inUse, "what is known already is as its node says")

	other := place{"v", "two"}
	w.set(other, pv, attached)
	w.remove(at)
	assert.Equal(t, detached, w.state(at))
	assert.Equal(t, attached, w.state(other))
	assert.Equal(t, pv, w.pvs["v"], "it is still somewhere")
	assert.Empty(t, w.reports["one"])
	assert.True(t, w.due["one"])
	w.remove(other)
	assert.True(t, w.isEmpty())
	assert.Empty(t, w.pvs)
	assert.Empty(t, w.onNode)
}

// A volume is wanted at a node as long as one pod there wants it, and so long the node stays.
func TestWhatIsToBeAttachedHasAPod(t *testing.T) {
	w, at, pv := newDesiredStateOfWorld(), place{"v", "one"}, &v1.PersistentVolume{}
	pod := func(uid types.UID) *v1.Pod { return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}} }
	w.nodes["one"] = true
	assert.False(t, w.deletePod("1", at))
	assert.True(t, w.addPod(pod("1"), pv, at))
	assert.False(t, w.addPod(pod("1"), pv, at), "it is known")
	assert.True(t, w.addPod(pod("2"), pv, at))
	assert.True(t, w.addPod(pod("2"), pv, place{"w", "one"}))
	assert.False(t, w.deletePod("3", at), "it is not known")
	assert.True(t, w.deletePod("1", at))
	assert.NotNil(t, w.get(at), "the other one wants it")
	w.deleteNode("one")
	assert.True(t, w.nodes["one"], "volumes are to be attached to it")
	assert.True(t, w.deletePod("2", at))
	assert.Nil(t, w.get(at))
	w.deleteNode("one")
	assert.True(t, w.nodes["one"], "one is still to be attached to it")
	assert.True(t, w.deletePod("2", place{"w", "one"}))
	assert.True(t, w.isEmpty())
	assert.Empty(t, w.onNode)
	w.deleteNode("one")
	assert.Empty(t, w.nodes)
}

func TestAPodThatWaitsLearnsWhoHasItsVolume(t *testing.T) {
	pod := func(namespace, name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	b, a, x := pod("mine", "b"), pod("mine", "a"), pod("theirs", "x")
	for want, users := range map[string][]*v1.Pod{
		"Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node": nil,
		"Volume is already used by 1 pod(s) in different namespaces":                                                      {x},
		"Volume is already used by pod(s) a, b":                                                                           {b, a},
		"Volume is already used by pod(s) a, b and 1 pod(s) in different namespaces":                                      {b, x, a},
	} {
		assert.Equal(t, want, usedBy(pod("mine", "waits"), users))
	}
}
