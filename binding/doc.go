// Package binding holds the rules by which volumes and claims find each other. They are
// pure functions: nothing here calls the API, reads a clock or writes a log. The PV
// controller and the scheduler share them, as upstream's do
// (k8s.io/component-helpers/storage/volume and pkg/controller/volume/persistentvolume).
//
// # Which volume a claim gets
//
// One function decides: match, in match.go. It looks at candidates one after the other. A
// volume reserved for the claim (its claimRef names it) is the answer at once, whatever its
// class, labels, phase or access modes, if it is big enough and has the right volumeMode; if
// the node cannot reach it, the answer is that there is no volume. Otherwise the smallest
// volume that passes every filter wins, and among equals the first.
//
// The PV controller asks group by group (FindBestMatchForClaim). A group is all volumes with
// the same set of access modes; those with the fewest modes come first. So fewer modes outrank
// a smaller size: a claim for 5Gi ReadWriteOnce gets a 10Gi volume that offers just that
// before a 5Gi volume that offers ReadWriteMany too.
//
// # Where to begin
//
// Four searches call match. They differ in where their candidates come from:
//
//	FindMatchingVolume           a list                         match.go
//	FindBestMatchForClaim        a list, group by group         match.go
//	Index.FindBestMatchForClaim  an index (PV controller)       index.go
//	Search.On                    an index, by node (scheduler)  search.go
//
// Explain calls match on a list, too, and filter for each volume that was passed over.
//
// A claim is read once into a query (query.go), a volume into a candidate (candidates.go).
// An Index offers only candidates that may win and decides nothing. It keeps free volumes in
// buckets (bucket.go) by class and set of access modes, in order of size and name; for
// searches with a node also by the node label that they ask for (nodelabel.go). So it walks
// neither all volumes nor those that only other nodes reach.
//
// # Deviations from upstream
//
//   - Upstream walks Go maps, so any of several equal volumes may win. Here Choose picks
//     one. Without it, the first by name wins, and groups with equally many access modes
//     are asked in a fixed order: RWO, ROX, RWX, RWOP; of two modes RWO+ROX, RWO+RWX,
//     ROX+RWX, then those with RWOP.
//   - Node affinity, the most expensive filter, is checked only for volumes that would win,
//     where upstream looks at it before claimRef. The answer is the same.
//   - VolumeAttributesClass is always on, as in v1.37.
//   - GetBindVolumeToClaim cannot fail, but keeps its error result.
package binding
