// Package capacity publishes the capacity of a CSI driver as CSIStorageCapacity objects, which
// the scheduler reads for drivers whose CSIDriver object has storageCapacity: true. It is a part of
// the provisioner (--enable-capacity) and models kubernetes-csi/external-provisioner v6.3,
// pkg/capacity.
//
// # Which objects there are
//
// There is one object for each pair of a topology segment and a storage class of the driver that
// waits for its first consumer; ImmediateBinding adds the other classes. A segment is a set of
// values of the driver's topology keys that some node has; a driver without topology keys has one
// segment, the empty one. Objects are called csisc-XXXXX and have two labels:
//
//	csi.storage.k8s.io/drivername: NAME
//	csi.storage.k8s.io/managed-by: external-provisioner
//
// An object with these labels that stands for no such pair, or for one that has an object already,
// is deleted. One that is deleted by others is made again.
//
// # When GetCapacity is asked
//
//   - when a pair comes, and when its class changes,
//   - every PollInterval,
//   - after a volume was made or deleted: for the volume's segments or, if it has none, for its class,
//   - after a volume could not be made: for its class.
//
// An object is written only if the capacity, the maximum size of a volume or the owner differs.
//
// # Deviations from upstream
//
//   - The driver has no pod, so objects have the owner that Owner names: by default none, as with
//     --capacity-ownerref-level=-1.
//   - There is no limit of writes a second (--kube-api-capacity-qps).
//   - Where upstream walks a Go map, here pairs come in order of their names.
package capacity
