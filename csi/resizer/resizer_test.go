package resizer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/csi/resizer"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

const actor = "csi-resizer"

var ctx = context.Background()

// rig is a resizer, its driver, and claim data bound to volume pv-1, of 1Gi. The test plays the kubelet and the
// user.
type rig struct {
	*enginetest.Rig
	driver *csitest.Driver
}

func newRig(t testing.TB, cfg engine.Config, change ...func(*csitest.Driver, *resizer.Config)) *rig {
	t.Helper()
	driver := csitest.New()
	driver.Controller = append(driver.Controller, csi.ControllerServiceCapability_RPC_EXPAND_VOLUME)
	driver.Volumes["h-1"] = "pv-1"
	rcfg := resizer.Config{Common: sidecar.Common{Driver: csitest.Name, Dial: driver.Dial}}
	for _, f := range change {
		f(driver, &rcfg)
	}
	r := &rig{enginetest.New(t, cfg, actor, resizer.New(rcfg)), driver}
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	class, expansion := "fast", true
	_, err := r.User.StorageV1().StorageClasses().Create(ctx, &storage.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: csitest.Name, AllowVolumeExpansion: &expansion,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class, VolumeName: "pv-1",
			Resources: v1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = r.User.CoreV1().PersistentVolumes().Create(ctx, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: class,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "data", UID: claim.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: csitest.Name, VolumeHandle: "h-1"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	claim.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, Capacity: size, AccessModes: claim.Spec.AccessModes}
	_, err = r.User.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.Settle()
	return r
}

func (r *rig) claim() *v1.PersistentVolumeClaim {
	r.Helper()
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
	require.NoError(r, err)
	return claim
}

func (r *rig) pv() *v1.PersistentVolume {
	r.Helper()
	pv, err := r.User.CoreV1().PersistentVolumes().Get(ctx, "pv-1", metav1.GetOptions{})
	require.NoError(r, err)
	return pv
}

// ask requests another size, as a user does.
func (r *rig) ask(size string) {
	r.Helper()
	claim := r.claim()
	claim.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse(size)
	_, err := r.User.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

// nodeDone writes the claim's new size, as the kubelet does.
func (r *rig) nodeDone(size string) {
	r.Helper()
	claim := r.claim()
	claim.Status.Capacity[v1.ResourceStorage] = resource.MustParse(size)
	claim.Status.AllocatedResourceStatuses, claim.Status.Conditions = nil, nil
	_, err := r.User.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

func (r *rig) runFor(d time.Duration) {
	r.Helper()
	require.NoError(r, r.Engine.RunFor(d))
}

// asked returns the sizes in the calls of the driver, with the code of failures.
func (r *rig) asked() []string {
	var sizes []string
	for _, c := range r.driver.Calls {
		if req, ok := c.Request.(*csi.ControllerExpandVolumeRequest); ok {
			text := resource.NewQuantity(req.GetCapacityRange().GetRequiredBytes(), resource.BinarySI).String()
			if c.Code != codes.OK {
				text += " " + c.Code.String()
			}
			sizes = append(sizes, text)
		}
	}
	return sizes
}

// writes returns what the resizer wrote, in order, and its events.
func (r *rig) writes() []string {
	var list []string
	for _, entry := range r.Engine.Trace().Entries() {
		switch w := entry.Record.(type) {
		case trace.Write:
			if w.Actor != actor || w.Resource.Resource == "events" {
				continue
			}
			text := w.Verb + " " + w.Resource.Resource
			if w.Subresource != "" {
				text += "/" + w.Subresource
			}
			if w.Code >= 400 {
				text += fmt.Sprint(" ", w.Code)
			}
			list = append(list, text)
		case trace.Event:
			list = append(list, w.Reason)
		}
	}
	return list
}

func conditions(claim *v1.PersistentVolumeClaim) (types []string) {
	for _, c := range claim.Status.Conditions {
		types = append(types, string(c.Type))
	}
	return types
}

const preResize = "volume.alpha.kubernetes.io/pre-resize-capacity"

// As recorded: full/csi09a_expand_online, step 4. semantics: section 7 must 11.
func TestAVolumeGrowsBeforeItsClaimAndWaitsForTheNode(t *testing.T) {
	enginetest.AtEverySeed(t, 20, func(t testing.TB, cfg engine.Config) {
		r := newRig(t, cfg)
		r.ask("2Gi")
		r.Settle()
		assert.Equal(t, []string{"2Gi"}, r.asked())
		assert.Equal(t, []string{
			"patch persistentvolumeclaims/status", "Resizing", "patch persistentvolumes", "patch persistentvolumeclaims/status", "FileSystemResizeRequired",
		}, r.writes())
		claim, pv := r.claim(), r.pv()
		assert.Equal(t, "2Gi", pv.Spec.Capacity.Storage().String())
		assert.Equal(t, "1Gi", pv.Annotations[preResize])
		assert.Equal(t, "1Gi", claim.Status.Capacity.Storage().String(), "the node has not done its part")
		assert.Equal(t, v1.PersistentVolumeClaimNodeResizePending, claim.Status.AllocatedResourceStatuses[v1.ResourceStorage])
		assert.Equal(t, []string{"Resizing", "FileSystemResizePending"}, conditions(claim))

		r.ask("3Gi")
		r.Settle()
		assert.Equal(t, []string{"2Gi"}, r.asked(), "the node goes first")

		r.nodeDone("2Gi")
		r.Settle()
		assert.Equal(t, []string{"2Gi", "3Gi"}, r.asked())
		r.nodeDone("3Gi")
		r.Settle()
		assert.NotContains(t, r.pv().Annotations, preResize)
	})
}

func TestAVolumeThatNeedsNoWorkOnNodesIsDoneAtOnce(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *resizer.Config) { d.NothingOnNodes = true })
	r.ask("2Gi")
	r.Settle()
	claim := r.claim()
	assert.Equal(t, "2Gi", claim.Status.Capacity.Storage().String())
	assert.Equal(t, "true", claim.Annotations["volume.kubernetes.io/node-expansion-not-required"])
	assert.Empty(t, claim.Status.Conditions)
	assert.Empty(t, claim.Status.AllocatedResourceStatuses)
	assert.NotContains(t, r.pv().Annotations, preResize)
	assert.Equal(t, "VolumeResizeSuccessful", r.writes()[len(r.writes())-1])
}

func TestAFailureThatIsFinalLetsTheUserAskForLess(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerExpandVolume", Code: codes.Internal, Times: 3})
	r.ask("9Gi")
	r.runFor(500 * time.Millisecond)
	assert.Contains(t, r.writes(), "VolumeResizeFailed")
	assert.Equal(t, []string{"Resizing", "ControllerResizeError"}, conditions(r.claim()))
	assert.Contains(t, r.claim().Status.Conditions[1].Message, "failed to expand pvc with rpc error: code = Internal desc = injected Internal")
	r.ask("2Gi")
	r.Settle()
	assert.Equal(t, "2Gi", r.asked()[len(r.asked())-1])
	assert.Equal(t, "2Gi", r.pv().Spec.Capacity.Storage().String())
	allocated := r.claim().Status.AllocatedResources[v1.ResourceStorage]
	assert.Equal(t, "2Gi", allocated.String())
}

func TestWhatMayBeUnderWayComesBeforeASmallerRequest(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerExpandVolume", Code: codes.Unavailable, Times: 3})
	r.ask("9Gi")
	r.runFor(500 * time.Millisecond)
	r.ask("2Gi")
	r.Settle()
	asked := r.asked()
	assert.NotContains(t, asked, "2Gi", "9Gi may have been made")
	assert.Equal(t, "9Gi", asked[len(asked)-1])
	assert.Equal(t, "9Gi", r.pv().Spec.Capacity.Storage().String())
}

func TestWhatCanNeverBeIsTriedAgainSlowly(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerExpandVolume", Code: codes.OutOfRange})
	r.ask("9Gi")
	r.runFor(4 * time.Minute)
	assert.Equal(t, v1.PersistentVolumeClaimControllerResizeInfeasible, r.claim().Status.AllocatedResourceStatuses[v1.ResourceStorage])
	first := len(r.asked())
	assert.Equal(t, 2, first, "%v", r.asked())
	r.runFor(2 * time.Minute)
	assert.Len(t, r.asked(), 4, "after 5 minutes, and once more")
	r.runFor(8 * time.Minute)
	again := len(r.asked()) - first
	assert.Equal(t, 4, again, "calls in ten minutes")
	r.driver.Failures = nil
	r.ask("2Gi")
	r.runFor(time.Minute)
	assert.Equal(t, "2Gi", r.asked()[len(r.asked())-1], "a smaller size is tried at once")
	assert.Equal(t, "2Gi", r.pv().Spec.Capacity.Storage().String())
}

func TestAVolumeThatCannotGrowInUseWaitsForItsPods(t *testing.T) {
	r := newRig(t, engine.Config{})
	pod, err := r.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "c", Image: "busybox"}},
			Volumes:    []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.driver.Fail(csitest.Failure{Method: "ControllerExpandVolume", Code: codes.FailedPrecondition, Times: 1})
	r.ask("2Gi")
	r.runFor(10 * time.Minute)
	assert.Equal(t, []string{"2Gi FailedPrecondition"}, r.asked(), "as long as the pod is there")
	pod.Status.Phase = v1.PodSucceeded
	_, err = r.User.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.runFor(6 * time.Minute)
	assert.Equal(t, []string{"2Gi FailedPrecondition", "2Gi"}, r.asked())
}

// Seen in u10d_sidecars_of_a_driver_that_lacks_capabilities.
func TestADriverThatCannotExpandIsNeverAskedAndEndsItsResizer(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *resizer.Config) {
		d.Controller = []csi.ControllerServiceCapability_RPC_Type{csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}
	})
	r.ask("2Gi")
	r.Settle()
	assert.Empty(t, r.asked())
	assert.Empty(t, r.writes())
	began := r.Engine.Now()
	require.NoError(t, r.Engine.Settle(), "it is at rest meanwhile")
	require.Equal(t, began, r.Engine.Now())
	r.runFor(time.Minute)
	ends := strings.Count(r.Engine.Trace().String(), "ends by itself: Failed to create CSI resizer: failed to check if plugin supports node resize: "+
		"error getting node capabilities: rpc error: code = Unimplemented")
	require.Equal(t, 4, ends, "at once, after 10 s, 20 s and 40 s:\n%s", r.Engine.Trace().String())
}

func TestACrashOfTheResizerAfterAnyWriteLosesNothing(t *testing.T) {
	for at := 1; at <= 3; at++ {
		r := newRig(t, engine.Config{})
		require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "patch", Skip: at - 1, Times: 1, After: true, Crash: true}))
		r.ask("2Gi")
		r.Settle()
		assert.Equal(t, "2Gi", r.pv().Spec.Capacity.Storage().String(), "crash after write %d", at)
		assert.Equal(t, v1.PersistentVolumeClaimNodeResizePending, r.claim().Status.AllocatedResourceStatuses[v1.ResourceStorage], "crash after write %d", at)
	}
}

func TestAConfigThatCannotBeIsRefused(t *testing.T) {
	dial := csitest.New().Dial
	for want, cfg := range map[string]resizer.Config{
		"resizer.Config.Driver is empty":                                   {Common: sidecar.Common{Dial: dial}},
		`resizer of driver "d": Config.Dial must be set`:                   {Common: sidecar.Common{Driver: "d"}},
		`Config.Workers is -1; it must be positive, or 0 for the default`:  {Common: sidecar.Common{Driver: "d", Dial: dial}, Workers: -1},
		`Config.Timeout is -1s; it must be positive, or 0 for the default`: {Common: sidecar.Common{Driver: "d", Dial: dial, Timeout: -time.Second}},
		`Config.Resync is -1ms; it must be positive, or 0 for the default`: {Common: sidecar.Common{Driver: "d", Dial: dial, Resync: -time.Millisecond}},
	} {
		assert.ErrorContains(t, resizer.New(cfg)(nil), want)
	}
}
