package volumemanager

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

const (
	inProgress = v1.PersistentVolumeClaimNodeResizeInProgress
	pending    = v1.PersistentVolumeClaimNodeResizePending
	infeasible = v1.PersistentVolumeClaimNodeResizeInfeasible
)

func twoGi() v1.ResourceList {
	return v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Gi")}
}

// sizeStatus changes what a claim's status says of an expansion to 2Gi. status "" is none, of the controller or of the node.
func sizeStatus(capacity v1.ResourceList, status v1.ClaimResourceStatus) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) {
		claim.Status.Capacity, claim.Status.AllocatedResources = capacity, twoGi()
		volume.SetResizeStatus(claim, status)
	}
}

// grow makes the volume larger and the kubelet look.
func (r *rig) grow(change func(*v1.PersistentVolumeClaim)) {
	r.Helper()
	r.enlarge(change)
	r.vm.populator.reprocessSizes("pod-1")
	r.run(100 * time.Millisecond)
}

// patched returns how many patches of the claim the kubelet has made.
func (r *rig) patched() (n int) {
	for _, entry := range r.Engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Actor == actor && w.Verb == "patch" && w.Name == "data" {
			n++
		}
	}
	return n
}

// enlarge makes the volume 2Gi large at the storage and changes the status of the claim.
func (r *rig) enlarge(change func(*v1.PersistentVolumeClaim)) {
	r.Helper()
	ctx := context.Background()
	pv, err := r.User.CoreV1().PersistentVolumes().Get(ctx, "pv-data", metav1.GetOptions{})
	require.NoError(r, err)
	pv.Spec.Capacity = twoGi()
	_, err = r.User.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
	require.NoError(r, err)
	claim := r.claim()
	change(claim)
	_, err = r.User.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

func (r *rig) claim() *v1.PersistentVolumeClaim {
	r.Helper()
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(context.Background(), "data", metav1.GetOptions{})
	require.NoError(r, err)
	return claim
}

// What is done on a node with a volume that has grown at the storage, what its claim says afterwards, and its events.
func TestAVolumeGrowsOnItsNodeAsItsClaimSays(t *testing.T) {
	const (
		done     = `FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-data" node-1`
		broken   = `VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-data" : broken`
		noPatch  = `patchPVCStatus failed to patch PVC "data": `
		noAnswer = `VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-data" : `
	)
	older := func(capacity v1.ResourceList) func(*v1.PersistentVolumeClaim) {
		return func(claim *v1.PersistentVolumeClaim) { claim.Status.Capacity = capacity }
	}
	twice := func(event string) []string { return []string{event, event} } // of the pod and of the claim
	many := func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
	}
	told := func(claim *v1.PersistentVolumeClaim) {
		sizeStatus(oneGi(), pending)(claim)
		claim.Status.Conditions = []v1.PersistentVolumeClaimCondition{{Type: v1.PersistentVolumeClaimFileSystemResizePending, Status: v1.ConditionTrue}}
	}
	more := func(claim *v1.PersistentVolumeClaim) {
		sizeStatus(oneGi(), pending)(claim)
		claim.Status.AllocatedResources = v1.ResourceList{v1.ResourceStorage: resource.MustParse("3Gi")}
	}
	of := func(claims, skip int) engine.Fault {
		return engine.Fault{Actor: actor, Verb: "patch", Resource: "persistentvolumeclaims/status", Times: claims, Skip: skip, Err: errOther}
	}
	for name, c := range map[string]struct {
		claim  func(*v1.PersistentVolumeClaim)
		spec   func(*v1.PersistentVolumeClaim)
		before func(*rig)
		fails  error
		fault  engine.Fault

		calls     int
		size      string // of the claim, afterwards
		status    v1.ClaimResourceStatus
		known     string // the size on the node
		events    []string
		cond      int
		inUse     bool
		failed    bool
		untouched bool
	}{
		"an older resizer":                        {claim: older(oneGi()), calls: 1, size: "2Gi", known: "2Gi", events: twice(done)},
		"an older resizer that has told the size": {claim: older(twoGi()), calls: 1, size: "2Gi", known: "2Gi", events: twice(done), untouched: true},
		"an older resizer, in use": {claim: older(oneGi()), fails: &volume.InUseError{Err: errFake}, calls: 1, size: "1Gi", known: "2Gi", inUse: true,
			untouched: true},
		"an older resizer, not supported": {claim: older(oneGi()), fails: &volume.NotSupportedError{Err: errFake}, calls: 1, size: "1Gi", known: "2Gi",
			untouched: true},
		"an older resizer, broken": {claim: older(oneGi()), fails: errFake, calls: 1, size: "1Gi", known: "1Gi", events: []string{broken},
			untouched: true},
		"an older resizer, and the claim cannot be written": {claim: older(oneGi()), fault: of(1, 0), calls: 1, size: "1Gi", known: "1Gi", untouched: true,
			events: append(twice(done), noAnswer+"mountVolume.NodeExpandVolume update PVC status failed : "+noPatch+"not now")},
		"pending":              {claim: sizeStatus(oneGi(), pending), calls: 1, size: "2Gi", known: "2Gi", events: twice(done)},
		"begun":                {claim: sizeStatus(oneGi(), inProgress), calls: 1, size: "2Gi", known: "2Gi", events: twice(done)},
		"told and not cleared": {claim: sizeStatus(twoGi(), pending), calls: 1, size: "2Gi", known: "2Gi", events: twice(done)},
		"pending, and said so": {claim: told, calls: 1, size: "2Gi", known: "2Gi", events: twice(done)},
		"even larger":          {claim: more, calls: 1, size: "3Gi", known: "3Gi", events: twice(done)},
		"nothing of it said yet, and many nodes write": {claim: sizeStatus(oneGi(), ""), spec: many, size: "1Gi", known: "1Gi", untouched: true},
		"all done elsewhere, broken": {claim: sizeStatus(twoGi(), ""), spec: many, fails: errFake, calls: 1, size: "2Gi", known: "1Gi",
			events: []string{broken}, cond: 1, failed: true},
		"the controller's turn": {claim: sizeStatus(oneGi(), v1.PersistentVolumeClaimControllerResizeInProgress), size: "1Gi",
			status: v1.PersistentVolumeClaimControllerResizeInProgress, known: "1Gi", untouched: true},
		"nothing of it said yet":  {claim: sizeStatus(oneGi(), ""), size: "1Gi", known: "1Gi", untouched: true},
		"all done by another one": {claim: sizeStatus(twoGi(), ""), size: "2Gi", known: "2Gi", untouched: true},
		"all done elsewhere, and many nodes write": {claim: sizeStatus(twoGi(), ""), spec: many, calls: 1, size: "2Gi", known: "2Gi", events: twice(done),
			untouched: true},
		"all done elsewhere, not supported": {claim: sizeStatus(twoGi(), ""), spec: many, fails: &volume.NotSupportedError{Err: errFake}, calls: 1,
			size: "2Gi", known: "2Gi", untouched: true},
		"all done elsewhere, many nodes, no need": {claim: sizeStatus(twoGi(), ""), size: "2Gi", known: "2Gi", untouched: true,
			spec: func(claim *v1.PersistentVolumeClaim) {
				many(claim)
				metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.NodeExpansionNotRequired, "true")
			}},
		"broken": {claim: sizeStatus(oneGi(), pending), fails: errFake, calls: 1, size: "1Gi", status: inProgress, known: "1Gi", events: []string{broken},
			cond: 1, failed: true},
		"not supported": {claim: sizeStatus(oneGi(), pending), fails: &volume.NotSupportedError{Err: errFake}, calls: 1, size: "1Gi", status: inProgress,
			known: "1Gi", events: []string{broken}, cond: 1, failed: true},
		"no answer": {claim: sizeStatus(oneGi(), pending), fails: volume.Uncertainf("broken"), calls: 1, size: "1Gi", status: inProgress, known: "1Gi",
			events: []string{broken}},
		"never": {claim: sizeStatus(oneGi(), pending), fails: &volume.InfeasibleError{Err: errFake}, calls: 1, size: "1Gi", status: infeasible, known: "1Gi",
			events: []string{broken}, cond: 1, failed: true},
		"in use": {claim: sizeStatus(oneGi(), pending), fails: &volume.InUseError{Err: errFake}, calls: 1, size: "1Gi", status: inProgress, known: "1Gi",
			cond: 1, inUse: true, failed: true},
		"broken again, and another size is asked for": {claim: sizeStatus(oneGi(), pending), before: func(r *rig) { r.vm.sizes.failed[fakeKey.volume] = true },
			fails: errFake, calls: 1,
			size: "1Gi", status: infeasible, known: "1Gi", events: []string{broken}, cond: 1, failed: true},
		"broken again": {claim: sizeStatus(oneGi(), pending), before: func(r *rig) { r.vm.sizes.failed[fakeKey.volume] = true }, fails: errFake, calls: 1,
			spec: func(claim *v1.PersistentVolumeClaim) { claim.Spec.Resources.Requests = twoGi() },
			size: "1Gi", status: inProgress, known: "1Gi", events: []string{broken}, cond: 1, failed: true},
		"the begin cannot be written": {claim: sizeStatus(oneGi(), pending), fault: of(1, 0), size: "1Gi", status: pending, known: "1Gi",
			events: []string{noAnswer + noPatch + "not now"}, untouched: true},
		"the end cannot be written": {claim: sizeStatus(oneGi(), pending), fault: of(1, 1), calls: 1, size: "1Gi", status: inProgress, known: "1Gi",
			events: append(twice(done), noAnswer+"mountVolume.NodeExpandVolume update pvc status failed: "+noPatch+"not now")},
		"the failure cannot be written": {claim: sizeStatus(oneGi(), pending), fails: errFake, fault: of(1, 1), calls: 1, size: "1Gi",
			status: inProgress, known: "1Gi",
			events: []string{broken}, failed: true},
		"the claim cannot be read": {claim: sizeStatus(oneGi(), pending),
			fault: engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Skip: 1, Err: errOther},
			size:  "1Gi", status: pending, known: "1Gi", events: []string{noAnswer + "mountVolume.NodeExpandVolume get PVC failed : not now"}, untouched: true},
	} {
		r, p := newFakeRig(t, c.spec, nil)
		p.grows = true
		r.Settle()
		r.add("pod-1")
		r.run(100 * time.Millisecond)
		require.True(t, r.vm.AreMounted("pod-1"), name)
		require.Empty(t, p.resize, "%s: it has its size", name)
		if c.before != nil {
			c.before(r)
		}
		if c.fault.Err != nil {
			require.NoError(t, r.Engine.Inject(c.fault))
		}
		p.calls, p.fails["NodeExpand"] = nil, c.fails
		r.pods.woken = nil
		r.grow(c.claim)
		claim := r.claim()
		size, known := claim.Status.Capacity[v1.ResourceStorage], r.vm.sizes.actual[fakeKey.volume]
		assert.Len(t, p.calls, c.calls, name)
		assert.Equal(t, c.size, size.String(), name)
		assert.Equal(t, c.known, known.String(), name)
		assert.Equal(t, c.status, claim.Status.AllocatedResourceStatuses[v1.ResourceStorage], name)
		assert.Equal(t, c.events, r.said(), name)
		assert.Len(t, claim.Status.Conditions, c.cond, name)
		assert.Equal(t, c.untouched, r.patched() == 0, name)
		assert.Len(t, r.pods.woken, map[bool]int{false: 1, true: 2}[c.inUse || c.known != "1Gi"], "%s: it is seen, and wakes at the end", name)
		assert.Equal(t, name == "the failure cannot be written",
			slices.Contains(r.noted(), "MountVolume.NodeExpandVolume failed to mark node expansion as failed: "+noPatch+"not now"), name)
		assert.Equal(t, c.inUse, r.vm.sizes.inUse[fakeKey.volume], name)
		assert.Equal(t, c.failed, r.vm.sizes.failed[fakeKey.volume], name)
		if c.calls > 0 {
			size := "2Gi"
			if name == "even larger" {
				size = "3Gi"
			}
			assert.Equal(t, []string{"1Gi", size, "2Gi"}, []string{p.resize.OldSize.String(), p.resize.NewSize.String(),
				p.resize.VolumeSpec.PersistentVolume.Spec.Capacity.Storage().String()}, name)
		}
	}
}

// Upstream: resize_util.go MergeResizeConditionOnPVC, v1.37.2. Conformance: made/node_expand_codes.
func TestAClaimTellsOfTheFirstFailureOfAnExpansion(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.grows = true
	r.Settle()
	r.add("pod-1")
	r.run(100 * time.Millisecond)
	p.fails["NodeExpand"] = errFake
	r.grow(func(claim *v1.PersistentVolumeClaim) {
		sizeStatus(oneGi(), pending)(claim)
		claim.Status.Conditions = []v1.PersistentVolumeClaimCondition{
			{Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue, Message: "the first"},
		}
	})
	require.Len(t, r.claim().Status.Conditions, 1)
	require.Equal(t, "the first", r.claim().Status.Conditions[0].Message)
}

// A claim's size that a user has taken out of its status comes back with the next expansion; to write it panicked.
func TestAClaimWithoutASizeGetsItWhenItsVolumeGrows(t *testing.T) {
	for _, status := range []v1.ClaimResourceStatus{"", pending} {
		r, p := newFakeRig(t, nil, nil)
		p.grows = true
		r.Settle()
		r.add("pod-1")
		r.run(100 * time.Millisecond)
		r.grow(func(claim *v1.PersistentVolumeClaim) {
			sizeStatus(nil, status)(claim)
			if status == "" { // of an older resizer
				claim.Status.AllocatedResources = nil
			}
		})
		assert.Equal(t, "2Gi", r.claim().Status.Capacity.Storage().String(), "status %q", status)
	}
}

// A volume that has grown while no pod had it grows before it is used.
func TestAVolumeThatHasGrownMeanwhileGrowsBeforeItIsUsed(t *testing.T) {
	const (
		done     = `FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-data" node-1`
		readOnly = `FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume "pv-data" requested read-only file system`
		failed   = `FailedMount: MountVolume.Setup failed while expanding volume for volume "pv-data" : `
	)
	for name, c := range map[string]struct {
		fixed, readOnly bool
		claim           func(*v1.PersistentVolumeClaim)
		fails           error
		unread          bool

		expands, mounted bool
		known            string
		events           []string
	}{
		"it cannot grow":          {fixed: true, mounted: true, known: "0"},
		"it has its size":         {claim: func(claim *v1.PersistentVolumeClaim) { claim.Status.Capacity = twoGi() }, mounted: true, known: "2Gi"},
		"it is larger":            {expands: true, mounted: true, known: "2Gi", events: []string{done, done}},
		"it is only read":         {readOnly: true, mounted: true, known: "1Gi", events: []string{readOnly, readOnly}},
		"the controller's turn":   {claim: sizeStatus(oneGi(), v1.PersistentVolumeClaimControllerResizeInProgress), mounted: true, known: "1Gi"},
		"it is broken":            {fails: errFake, expands: true, known: "1Gi", events: []string{failed + "broken"}},
		"its claim is not read":   {unread: true, known: "0", events: []string{failed + "mountVolume.NodeExpandVolume get PVC failed : not now"}},
		"it is in use":            {fails: &volume.InUseError{Err: errFake}, expands: true, mounted: true, known: "2Gi"},
		"its driver says pending": {claim: sizeStatus(oneGi(), pending), fails: &volume.InUseError{Err: errFake}, expands: true, mounted: true, known: "1Gi"},
	} {
		r, p := newFakeRig(t, nil, larger)
		p.grows, p.fails["NodeExpand"] = !c.fixed, c.fails
		r.Settle()
		if c.claim != nil {
			r.editStatus(c.claim)
		}
		if c.unread {
			require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Skip: 1, Err: errOther}))
		}
		pod := podOf("pod-1", false)
		pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = c.readOnly
		r.addPod(pod)
		r.run(100 * time.Millisecond)
		known := r.vm.sizes.actual[fakeKey.volume]
		assert.Equal(t, c.known, known.String(), name)
		assert.Equal(t, c.mounted, r.vm.AreMounted("pod-1"), name)
		assert.Equal(t, c.events, r.said(), name)
		assert.Equal(t, !c.fixed, r.syncs("pod-1"), name)
		assert.Equal(t, c.expands, p.calls[len(p.calls)-1] == "NodeExpand", name)
		if c.expands {
			assert.Equal(t, "2Gi", p.resize.VolumeSpec.PersistentVolume.Spec.Capacity.Storage().String(), name)
			assert.Equal(t, []string{"1Gi", "2Gi", fakeVolume{p, "pv-data", "pod-1"}.GetPath(), "/stage/pv-data"},
				[]string{p.resize.OldSize.String(), p.resize.NewSize.String(), p.resize.DeviceMountPath, p.resize.DeviceStagePath}, name)
		}
	}
}

// A claim that is said to wait for its node and says no size is not one of an older resizer.
func TestAnExpansionWithoutASizeIsNoneOfAnOlderResizer(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.grows = true
	r.Settle()
	claim := r.claim()
	volume.SetResizeStatus(claim, pending)
	v := &volumeToMount{podVolume: fakeKey, spec: fakeSpec("pv-data"), plugin: p, about: podOf("pod-1", false)}
	r.do(func(ctx context.Context) {
		_, _ = r.vm.operations.expansion.nodeExpandVolume(ctx, v, claim, volume.NodeResizeOptions{NewSize: twoGi()[v1.ResourceStorage]})
	})
	assert.Equal(t, "0", p.resize.NewSize.String())
}

// The plugin is told where the volume is that is to grow on the node.
func TestAPluginIsToldWhereTheVolumeIsThatGrows(t *testing.T) {
	path := fakeVolume{name: "pv-data", pod: "pod-1"}.GetPath()
	for _, c := range []struct {
		block, alone         bool
		fails, event         string
		device, mount, stage string
	}{
		{mount: path, stage: "/stage/pv-data"},
		{alone: true, mount: path},
		{fails: "NewMounter", event: `NodeExpandVolume.NewMounter initialization failed for volume "pv-data" : broken`},
		{fails: "NewDeviceMounter", event: `NodeExpandVolume.GetDeviceMountPath failed for volume "pv-data" : broken`},
		{fails: "GetDeviceMountPath", event: `NodeExpandVolume.GetDeviceMountPath failed for volume "pv-data" : broken`},
		{block: true, device: "/dev/fake", stage: "/stage/pv-data"},
		{block: true, fails: "NewBlockVolumeMapper", event: `MapVolume.NewBlockVolumeMapper initialization failed for volume "pv-data" : broken`},
		{block: true, fails: "link", event: "readlink"},
	} {
		r, p := newFakeRig(t, nil, map[bool]func(*v1.PersistentVolume){true: ofBlocks}[c.block])
		p.grows, p.stages = true, !c.alone
		r.Settle()
		r.addPod(podOf("pod-1", c.block))
		r.run(100 * time.Millisecond)
		require.True(t, r.vm.AreMounted("pod-1"), "%+v", c)
		p.fails[c.fails], p.calls = errFake, nil
		if c.fails == "link" {
			require.NoError(t, r.node.Remove(fakeLink))
		}
		r.grow(func(*v1.PersistentVolumeClaim) {})
		if c.event == "" {
			assert.Equal(t, []string{"NodeExpand"}, p.calls, "%+v", c)
			assert.Equal(t, []string{c.device, c.mount, c.stage}, []string{p.resize.DevicePath, p.resize.DeviceMountPath, p.resize.DeviceStagePath}, "%+v", c)
			continue
		}
		assert.Empty(t, p.calls, "%+v", c)
		if assert.Len(t, r.said(), map[bool]int{false: 1, true: 3}[c.block], "%+v", c) { // a device that is mapped has two events
			assert.Contains(t, r.said()[len(r.said())-1], "VolumeResizeFailed: "+c.event)
		}
	}
}
