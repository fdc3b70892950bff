package resizer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/resizer"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/trace"
)

// modifying makes a driver able to modify volumes, too.
func modifying(d *csitest.Driver, _ *resizer.Config) {
	d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_MODIFY_VOLUME)
}

func newModifyRig(t testing.TB, cfg engine.Config, change ...func(*csitest.Driver, *resizer.Config)) *rig {
	t.Helper()
	r := newRig(t, cfg, append([]func(*csitest.Driver, *resizer.Config){modifying}, change...)...)
	for _, name := range []string{"silver", "gold"} {
		r.attributes(name)
	}
	return r
}

// attributes creates a VolumeAttributesClass.
func (r *rig) attributes(name string) {
	r.Helper()
	_, err := r.User.StorageV1().VolumeAttributesClasses().Create(ctx, &storage.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: csitest.Name, Parameters: map[string]string{"tier": name},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
}

// askFor sets another class in the claim, as a user does.
func (r *rig) askFor(name *string) {
	r.Helper()
	claim := r.claim()
	claim.Spec.VolumeAttributesClassName = name
	_, err := r.User.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

// told returns the events, "REASON MESSAGE".
func (r *rig) told() (list []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok {
			list = append(list, e.Reason+" "+e.Message)
		}
	}
	return list
}

// conditions returns the claim's conditions as "TYPE REASON: MESSAGE".
func (r *rig) conditions() (list []string) {
	for _, c := range r.claim().Status.Conditions {
		list = append(list, strings.Replace(string(c.Type)+" "+c.Reason+": "+c.Message, " :", ":", 1))
	}
	return list
}

func (r *rig) requireHas(class string) {
	r.Helper()
	status := r.claim().Status
	require.NotNil(r, status.CurrentVolumeAttributesClassName)
	assert.Equal(r, class, *status.CurrentVolumeAttributesClassName)
	assert.Nil(r, status.ModifyVolumeStatus)
	assert.Empty(r, r.conditions())
	require.NotNil(r, r.pv().Spec.VolumeAttributesClassName)
	assert.Equal(r, class, *r.pv().Spec.VolumeAttributesClassName)
}

func (r *rig) modifyStatus() v1.ModifyVolumeStatus {
	r.Helper()
	status := r.claim().Status.ModifyVolumeStatus
	require.NotNil(r, status)
	return *status
}

func ptr[T any](v T) *T { return &v }

func TestAVolumeGetsTheClassThatItsClaimAsksFor(t *testing.T) {
	r := newModifyRig(t, engine.Config{})
	_, err := r.User.CoreV1().Secrets("default").Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"k": []byte("v")}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	pv := r.pv()
	pv.Annotations = map[string]string{"volume.kubernetes.io/controller-modify-secret-name": "s",
		"volume.kubernetes.io/controller-modify-secret-namespace": "default"}
	_, err = r.User.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.Settle()
	require.Empty(t, r.driver.Calls)

	var during v1.PersistentVolumeClaimStatus
	r.driver.OnCall = func(string, proto.Message) { during = r.claim().Status }
	r.askFor(ptr("gold"))
	r.Settle()
	require.Equal(t, []string{"ControllerModifyVolume"}, r.driver.Methods())
	req := csitest.Last[*csi.ControllerModifyVolumeRequest](r.driver)
	assert.Equal(t, "h-1", req.VolumeId)
	assert.Equal(t, map[string]string{"tier": "gold"}, req.MutableParameters)
	assert.Equal(t, map[string]string{"k": "v"}, req.Secrets)
	assert.Equal(t, &v1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "gold", Status: v1.PersistentVolumeClaimModifyVolumeInProgress},
		during.ModifyVolumeStatus)
	require.Len(t, during.Conditions, 1)
	assert.Equal(t, `Modifying volume to "gold" is in progress.`, during.Conditions[0].Message)
	assert.Equal(t, []string{
		"VolumeModify external resizer is modifying volume data with vac gold",
		"VolumeModifySuccessful external resizer modified volume data with vac gold successfully",
	}, r.told())
	r.requireHas("gold")
	require.NoError(t, r.Engine.RunFor(time.Hour))
	require.Len(t, r.driver.Calls, 1)
}

func TestADriverThatCannotChangeVolumesIsNotAsked(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.attributes("gold")
	r.askFor(ptr("gold"))
	require.NoError(t, r.Engine.RunFor(time.Hour))
	require.Empty(t, r.driver.Calls)
	require.Nil(t, r.claim().Status.ModifyVolumeStatus)
}

func TestNamesAreAddedToTheParametersIfThatIsWanted(t *testing.T) {
	r := newModifyRig(t, engine.Config{}, func(_ *csitest.Driver, c *resizer.Config) { c.ExtraModifyMetadata = true })
	r.askFor(ptr("gold"))
	r.Settle()
	require.Equal(t, map[string]string{
		"tier": "gold", "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "default", "csi.storage.k8s.io/pv/name": "pv-1",
	}, csitest.Last[*csi.ControllerModifyVolumeRequest](r.driver).MutableParameters)
}

func TestAClassThatDoesNotExistLeavesTheChangePending(t *testing.T) {
	r := newModifyRig(t, engine.Config{})
	r.askFor(ptr("platinum"))
	r.Settle()
	require.Equal(t, v1.ModifyVolumeStatus{Status: v1.PersistentVolumeClaimModifyVolumePending}, r.modifyStatus())
	require.Empty(t, r.conditions())
	require.Equal(t, []string{`VolumeModifyFailed VAC "platinum" does not exist.`}, r.told())
	r.askFor(ptr("gold"))
	r.Settle()
	r.requireHas("gold")
}

func TestAChangeThatCanNeverBeIsTriedAgainSlowlyAndAnotherClassAtOnce(t *testing.T) {
	r := newModifyRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerModifyVolume", Code: codes.InvalidArgument, Times: 2})
	r.askFor(ptr("gold"))
	require.NoError(t, r.Engine.RunFor(4*time.Minute))
	require.Equal(t, []string{"ControllerModifyVolume InvalidArgument"}, r.driver.Methods())
	require.Equal(t, v1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "gold", Status: v1.PersistentVolumeClaimModifyVolumeInfeasible}, r.modifyStatus())
	require.Equal(t, []string{
		`ModifyingVolume: Modifying volume to "gold" failed. Waiting for retry.`, "ModifyVolumeError InvalidArgument: injected InvalidArgument",
	}, r.conditions())
	require.NoError(t, r.Engine.RunFor(6*time.Minute))
	require.Len(t, r.driver.Calls, 2, "after 5 minutes")
	require.Equal(t, "VolumeModifyFailed rpc error: code = InvalidArgument desc = injected InvalidArgument", r.told()[1])

	r.askFor(ptr("silver"))
	r.Settle()
	r.requireHas("silver")
}

func TestAClaimThatAsksForNoClassAnyMoreCancelsWhatWasNotFinished(t *testing.T) {
	r := newModifyRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerModifyVolume", Code: codes.InvalidArgument})
	r.askFor(ptr("gold"))
	r.Settle()
	r.askFor(nil)
	r.Settle()
	require.Equal(t, "VolumeModifyCanceled Cancelled modify.", r.told()[len(r.told())-1])
	require.Equal(t, []string{"ModifyVolumeError InvalidArgument: injected InvalidArgument"}, r.conditions())
	require.Equal(t, v1.PersistentVolumeClaimModifyVolumeInfeasible, r.modifyStatus().Status)
}

func TestAfterAnErrorThatLeavesOpenWhatWasDoneTheSameClassIsTriedAgain(t *testing.T) {
	r := newModifyRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerModifyVolume", Code: codes.Unavailable, Times: 3})
	r.askFor(ptr("gold"))
	require.NoError(t, r.Engine.RunFor(500*time.Millisecond))
	require.Equal(t, v1.PersistentVolumeClaimModifyVolumeInProgress, r.modifyStatus().Status)
	require.Equal(t, []string{
		`ModifyingVolume: Modifying volume to "gold" is still in progress.`, "ModifyVolumeError Unavailable: injected Unavailable",
	}, r.conditions())
	require.Contains(t, r.told(), "VolumeModifyFailed rpc error: code = Unavailable desc = injected Unavailable. Still modifying to VAC gold")
	r.askFor(ptr("silver"))
	require.NoError(t, r.Engine.RunFor(time.Minute))
	var targets []string
	for _, call := range r.driver.Calls {
		if req, ok := call.Request.(*csi.ControllerModifyVolumeRequest); ok {
			targets = append(targets, req.MutableParameters["tier"])
		}
	}
	require.Equal(t, []string{"gold", "gold", "gold", "gold", "silver"}, targets)
	r.requireHas("silver")
}

func TestAResizerThatCrashesAnywhereEndsTheChange(t *testing.T) {
	for points := range 60 {
		r := newModifyRig(t, engine.Config{})
		r.askFor(ptr("gold"))
		for range points {
			_, err := r.Engine.Step()
			require.NoError(t, err)
		}
		require.NoError(t, r.Engine.CrashFor(actor, time.Second))
		r.askFor(ptr("silver"))
		require.NoError(t, r.Engine.RunFor(time.Minute))
		r.requireHas("silver")
		require.Equal(t, "silver", csitest.Last[*csi.ControllerModifyVolumeRequest](r.driver).MutableParameters["tier"], "after a crash at step %d", points)
	}
}
