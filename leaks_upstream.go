package storagesim

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
)

// knownLeak is the leak of the provisioner library itself: nothing is written down
// before Provision is called.
const knownLeak = "a known leak of the upstream library, not a bug of the provisioner: its process ended after it had made this and before it created the pv, " +
	"and the claim was deleted meanwhile, so no object refers to it (kubernetes-csi/external-provisioner issue 486)"

// volumeName finds what the library names the volume of a claim.
var volumeName = regexp.MustCompile(`pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// known is knownLeak if what maker made is one: for a claim that is gone, of which no
// PersistentVolume was ever created, and the maker's process ended since the entry of
// the trace with that number. names are where the volume's name may stand.
func (l *leakFinder) known(maker string, since int, names ...string) string {
	name := volumeName.FindString(strings.Join(names, " "))
	if name == "" || l.claimsByUID[types.UID(strings.TrimPrefix(name, "pvc-"))] != nil || l.volumeMaker(name) != "" {
		return ""
	}
	for _, entry := range l.engine.Trace().Entries()[since:] {
		if _, ended := entry.Record.(trace.Crashed); ended && entry.Actor == maker {
			return knownLeak
		}
	}
	return ""
}
