package leaks

import (
	"fmt"
	"strings"

	"github.com/storagesim/storagesim/trace"
)

// Kind says what was left behind.
type Kind string

// The kinds of leaks. Each comment lists the fields of Leak that are set besides What and
// Maker.
const (
	// BackendVolume is a volume of a backend without a PersistentVolume: Volume, Provisioner.
	// For a CSI driver's volume Handle is set instead of Volume.
	BackendVolume Kind = "backend volume"
	// BackendSnapshot is a snapshot of a CSI driver without a VolumeSnapshotContent: Handle,
	// Provisioner.
	BackendSnapshot Kind = "backend snapshot"
	// MissingVolume is a PersistentVolume whose volume the backend does not hold:
	// Volume, Claim, Provisioner.
	MissingVolume Kind = "missing backend volume"
	// Volume is a provisioned PersistentVolume whose claim is gone: Volume, Claim,
	// Provisioner.
	Volume Kind = "volume"
	// Claim is a claim bound to a PersistentVolume that is gone: Claim, Volume.
	Claim Kind = "claim"
	// Attachment is a VolumeAttachment whose node, volume or pods are gone: Attachment,
	// Machine, Volume; Maker only if its pods are gone.
	Attachment Kind = "attachment"
	// DriverAttachment is a volume that a CSI driver has attached to a node without a
	// VolumeAttachment: Handle, Machine, Provisioner, and Volume and Claim if it has a
	// PersistentVolume.
	DriverAttachment Kind = "driver attachment"
	// Staging is a volume that a CSI driver has staged on a node where no pod uses it, or that a kubelet goes on unstaging in vain: Path
	// and the fields of DriverAttachment.
	Staging Kind = "staging"
	// Publication is a volume that a CSI driver has published for a pod that is gone, or that a kubelet goes on unpublishing in vain: Path
	// and the fields of DriverAttachment.
	Publication Kind = "publication"
	// HelperPod is a pod that a provisioner started and did not delete: Pod, Machine,
	// Provisioner.
	HelperPod Kind = "helper pod"
	// Directory is a directory that was made for a volume and that no volume uses: Machine,
	// Path, Provisioner, and Volume if its name is in the path.
	Directory Kind = "directory"
	// PodState is a directory, mount or container record of a pod that is gone: Machine, Path.
	PodState Kind = "pod state"
	// MountRecord is a node's record of a mount that is gone: Machine, Path.
	MountRecord Kind = "mount record"
)

// Leak is one thing that was left behind. Fields that do not apply to its kind are empty.
type Leak struct {
	Kind Kind
	// What says what it is and where, for example "directory
	// /var/openebs/local/pvc-1 on node-1, which no volume uses".
	What string
	// Machine is the machine it is on, "node/NAME" or "nfs/NAME", and Path an absolute path
	// there.
	Machine, Path string
	// Volume is the name of the PersistentVolume. Claim and Pod are "namespace/name".
	Volume, Claim, Pod string
	// Handle is the ID of a CSI driver's volume.
	Handle string
	// Attachment is the name of the VolumeAttachment.
	Attachment string
	// Provisioner is the provisioner or CSI driver that the volume, pod or directory belongs to.
	Provisioner string
	// Maker is the actor that made it, if the trace still knows.
	Maker string
	// Known says how the leak came about if upstream has it, too, and the author of the
	// maker cannot prevent it; "" for any other.
	Known string
	// Why is the explanation of the object (Cluster.Explain), if there is one.
	Why string
}

// String returns What, with the maker and what is known of the leak.
func (l Leak) String() string {
	text := l.What
	if l.Maker != "" {
		text = fmt.Sprintf("%s (made by %s)", text, l.Maker)
	}
	if l.Known != "" {
		text += "; " + l.Known
	}
	return text
}

// Object returns a reference to the leaked object, such as "pvc/default/data", or "" if the
// leak is not an object that can be explained.
func (l Leak) Object() string {
	switch l.Kind {
	case MissingVolume, Volume:
		return "pv/" + l.Volume
	case Claim:
		return "pvc/" + l.Claim
	case HelperPod:
		return "pod/" + l.Pod
	}
	return ""
}

// Error says that there are leaks. Its text has a line for each leak, and below it the
// explanation of the object.
type Error struct {
	Leaks []Leak
	// Deviations lists the situations of the run in which the simulation does otherwise than upstream.
	Deviations []trace.Deviates
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Leaks))
	for i, l := range e.Leaks {
		lines[i] = "\n  " + l.String()
		for line := range strings.Lines(l.Why) {
			lines[i] += "\n    " + strings.TrimRight(line, "\n")
		}
	}
	for _, d := range e.Deviations {
		lines = append(lines, "\nthis run "+d.String())
	}
	return fmt.Sprintf("%d left behind:%s", len(e.Leaks), strings.Join(lines, ""))
}
