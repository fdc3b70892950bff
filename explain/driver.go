package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

// The trace knows more of a CSI driver than its callers are told: why its process does not start, why a kubelet does not take it, where its code panics,
// what it answered.

// unregistered blames what keeps a driver from registering with a node's kubelet: its process does not start, or the kubelet refuses it. It reports
// whether that is known.
func (x *explainer) unregistered(driver, node string) bool {
	csiNode, err := x.Client.StorageV1().CSINodes().Get(x.ctx, node, metav1.GetOptions{})
	if err == nil && slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
		return false
	}
	process := "csi-driver/" + driver + "/" + node
	v := Verdict{Class: Ill, Code: DriverMissing, Object: "actor/" + process}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		said, ok := entry.Record.(trace.Decision)
		if !ok {
			continue
		}
		if why, found := strings.CutPrefix(said.Text, "cannot start: "); found && entry.Actor == process {
			v.Do, v.Cause = "mend what the driver says", fmt.Sprintf("driver %s cannot start on node %s: %s", driver, node, oneLine(why))
			x.blame(v)
			return true
		}
		if why, found := strings.CutPrefix(said.Text, "is not registered: "); found && entry.Actor == "csi-registrar/"+driver+"/"+node {
			v.Do, v.Cause = "mend what the driver answers", fmt.Sprintf("driver %s is not registered on node %s: %s", driver, node, x.refusal(driver, node, why))
			x.blame(v)
			x.panicsIn(driver, func(rpc trace.RPC) bool { return rpc.Machine == "node/"+node && rpc.Request["volume_id"] == nil })
			return true
		}
	}
	return false
}

// refusal returns the error of a registration, and what the driver answered that it is about.
func (x *explainer) refusal(driver, node, why string) string {
	// What the registrar and the kubelet say before the error itself.
	for _, begins := range []string{"registration process failed with error: ", "RegisterPlugin error -- ", "plugin registration failed with err: "} {
		why = strings.TrimPrefix(why, begins)
	}
	answered, labels := "", ""
	for _, entry := range slices.Backward(x.Log.Entries()) {
		switch r := entry.Record.(type) {
		case trace.Write: // the error of the kubelet repeats it for each of its tries
			if entry.Actor == "kubelet/"+node && r.Kind == "Node" && r.Err != nil && strings.Contains(why, r.Err.Error()) {
				before, _, _ := strings.Cut(why, ": ")
				why, labels = before+": "+r.Err.Error(), " (the labels are the accessible_topology that NodeGetInfo answered)"
			}
		case trace.RPC:
			if r.Method != "NodeGetInfo" || r.Driver != driver || r.Machine != "node/"+node {
				continue
			}
			switch {
			case r.Code != "OK" && strings.Contains(why, r.Err):
				answered = " (that is what NodeGetInfo answered)"
			case r.Code != "OK":
				answered = fmt.Sprintf(" (NodeGetInfo: %s: %s)", r.Code, r.Err)
			case r.Answer["node_id"] == nil:
				answered = " (NodeGetInfo answered no node_id)"
			}
			return oneLine(why + cmp.Or(answered, labels))
		}
	}
	return oneLine(why)
}

// panicsIn blames a driver's code that panicked in the last call of its kind that about chooses.
func (x *explainer) panicsIn(driver string, about func(trace.RPC) bool) {
	done := map[string]bool{}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		rpc, ok := entry.Record.(trace.RPC)
		if !ok || rpc.Driver != driver || !about(rpc) {
			continue
		}
		if rpc.Stack == "" || !strings.HasPrefix(rpc.Fault, driverPanics) {
			done[rpc.Method] = done[rpc.Method] || rpc.Code == "OK"
			continue
		}
		if done[rpc.Method] {
			return
		}
		actor := "csi-driver/" + driver
		if rpc.Service == "csi.v1.Node" {
			actor += "/" + strings.TrimPrefix(rpc.Machine, "node/")
		}
		x.blame(Verdict{Class: Ill, Code: Panicked, Object: "actor/" + actor, Do: "mend the driver's code there",
			Cause: fmt.Sprintf("driver %s %s", driver, oneLine(strings.TrimPrefix(rpc.Fault, "the driver ")))})
		return
	}
}

// driverPanics begins what a call says of a driver that panicked in it (package csi/call).
const driverPanics = "the driver panics in "

// volumePanics blames the panics of a driver in calls about a volume, those of its node service on one node only.
func (x *explainer) volumePanics(source *v1.CSIPersistentVolumeSource, node string) {
	if source == nil {
		return
	}
	x.panicsIn(source.Driver, func(rpc trace.RPC) bool {
		here := rpc.Service != "csi.v1.Node" || rpc.Machine == "node/"+node
		return here && (rpc.Request["volume_id"] == source.VolumeHandle || rpc.Method == "NodeGetCapabilities")
	})
}

// attachedSource returns the source of the volume that a VolumeAttachment is of, nil if it is not known.
func (x *explainer) attachedSource(va *storagev1.VolumeAttachment) *v1.CSIPersistentVolumeSource {
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		if pv, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, *name, metav1.GetOptions{}); err == nil {
			return pv.Spec.CSI
		}
	}
	return nil
}

// grewLess returns what a driver answered when it was last asked to expand a volume, if that was less than it was asked for.
func (x *explainer) grewLess(source *v1.CSIPersistentVolumeSource) string {
	if source == nil {
		return ""
	}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		rpc, ok := entry.Record.(trace.RPC)
		if !ok || rpc.Method != "ControllerExpandVolume" || rpc.Driver != source.Driver || rpc.Request["volume_id"] != source.VolumeHandle {
			continue
		}
		asked, _ := rpc.Request["capacity_range"].(map[string]any)
		least, _ := asked["required_bytes"].(int64)
		got, _ := rpc.Answer["capacity_bytes"].(int64)
		if rpc.Code != "OK" || got >= least {
			return ""
		}
		return fmt.Sprintf("driver %s answered ControllerExpandVolume with capacity_bytes %d, and required_bytes was %d", source.Driver, got, least)
	}
	return ""
}
