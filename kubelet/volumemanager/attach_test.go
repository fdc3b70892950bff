package volumemanager

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

// attach makes the node's status list volumes as attached.
func (r *rig) attach(names ...v1.UniqueVolumeName) {
	r.Helper()
	nodes := r.User.CoreV1().Nodes()
	node, err := nodes.Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(r, err)
	node.Status.VolumesAttached = nil
	for _, name := range names {
		node.Status.VolumesAttached = append(node.Status.VolumesAttached, v1.AttachedVolume{Name: name})
	}
	_, err = nodes.UpdateStatus(context.Background(), node, metav1.UpdateOptions{})
	require.NoError(r, err)
}

// semantics 5 must 10, from the pod to the mount and back: the volume is reported in use before it is attached, and until it is unmounted.
func TestAVolumeIsReportedThenAttachedThenMountedAndFreeWhenItIsUnmounted(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.attaches = true
	r.Settle()
	r.add("pod-1")
	r.run(time.Second)
	names := []v1.UniqueVolumeName{fakeKey.volume}
	require.Equal(t, names, r.vm.VolumesToReport(names))
	require.Positive(t, r.pods.reports)
	r.attach("other", fakeKey.volume)
	r.run(time.Minute)
	require.Empty(t, p.calls, "the node has not reported it")
	r.attach("other")
	r.run(time.Second)
	r.vm.MarkVolumesAsReportedInUse(names)
	r.run(time.Minute)
	require.Empty(t, p.calls, "it is not attached")
	require.Empty(t, r.failed(), "nothing is tried in vain")
	r.attach("other", fakeKey.volume)
	r.run(time.Second)
	require.Equal(t, []string{"WaitForAttach", "MountDevice", "SetUp"}, p.calls)
	require.True(t, r.vm.AreMounted("pod-1"))
	require.True(t, r.vm.actual.attached[fakeKey.volume])

	r.pods.reports = 0
	r.run(time.Minute)
	require.Zero(t, r.pods.reports, "nothing has changed")
	r.release("pod-1")
	r.Settle()
	require.True(t, r.vm.WaitForUnmount("pod-1"))
	require.Positive(t, r.pods.reports)
	require.Empty(t, r.vm.attachments.volumesInUse())
	require.Empty(t, r.vm.actual.attached, "it is to be attached anew")
}

// An operation that begins looks once more at the node's status.
func TestAVolumeThatIsNotAttachedIsRefusedByTheMountItself(t *testing.T) {
	const head = `VerifyControllerAttachedVolume failed for volume "pv-data" : `
	for name, c := range map[string]struct {
		attachable, attached, reported, listed, unread bool
		want                                           string
	}{
		"it need not be attached": {want: ""},
		"it was attached before":  {attachable: true, attached: true},
		"it is not reported":      {attachable: true, listed: true, want: head + "Volume has not been added to the list of VolumesInUse in the node's volume status"},
		"it is not attached":      {attachable: true, reported: true, want: head + "Volume not attached according to node status"},
		"it is listed":            {attachable: true, reported: true, listed: true},
		"no node":                 {attachable: true, reported: true, listed: true, unread: true, want: head + `nodes "node-1" not found`},
	} {
		r, _ := newFakeRig(t, nil, nil)
		r.Settle()
		a := r.vm.attachments
		a.actual.attached[fakeKey.volume], a.mayMount = c.attached, map[v1.UniqueVolumeName]bool{fakeKey.volume: c.reported}
		r.attach("other")
		if c.listed {
			r.attach("other", fakeKey.volume)
		}
		if c.unread {
			require.NoError(t, r.User.CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
		}
		var err error
		r.do(func(ctx context.Context) {
			err = a.verifyControllerAttachedVolume(ctx, &volumeToMount{podVolume: fakeKey, attachable: c.attachable, spec: fakeSpec("pv-data")})
		})
		if c.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, c.want, name)
		}
		assert.Equal(t, c.attached || c.listed && c.want == "", a.actual.attached[fakeKey.volume], name)
	}
}

// A driver may say that its volumes need not be attached after a pod has begun to wait for that. One that is attached stays in use until it is unmounted.
func TestAPodDoesNotWaitForAnAttachmentThatIsNotNeededAnyMore(t *testing.T) {
	const noted = "volume pv-data need not be attached any more: its driver says so"
	for name, c := range map[string]struct {
		needed, attachable, attached bool
		fails                        string
		dropped, inUse               bool
	}{
		"it is not":                {attachable: true, dropped: true},
		"it is attached":           {attachable: true, attached: true, dropped: true, inUse: true},
		"it is needed":             {needed: true, attachable: true, inUse: true},
		"nobody knows":             {attachable: true, fails: "CanAttach", inUse: true},
		"it was not needed before": {inUse: true},
	} {
		r, p := newFakeRig(t, nil, nil)
		p.attaches, p.fails[c.fails] = c.needed, errFake
		r.Settle()
		a := r.vm.attachments
		v := &volumeToMount{podVolume: fakeKey, attachable: c.attachable, spec: fakeSpec("pv-data"), plugin: p, about: podOf("pod-1", false)}
		a.desired.add(v)
		a.attachable[fakeKey.volume], a.attachable["other"], a.actual.attached[fakeKey.volume] = true, true, c.attached
		a.markVolumeAttachability()
		assert.Equal(t, c.attachable && !c.dropped, v.attachable, name)
		assert.Equal(t, c.inUse, a.attachable[fakeKey.volume], name)
		assert.Equal(t, c.dropped, a.touched[fakeKey], name)
		assert.Equal(t, c.dropped, slices.Contains(r.noted(), noted), name)
	}
}

// The node is followed once. News of it wakes the volumes that wait for it, and no others.
func TestNewsOfTheNodeWakesTheVolumesThatWaitForIt(t *testing.T) {
	for name, c := range map[string]struct {
		attachable, attached, want bool
	}{
		"it waits":               {true, false, true},
		"it is attached":         {true, true, false},
		"it need not be, or may": {false, false, false},
	} {
		r, _ := newFakeRig(t, nil, nil)
		r.Settle()
		a := r.vm.attachments
		a.attachable[fakeKey.volume], a.actual.attached[fakeKey.volume] = c.attachable, c.attached
		a.desired.volumes.put(fakeKey, &volumeToMount{})
		a.followNode()
		cache := a.ownNode
		a.followNode()
		assert.Same(t, cache, a.ownNode, name)
		a.nodeChanged(&v1.Node{Status: v1.NodeStatus{VolumesAttached: []v1.AttachedVolume{{Name: "other"}, {Name: fakeKey.volume}}}})
		assert.Equal(t, c.want, a.touched[fakeKey], name)
	}
	added, _ := newFakeRig(t, nil, nil)
	added.Settle()
	added.vm.attachments.add("v")
	assert.Equal(t, []any{true, 1, true}, []any{added.vm.attachments.attachable["v"], added.pods.reports, added.vm.attachments.ownNode != nil})
	r := newRig(t, engine.Config{})
	require.NoError(t, r.User.CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
	r.vm.attachments.followNode()
	r.Settle()
	assert.False(t, r.vm.attachments.isListed("v"), "there is no node")
}

// volumesInUse is in order, and what was reported is compared with what is to be.
func TestVolumesInUseAreInOrderAndReportedWhenTheyChange(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.Settle()
	a := r.vm.attachments
	var names []v1.UniqueVolumeName
	for i := range 40 {
		name := v1.UniqueVolumeName(fmt.Sprint("v", 10+i))
		names = append(names, name)
		a.attachable[name] = true
		a.desired.volumes.put(podVolume{name, "pod"}, &volumeToMount{})
	}
	assert.Equal(t, names, a.volumesInUse())
	a.checkVolumesInUse()
	assert.Equal(t, 1, r.pods.reports)
	a.markVolumesAsReportedInUse(names)
	assert.Equal(t, names, a.reportedInUse)
	assert.Len(t, a.touched, 40)
	clear(a.touched)
	a.markVolumesAsReportedInUse(names)
	assert.Empty(t, a.touched, "they may be mounted already")
	a.checkVolumesInUse()
	assert.Equal(t, 1, r.pods.reports)
	a.desired.unseen["other"] = true
	a.desired.volumes.remove(podVolume{"v10", "pod"})
	a.checkVolumesInUse()
	assert.Equal(t, 1, r.pods.reports, "a pod that is not seen may use it")
}
