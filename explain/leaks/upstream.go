package leaks

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
)

// knownLeak explains the leak of the upstream library, which writes nothing down before it
// calls Provision.
const knownLeak = "a known leak of the upstream library, not a bug of the provisioner: its process ended after it had made this and before " +
	"it created the pv, " +
	"and the claim was deleted meanwhile, so no object refers to it (kubernetes-csi/external-provisioner issue 486)"

// volumeName matches the name that the library gives to the volume of a claim.
var volumeName = regexp.MustCompile(`pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// known returns knownLeak if the maker's process ended after the trace's entry number since,
// the claim is gone and its PersistentVolume was never created; else "". The volume's name is
// looked for in names.
func (l *finder) known(maker string, since int, names ...string) string {
	name := volumeName.FindString(strings.Join(names, " "))
	if name == "" || l.claimsByUID[types.UID(strings.TrimPrefix(name, "pvc-"))] != nil || l.volumeMaker(name) != "" {
		return ""
	}
	for _, entry := range l.view.Log.Entries()[since:] {
		if _, ended := entry.Record.(trace.Crashed); ended && entry.Actor == maker {
			return knownLeak
		}
	}
	return ""
}
