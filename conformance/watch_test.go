package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func finalizers(list ...any) map[string]any { return map[string]any{"/metadata/finalizers": list} }

// Two runs with the same writes in another order agree; any other write, call or event is told of.
func TestRunsAreComparedWithoutTheOrderOfThoseWhoRanAtTheSameTime(t *testing.T) {
	attached := write{object: "volumeattachments a", actor: "csi-attacher", verb: "patch", sub: "status", changed: map[string]any{"/status/attached": true}}
	bound := write{object: "volumeattachments a", actor: "other", verb: "patch", changed: map[string]any{"/metadata/labels": "x"}}
	guarded := write{object: "persistentvolumes v", actor: "csi-attacher", verb: "patch",
		changed: finalizers("kubernetes.io/pv-protection", "external-attacher/x")}
	guardedLater := guarded
	guardedLater.changed = finalizers("external-attacher/x")
	provision := DriverCall{Driver: "csi.storagesim.io", Method: "CreateVolume", Side: "controller", Code: "OK", Request: map[string]any{"name": "pvc-1"}}
	run := func(calls []DriverCall, events []said, writes ...write) []*Observation {
		return []*Observation{{name: "step", observed: &observed{writes: writes, calls: calls, events: events}}}
	}
	want := run([]DriverCall{provision}, []said{{actor: "csi-provisioner", kind: "Normal", reason: "Provisioning", object: "x"}}, attached, bound, guarded)

	same := run([]DriverCall{provision, provision}, []said{{actor: "csi-provisioner", kind: "Normal", reason: "Provisioning", object: "x"}}, guardedLater, bound,
		attached, attached)
	require.Empty(t, CompareRuns(want, same))

	other := provision
	other.Request = map[string]any{"name": "pvc-2"}
	changed := attached
	changed.changed = map[string]any{"/status/attached": false}
	require.Len(t, CompareRuns(want, run([]DriverCall{other}, []said{{actor: "csi-provisioner", kind: "Normal", reason: "Provisioning", object: "x"}}, attached,
		bound, guarded)), 1)
	require.Len(t, CompareRuns(want, run([]DriverCall{provision}, nil, attached, bound, guarded)), 1)
	require.Len(t, CompareRuns(want, run([]DriverCall{provision}, []said{{actor: "csi-provisioner", kind: "Normal", reason: "Provisioning", object: "x"}}, changed,
		bound, guarded)), 1)
	require.Len(t, CompareRuns(want,
		run([]DriverCall{provision}, []said{{actor: "csi-provisioner", kind: "Normal", reason: "Provisioning", object: "x"}}, attached, bound)), 1)
	require.Len(t, CompareRuns(want, nil), 1)
}

// Which of two components removes its finalizer of a claim first is chance; that both do is not.
func TestWhoseFinalizerOfAClaimGoesFirstIsChance(t *testing.T) {
	const protection, cloning = "kubernetes.io/pvc-protection", "provisioner.storage.kubernetes.io/cloning-protection"
	update := func(actor string, left ...any) write {
		return write{object: "persistentvolumeclaims c", actor: actor, verb: "update", changed: finalizers(left...)}
	}
	run := func(writes ...write) []*Observation {
		return []*Observation{{name: "step", observed: &observed{writes: writes}}}
	}
	want := run(update("pvc-protection-controller", cloning), update("csi-provisioner"))
	require.Empty(t, CompareRuns(want, run(update("csi-provisioner", protection), update("pvc-protection-controller"))))
	require.Len(t, CompareRuns(want, run(update("csi-provisioner", protection))), 1)
	require.Len(t, CompareRuns(want, run(update("csi-provisioner", cloning), update("pvc-protection-controller"))), 1, "it was added")
}

// A failure to attach that was overcome in the step is chance; one that stays is told of.
func TestAFailureToAttachCountsUnlessItIsOvercomeInTheStep(t *testing.T) {
	failed := write{object: "volumeattachments a", actor: "csi-attacher", verb: "patch", sub: "status",
		changed: map[string]any{attachError: map[string]any{"message": "not found"}}}
	attached := write{object: "volumeattachments a", actor: "csi-attacher", verb: "patch", sub: "status", changed: map[string]any{"/status/attached": true}}
	after := attached
	after.changed = map[string]any{"/status/attached": true, attachError: nil}
	event := said{actor: "attachdetach-controller", kind: "Warning", reason: "FailedAttachVolume", object: "pod/default/web"}
	run := func(events []said, writes ...write) []*Observation {
		return []*Observation{{name: "step", observed: &observed{writes: writes, events: events}}}
	}
	require.Empty(t, CompareRuns(run([]said{event}, failed, after), run(nil, attached)))
	require.Len(t, CompareRuns(run(nil, attached), run([]said{event}, failed)), 2)
	require.Len(t, CompareRuns(run(nil, attached), run([]said{event}, attached)), 1)
}
