// Package volume defines the contract between a kubelet and its volume plugins: VolumePlugin
// and its mounters (plugin.go), Spec (spec.go), the registry (registry.go), and code that
// plugins share.
//
// Upstream: pkg/volume/plugins.go, volume.go, volume_linux.go, v1.37.
//
// Deviations:
//
//   - Plugins reach files only through VolumeHost.GetFS, the node's own
//     directory, never through package os; upstream has HostUtil and Subpather.
//   - Calls that may take time (SetUp, TearDown, MountDevice, UnmountDevice,
//     MapPodDevice) have a context, and VolumeHost is a control.Clock to wait with; a
//     crash of the kubelet ends the waiting. Upstream's block a goroutine. Methods that only
//     read a spec or the disk have no context: ConstructVolumeSpec is called before
//     a kubelet may call the API.
//   - NewMounter takes no options; upstream dropped them as well.
//   - Spec has no fields for CSI migration, and MounterArgs none for SELinux and
//     resizing.
//   - BlockVolumeMapper has MapPodDevice of upstream's CustomBlockVolumeMapper.
//   - The optional interfaces are Persistent, Attachable, DeviceMountable, Block,
//     Registration (what upstream's plugin manager does for drivers), Staging and, for
//     volumes made of API objects, Objects, where upstream has GetConfigMapFunc and
//     GetSecretFunc of the host. AttachableVolumePlugin has only the kubelet's part,
//     CanAttach, and Attacher only WaitForAttach. Detacher and NodeExpandable come with
//     the controllers that call them; recycling is the PV controller's work (package
//     pvcontroller).
//   - SetVolumeOwnership does not fail when the process may not change owners: a
//     simulation runs as an ordinary user. The trace says what it could not change. Slow runs have no VolumePermissionChangeInProgress events.
package volume
