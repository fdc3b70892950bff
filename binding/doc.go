// Package binding holds the rules by which volumes and claims find each other.
// They are pure functions: nothing here calls the API, reads a clock or writes a
// log. The PV controller and the scheduler use the same rules, as upstream's do
// (k8s.io/component-helpers/storage/volume and pkg/controller/volume/persistentvolume).
//
// # Who gets which volume
//
// FindMatchingVolume walks a list of volumes. A volume reserved for the claim (its
// claimRef names it) is the answer at once, whatever its class, labels, phase or
// access modes, as long as it is big enough and of the right mode; if it does not
// fit the node, the answer is that there is none. Otherwise the smallest volume that
// passes every filter wins, and among equals the first in the list.
//
// The PV controller asks group by group, a group being all volumes with the same
// set of access modes, those with the fewest modes first
// (FindBestMatchForClaim). So fewer modes outrank a smaller size: a claim for 5Gi
// ReadWriteOnce gets a 10Gi volume that offers just that before a 5Gi volume that
// offers ReadWriteMany too.
//
// Index gives the answers of both without walking every volume, nor, asked about a
// node, those that other nodes hold. Explain says of
// every volume why it was passed over.
//
// # Deviations from upstream
//
//   - Upstream walks Go maps, so any of several equal volumes may win. Here Choose picks
//     one. Without it, the first by name wins, and groups with equally many access modes
//     are taken in a fixed order: RWO, ROX, RWX, RWOP; of two modes RWO+ROX, RWO+RWX,
//     ROX+RWX, then those with RWOP.
//   - Node affinity, the most expensive filter, is checked only for volumes that would win,
//     where upstream looks at it before claimRef. The answer is the same.
//   - VolumeAttributesClass is always on, as in v1.36.
//   - GetBindVolumeToClaim cannot fail, but keeps its error result.
package binding
