// Package volume is what a kubelet and its volume plugins agree on: VolumePlugin
// and the mounters it makes, Spec, the registry, and what plugins share.
//
// Upstream: pkg/volume/plugins.go, volume.go, volume_linux.go, v1.36.
//
// Deviations:
//
//   - Plugins reach files only through VolumeHost.GetFS, the node's own
//     directory, never through package os; upstream has HostUtil and Subpather.
//   - NewMounter takes no options; upstream dropped them as well.
//   - Spec has no fields for CSI migration, and MounterArgs none for SELinux and
//     resizing: nothing here could set them.
//   - The optional interfaces are Persistent, DeviceMountable, Block and, for
//     volumes made of API objects, Objects, where upstream has GetConfigMapFunc and
//     GetSecretFunc of the host. Attachable and Expandable come with the plugins that
//     need them; recycling is the PV controller's work (package pvcontroller).
//   - SetVolumeOwnership does not fail when the process may not change owners: a
//     simulation runs as an ordinary user. What it could not do it says in the
//     trace. Slow runs have no VolumePermissionChangeInProgress events.
package volume
