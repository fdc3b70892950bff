// Package protection holds the small controllers that keep claims, volumes and
// VolumeAttributesClasses from vanishing while they are used: the one removes the finalizer
// kubernetes.io/pvc-protection from a deleted claim when no pod uses it any more, the
// other kubernetes.io/pv-protection from a deleted volume when it is not Bound, the third
// kubernetes.io/vac-protection from a deleted class that no claim and no volume names. They
// add the finalizer where it is missing; the API server's admission sets it on
// creation.
//
// Upstream: pkg/controller/volume/pvcprotection, pvprotection and
// vacprotection, v1.37.
//
// # Deviations from upstream
//
//   - The live list of pods before a claim's finalizer goes is made for each claim.
//     Upstream shares one among the claims of a namespace.
//   - Claims and volumes are followed for VolumeAttributesClasses from the first class on.
//   - As upstream, a pod that has ended but still exists blocks its claim's deletion.
package protection
