// Package provisioner is the CSI sidecar that creates and deletes volumes: for claims it calls CreateVolume, and for
// released volumes DeleteVolume, of one CSI driver. It models kubernetes-csi/external-provisioner v6.4. Begin with
// Provision in provision.go.
//
// It is a provisioner.Provisioner on the library of package provisioner. The library decides when a claim gets a
// volume, keeps the finalizer, saves the PersistentVolume and retries; this package has csiProvisioner.Provision and
// Delete.
//
// # Provision
//
// prepare.go checks the claim and its class, in this order: the data source, the driver's capabilities, the
// selector, the file system, the access modes (capability.go), the topology (topology.go), the secrets (secrets.go),
// the other parameters and the VolumeAttributesClass. provision.go calls CreateVolume, handles its error (state.go)
// and builds the PersistentVolume from its answer (volume.go).
//
// An error before CreateVolume leaves the state unchanged (NoChange), since an earlier call may still be running. An
// error of CreateVolume is final, except for the codes that do not tell whether a volume was created: Canceled,
// DeadlineExceeded, Unavailable, Aborted, and any error that is not from gRPC. Then CreateVolume is repeated under
// the same name until there is a final answer, also when the claim has been deleted. ResourceExhausted returns the
// claim to the scheduler, if the driver has topology and the claim a selected node.
//
// A volume smaller than requested is deleted again.
//
// # Topology
//
// For a driver with VOLUME_ACCESSIBILITY_CONSTRAINTS the request says from where the volume must be reachable
// (requisite) and in which order to try (preferred). The keys come from the driver's entry in CSINode; the values
// are labels of nodes. Without a selected node, the start of preferred depends on the claim's name, so that the
// claims of a StatefulSet are spread. The result is kept until the claim is done, so that a repeated CreateVolume
// has the same request.
//
// # Sources
//
// A claim whose data source is a snapshot or another claim gets a volume that the driver fills with it
// (source.go): the snapshot must be ready, bound and no larger than the request of the claim, a claim bound,
// of the same driver and no larger; volume modes must agree. While the volume is being made, a finalizer keeps
// the source (protect.go). A snapshot loses it then; a claim keeps it until it is deleted itself and no
// clone of it is pending. A data source of any other kind leaves the claim to its volume populator, with
// an event. With Config.CrossNamespaceVolumeDataSource the source may be in another namespace, if a
// ReferenceGrant there allows it (across.go).
//
// # Delete
//
// delete.go refuses while a VolumeAttachment names the volume, if the driver attaches volumes at all. The
// annotations of the PersistentVolume name the secret; if it is gone, DeleteVolume is called without one.
//
// # Capacity
//
// With Config.EnableCapacity the provisioner publishes the driver's capacity, see package csi/internal/capacity.
// capacity.go triggers a new GetCapacity after volumes were created or deleted.
//
// # On each node
//
// With Config.NodeDeployment the provisioner runs on one node (node.go): it creates volumes for claims whose
// selected-node is its node, and deletes those that its node can reach. A claim that binds immediately has no
// selected node. The provisioners of all nodes then wait for up to BaseDelay and check the capacity, and the first
// one writes its node's name; the others wait longer after that.
//
// # Deviations from upstream
//
//   - ReferenceGrants are listed when a claim needs one. Upstream has an informer, and does not start without their
//     definition.
//   - In-tree volumes are not migrated to CSI.
//   - The time that a node waits before it takes a claim depends on the names of both, and on the
//     order that a run chooses (Env.Choose); upstream's depends on chance alone.
//   - The identity in the volume's attributes has a number that depends on the driver's name,
//     instead of a random one.
//   - The library resyncs all claims after 15 minutes, not after an hour.
//   - Those that packages provisioner and sidecar list.
package provisioner
