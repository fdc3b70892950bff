package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// wayOut says what a user can do about what turned a node down.
func (x *explainer) wayOut(v scheduler.NodeVerdict) string {
	switch v.Plugin {
	case "NodeUnschedulable":
		return "uncordon " + v.Node
	case "NodeAffinity":
		return "give a node the labels that the pod's nodeSelector and affinity ask for, or change those"
	case "TaintToleration":
		return "remove the taint, or let the pod tolerate it"
	case "NodeResourcesFit":
		if slices.ContainsFunc(v.Reasons, func(r string) bool { return strings.Contains(r, "ephemeral-storage") }) {
			return "request less, end other pods, or give the nodes larger disks (--disk-size, or Config.DiskSize in Go)"
		}
		return "request less, end other pods, or add a node"
	case "NodePorts":
		return "use another hostPort, or end the pod that has it"
	case "NodeVolumeLimits":
		return "end a pod that has volumes of the driver there, or add a node"
	case "VolumeRestrictions":
		return "end the pod that uses the volume, or use a volume that more pods may use"
	case "VolumeZone":
		return "run the pod on a node in the volume's zone"
	case "InterPodAffinity":
		return "change the pod's affinity and anti-affinity to other pods, or add a node"
	case "PodTopologySpread":
		return "change the pod's topologySpreadConstraints, or add a node"
	case "VolumeBinding":
		return x.volumeWayOut(v.Conflicts)
	}
	return ""
}

// volumeWayOut says what a user can do about claims that keep a pod from a node.
func (x *explainer) volumeWayOut(conflicts scheduler.Conflicts) string {
	for _, c := range conflicts {
		switch c.Reason {
		case scheduler.ErrReasonNodeConflict:
			return "run the pod where its volume is"
		case scheduler.ErrReasonBindConflict:
			return "create a volume that fits on a node that the pod may use, or use a class whose provisioner makes one there"
		case scheduler.ErrReasonNotEnoughSpace:
			if driver := x.unpublished(c.Claim); driver != "" {
				if refused := x.refusedCapacity(driver); refused != nil {
					return fmt.Sprintf("mend what driver %s answers to GetCapacity: its CSIStorageCapacity is refused: %s", driver, oneLine(refused.Error()))
				}
				return fmt.Sprintf("nothing publishes how much room driver %s has: run its csi-provisioner with --enable-capacity (EnableCapacity in Go), "+
					"or set spec.storageCapacity of csidriver/%s to false", driver, driver)
			}
			return "ask for less, or make room on the storage"
		}
	}
	return ""
}

// refusedCapacity returns why the API server does not take a CSIStorageCapacity of a driver; nil if nothing is known.
func (x *explainer) refusedCapacity(driver string) error {
	for _, entry := range slices.Backward(x.Log.Entries()) {
		w, ok := entry.Record.(trace.Write)
		if ok && w.Kind == "CSIStorageCapacity" && apierrors.IsInvalid(w.Err) && strings.HasPrefix(entry.Actor, "csi-provisioner/"+driver) {
			return w.Err
		}
	}
	return nil
}

// unpublished returns the driver of a claim's class if there is no CSIStorageCapacity of that class at all; "" if there is one. The claim has the
// form namespace/name.
func (x *explainer) unpublished(key string) (driver string) {
	ns, name, _ := strings.Cut(key, "/")
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	class, err := x.Client.StorageV1().StorageClasses().Get(x.ctx, binding.GetPersistentVolumeClaimClass(claim), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, obj := range x.Objects() {
		if room, ok := obj.(*storagev1.CSIStorageCapacity); ok && room.StorageClassName == class.Name {
			return ""
		}
	}
	return class.Provisioner
}

// waysOut says what a user can do about nodes that were turned down, each way once. Of many, the first are enough.
func (x *explainer) waysOut(nodes []scheduler.NodeVerdict) string {
	const enough = 3
	var ways []string
	cordoned := false // one node to uncordon is enough
	for _, v := range nodes {
		way := x.wayOut(v)
		if way == "" || slices.Contains(ways, way) || v.Plugin == "NodeUnschedulable" && cordoned || len(ways) == enough {
			continue
		}
		cordoned = cordoned || v.Plugin == "NodeUnschedulable"
		ways = append(ways, way)
	}
	return strings.Join(ways, "; or ")
}

// lacks matches an object that a message misses, exceeded a quota that refuses.
var (
	lacks    = regexp.MustCompile(`\b(secret|configmap|serviceaccount) "([^"]+)" not found`)
	exceeded = regexp.MustCompile(`exceeded quota: ([^,]+)`)
)

// mend says what a user can do about the message of a component.
func mend(message string) string {
	var missing []string
	for _, m := range lacks.FindAllStringSubmatch(message, -1) {
		missing = append(missing, m[1]+" "+m[2])
	}
	quota := exceeded.FindStringSubmatch(message)
	switch {
	case len(missing) > 0:
		return "create " + strings.Join(missing, " and ") + " in the same namespace"
	case quota != nil:
		return "raise ResourceQuota " + quota[1] + ", or delete some of what it counts"
	case strings.Contains(message, "does not support volumeMode Block"):
		return "make volume and claim anew with volumeMode Filesystem, or with a volume that can be a device (local, CSI)"
	case strings.Contains(message, "code = ResourceExhausted"):
		return "ask for less, or make room on the storage"
	}
	return "remove the cause that the message names"
}

// atFault returns the object and the field that keep a pod from all nodes, if one plugin turned all of them down: of the pod itself, or
// the pod that has its ReadWriteOncePod claim.
func (x *explainer) atFault(pod *v1.Pod, nodes []scheduler.NodeVerdict) (object, field string) {
	plugin := nodes[0].Plugin
	if slices.ContainsFunc(nodes, func(v scheduler.NodeVerdict) bool { return v.Plugin != plugin }) {
		return "", ""
	}
	switch plugin {
	case "NodeAffinity":
		if len(pod.Spec.NodeSelector) > 0 {
			return "", "spec.nodeSelector"
		}
		return "", "spec.affinity"
	case "TaintToleration":
		return "", "spec.tolerations"
	case "NodeResourcesFit":
		return "", "spec.containers"
	case "VolumeRestrictions":
		return x.otherUser(pod), "spec.volumes"
	}
	return "", ""
}

// otherUser returns another pod that has a node and uses a claim of this pod; "" if there is none.
func (x *explainer) otherUser(pod *v1.Pod) string {
	claims := claimNames(pod)
	for _, obj := range x.Objects() {
		other, ok := obj.(*v1.Pod)
		if !ok || other.Namespace != pod.Namespace || other.UID == pod.UID || other.Spec.NodeName == "" || binding.IsPodTerminated(other) {
			continue
		}
		if slices.ContainsFunc(claimNames(other), func(name string) bool { return slices.Contains(claims, name) }) {
			return podRef(other)
		}
	}
	return ""
}
