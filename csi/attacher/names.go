package attacher

import "strings"

// annNodeID is an annotation of a VolumeAttachment with the driver's ID of the node. By it the volume can be
// detached when CSINode no longer has the driver.
const annNodeID = "csi.alpha.kubernetes.io/node-id"

// GetFinalizerName returns the finalizer of the attacher of a driver, on VolumeAttachments and
// PersistentVolumes.
//
// Upstream: util.go GetFinalizerName, v4.13.
func GetFinalizerName(driver string) string { return "external-attacher/" + SanitizeDriverName(driver) }

// SanitizeDriverName returns the driver's name with a dash for each character but letters,
// digits and dashes, and no dash at its end.
//
// Upstream: util.go SanitizeDriverName, v4.13.
func SanitizeDriverName(driver string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-':
			return r
		}
		return '-'
	}, driver)
	if strings.HasSuffix(name, "-") {
		name += "X"
	}
	return name
}
