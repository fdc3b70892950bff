package provisioner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// hostName is the name of the pod that a provisioner's process runs in.
const hostName = "provisioner-0"

// IdentityOf returns the identity of the provisioner of that name: a host name and a
// UUID, as in "provisioner-0_0fd1b3de-...". The same seed gives the same one.
//
// Upstream: controller.go NewProvisionController, v13, whose UUID is random.
func IdentityOf(name string, seed uint64) string {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), name...))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x40 // version 4
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b)
	return hostName + "_" + text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
