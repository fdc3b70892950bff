package storagesim

import (
	"fmt"
	"strings"
)

// LeakKind says what a Leak is.
type LeakKind string

// The kinds of leaks, and which fields of a Leak say more, besides What and Maker.
const (
	// LeakBackendVolume is a volume of a backend without a PersistentVolume: Volume, Provisioner.
	// Of a CSI driver's volume, Handle says which it is, and not Volume.
	LeakBackendVolume LeakKind = "backend volume"
	// LeakBackendSnapshot is a snapshot of a CSI driver without a VolumeSnapshotContent: Handle,
	// Provisioner.
	LeakBackendSnapshot LeakKind = "backend snapshot"
	// LeakMissingVolume is a PersistentVolume whose volume the backend does not hold:
	// Volume, Claim, Provisioner.
	LeakMissingVolume LeakKind = "missing backend volume"
	// LeakVolume is a provisioned PersistentVolume whose claim is gone: Volume, Claim,
	// Provisioner.
	LeakVolume LeakKind = "volume"
	// LeakClaim is a claim bound to a PersistentVolume that is gone: Claim, Volume.
	LeakClaim LeakKind = "claim"
	// LeakAttachment is a VolumeAttachment whose node, volume or pods are gone: Attachment,
	// Machine, Volume, and Maker in the last case.
	LeakAttachment LeakKind = "attachment"
	// LeakDriverAttachment is a volume that a CSI driver has attached to a node without a
	// VolumeAttachment: Handle, Machine, Provisioner, and Volume and Claim if it has a
	// PersistentVolume. The same holds for LeakStaging and LeakPublication.
	LeakDriverAttachment LeakKind = "driver attachment"
	// LeakStaging is a volume that a CSI driver has staged on a node where no pod uses it: Path, too.
	LeakStaging LeakKind = "staging"
	// LeakPublication is a volume that a CSI driver has published for a pod that is gone: Path, too.
	LeakPublication LeakKind = "publication"
	// LeakHelperPod is a pod that a provisioner started and left: Pod, Machine, Provisioner.
	LeakHelperPod LeakKind = "helper pod"
	// LeakDirectory is a directory that was made for a volume and that none uses: Machine,
	// Path, Provisioner, and Volume if its name is in the path.
	LeakDirectory LeakKind = "directory"
	// LeakPodRemnant is what a node has of a pod that is gone: Machine, Path.
	LeakPodRemnant LeakKind = "pod remnant"
	// LeakMountRecord is a node's record of a mount that is gone: Machine, Path.
	LeakMountRecord LeakKind = "mount record"
)

// Leak is something that was left behind. Fields that say nothing of its kind are empty.
type Leak struct {
	Kind LeakKind
	// What it is and where, for example "directory
	// /var/openebs/local/pvc-1 on node-1, which no volume uses".
	What string
	// Machine is where it is, "node/NAME" or "nfs/NAME", and Path an absolute path there.
	Machine, Path string
	// Volume is the name of the PersistentVolume. Claim and Pod are "namespace/name".
	Volume, Claim, Pod string
	// Handle is the ID of a volume of a CSI driver.
	Handle string
	// Attachment is the name of the VolumeAttachment.
	Attachment string
	// Provisioner is whose volume, pod or directory it is.
	Provisioner string
	// Maker is the actor that made it, if the trace still knows.
	Maker string
	// Known says, for a leak that upstream has as well and that the maker's author
	// cannot prevent, how it came about; "" for any other.
	Known string
	// Why is what Cluster.Explain says of it, if it is an object that can be explained.
	Why string
}

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

// object is what Explain calls it, "" if that cannot explain it.
func (l Leak) object() string {
	switch l.Kind {
	case LeakMissingVolume, LeakVolume:
		return "pv/" + l.Volume
	case LeakClaim:
		return "pvc/" + l.Claim
	case LeakHelperPod:
		return "pod/" + l.Pod
	}
	return ""
}

// LeakError is the error of RequireNoLeaks. Its text has a line for each leak, and below
// it what explains the object.
type LeakError struct{ Leaks []Leak }

func (e *LeakError) Error() string {
	lines := make([]string, len(e.Leaks))
	for i, l := range e.Leaks {
		lines[i] = "\n  " + l.String()
		for line := range strings.Lines(l.Why) {
			lines[i] += "\n    " + strings.TrimRight(line, "\n")
		}
	}
	return fmt.Sprintf("%d left behind:%s", len(e.Leaks), strings.Join(lines, ""))
}
