// Package capacity publishes the capacity of a CSI driver as CSIStorageCapacity objects, which the scheduler reads
// for drivers whose CSIDriver object has storageCapacity: true. It is a part of the provisioner (--enable-capacity)
// and models kubernetes-csi/external-provisioner v6.4, pkg/capacity. Begin with syncCapacity in sync.go.
//
// # The objects
//
// Each pair of a topology segment and a storage class of the driver that waits for its first consumer has one
// object; ImmediateBinding adds the other classes. A segment is a set of values of the driver's topology keys that a
// node has; a driver without topology keys has one segment, the empty one. Objects are called csisc-XXXXX and have
// two labels:
//
//	csi.storage.k8s.io/drivername: NAME
//	csi.storage.k8s.io/managed-by: external-provisioner
//
// An object with these labels that belongs to no such pair, or to one that has an object already, is deleted. If
// another client deletes an object, it is created again.
//
// # When GetCapacity is called
//
//   - when a pair appears, and when its class changes,
//   - every PollInterval,
//   - after a volume was created or deleted: for the volume's segments or, if it has none, for its class,
//   - after a volume could not be created: for its class.
//
// An object is written only if the capacity, the maximum size of a volume or the owner differs.
//
// # Deviations from upstream
//
//   - The driver has no pod, so Owner names the objects' owner: by default there is none, as with
//     --capacity-ownerref-level=-1.
//   - The number of writes a second is not limited (--kube-api-capacity-qps).
//   - Pairs are walked in order of their names; upstream walks a Go map.
package capacity
