package binding

import (
	"crypto/sha256"
	"fmt"
)

// AttachmentName returns the name of the VolumeAttachment of a driver's volume at a node.
//
// Upstream: pkg/volume/csi/csi_attacher.go getAttachmentName, v1.37.
func AttachmentName(handle, driver, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+node)))
}
