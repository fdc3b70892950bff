package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/csi"
	"github.com/storagesim/storagesim/trace"
)

// The rules of CSI for those who call a driver, spec v1.13: "Volume Lifecycle" and the sections of the calls. The sidecars
// and the kubelet call, so that a breach is a failure of the driver's author only where the driver misled them (premises.go).
//
//   - ControllerUnpublishVolume comes after NodeUnpublishVolume and NodeUnstageVolume have succeeded on that node, unless
//     the node is not ready, is gone, or has the taint out-of-service: then volumes are detached by force;
//   - a volume for one node is staged on one;
//   - NodePublishVolume comes after NodeStageVolume, if the driver stages; a volume that a pod's spec has itself (inline) is never staged;
//   - no call is made a second time while it is under way, unless its caller has crashed.

// volumeCalls follows what a driver's callers know of its volumes.
type volumeCalls struct {
	stages            map[string]bool   // machines on which it stages at all
	nodeOf            map[string]string // node ID -> machine
	staged, published map[[2]string]bool
	until             map[string]time.Time
	inline            inlineVolumes
}

// keepCSI returns an error for the first call that breaks a rule.
func keepCSI(records []trace.Entry) error {
	drivers, away, inline := map[string]*volumeCalls{}, map[string]bool{}, inlineVolumes{}
	for _, entry := range records {
		switch r := entry.Record.(type) {
		case trace.Write:
			inline.see(r)
			if r.Kind == "Node" && r.Err == nil {
				away["node/"+r.Name] = isAway(r.New)
			}
		case trace.RPC:
			d := drivers[r.Driver]
			if d == nil {
				d = &volumeCalls{
					stages: map[string]bool{}, nodeOf: map[string]string{}, staged: map[[2]string]bool{}, published: map[[2]string]bool{}, until: map[string]time.Time{},
					inline: inline,
				}
				drivers[r.Driver] = d
			}
			if err := d.see(entry, r, away); err != nil {
				return about(r.Driver, "%s %s at %s: %w", entry.Actor, r.Method, entry.Time.Format("15:04:05.000"), err)
			}
		}
	}
	return nil
}

// isAway reports whether volumes may be detached from a node by force.
func isAway(obj any) bool {
	node, ok := obj.(*v1.Node)
	if !ok || node == nil {
		return true
	}
	ready := slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
	return !ready || slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeOutOfService })
}

func (d *volumeCalls) see(entry trace.Entry, rpc trace.RPC, away map[string]bool) error {
	volume, _ := rpc.Request["volume_id"].(string)
	here, done := [2]string{volume, rpc.Machine}, rpc.Code == "OK"
	if err := d.twice(entry, rpc, volume); err != nil {
		return err
	}
	switch rpc.Method {
	case "NodeGetInfo":
		if id, ok := rpc.Answer["node_id"].(string); ok {
			d.nodeOf[id] = rpc.Machine
		}
	case "NodeStageVolume":
		d.stages[rpc.Machine] = true
		if isSingle(rpc.Request["volume_capability"]) {
			if other := d.stagedElsewhere(here, away); other != "" {
				return fmt.Errorf("volume %s is for one node: it is staged on %s, and on %s already", volume, rpc.Machine, other)
			}
		}
		if done {
			d.staged[here] = true
		}
	case "NodePublishVolume":
		if err := d.inline.unstaged(here, d.stages[rpc.Machine], d.staged); err != nil {
			return err
		}
		if done {
			d.published[here] = true
		}
	case "NodeUnpublishVolume":
		if done {
			delete(d.published, here)
		}
	case "NodeUnstageVolume":
		if done {
			delete(d.staged, here)
		}
	case "ControllerUnpublishVolume":
		id, _ := rpc.Request["node_id"].(string)
		there := [2]string{volume, d.nodeOf[id]}
		switch {
		case away[there[1]]:
			delete(d.staged, there)
			delete(d.published, there)
		case d.published[there]:
			return fmt.Errorf("volume %s is unpublished from %s before NodeUnpublishVolume has succeeded there", volume, there[1])
		case d.staged[there]:
			return fmt.Errorf("volume %s is unpublished from %s before NodeUnstageVolume has succeeded there", volume, there[1])
		}
	}
	return nil
}

// inlineVolumes has the handles of the volumes that pods' specs have themselves. The kubelet publishes such a volume without staging it.
//
// Upstream: csi_plugin.go CanDeviceMount, v1.37.
type inlineVolumes map[string]bool

// see takes note of the volumes of a pod.
func (v inlineVolumes) see(w trace.Write) {
	pod, ok := w.New.(*v1.Pod)
	if !ok {
		return
	}
	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; volume.CSI != nil {
			v[csi.InlineHandle(pod.UID, volume.Name)] = true
		}
	}
}

// unstaged returns an error for a volume (and machine) that is published and must be staged, and is not.
func (v inlineVolumes) unstaged(at [2]string, stages bool, staged map[[2]string]bool) error {
	if !stages || staged[at] || v[at[0]] {
		return nil
	}
	return fmt.Errorf("volume %s is published on %s, where it is not staged", at[0], at[1])
}

// stagedElsewhere returns another machine on which a volume is staged and that is not away, the first by its name; "" if there is none.
func (d *volumeCalls) stagedElsewhere(here [2]string, away map[string]bool) (machine string) {
	for at := range d.staged {
		if at[0] == here[0] && at[1] != here[1] && !away[at[1]] && (machine == "" || at[1] < machine) {
			machine = at[1]
		}
	}
	return machine
}

// twice returns an error for a call that began while the same one was under way.
func (d *volumeCalls) twice(entry trace.Entry, rpc trace.RPC, volume string) error {
	if volume == "" {
		return nil
	}
	target, _ := rpc.Request["target_path"].(string)
	node, _ := rpc.Request["node_id"].(string)
	call := strings.Join([]string{entry.Actor, rpc.Machine, rpc.Method, volume, target, node}, " ")
	if begin := entry.Time.Add(-rpc.Took); begin.Before(d.until[call]) {
		return fmt.Errorf("volume %s: it begins while the same call is under way", volume)
	}
	d.until[call] = entry.Time
	return nil
}

// isSingle reports whether a capability is for one node.
func isSingle(capability any) bool {
	fields, _ := capability.(map[string]any)
	access, _ := fields["access_mode"].(map[string]any)
	mode, _ := access["mode"].(string)
	return strings.HasPrefix(mode, "SINGLE_NODE")
}

// ownBreach stands for a breach of these rules, or of CallOrder, that no known bug of Kubernetes explains.
func ownBreach(rule string) *UpstreamBug {
	return &UpstreamBug{Text: fmt.Sprintf("a rule of CSI (%q) is broken by the callers of a driver: that is a bug of Kubernetes, or of this library; "+
		"please report the replay line", rule)}
}
