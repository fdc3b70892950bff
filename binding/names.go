package binding

// Annotations of claims and volumes. Upstream: component-helpers
// storage/volume/pv_helpers.go and pkg/controller/volume/persistentvolume, v1.37.
const (
	// AnnBindCompleted on a claim means that bind has written the claim. Only its
	// presence counts.
	AnnBindCompleted = "pv.kubernetes.io/bind-completed"
	// AnnBoundByController means that a controller, not the user, chose the partner: on a
	// volume that it set claimRef, on a claim that it set volumeName. Only its presence
	// counts.
	AnnBoundByController = "pv.kubernetes.io/bound-by-controller"
	// AnnSelectedNode on a claim names the node that the scheduler chose for its first pod.
	AnnSelectedNode = "volume.kubernetes.io/selected-node"
	// AnnDynamicallyProvisioned on a volume names the provisioner that made it.
	AnnDynamicallyProvisioned = "pv.kubernetes.io/provisioned-by"
	// AnnMigratedTo names the CSI driver that has replaced an in-tree plugin.
	AnnMigratedTo = "pv.kubernetes.io/migrated-to"
	// AnnStorageProvisioner on a claim names the provisioner that is to make its volume.
	AnnStorageProvisioner = "volume.kubernetes.io/storage-provisioner"
	// AnnBetaStorageProvisioner is the older name of AnnStorageProvisioner; both are
	// written.
	AnnBetaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	// AnnStorageClass is the older form of storageClassName on claims and volumes. It
	// wins over the field where present.
	AnnStorageClass = "volume.beta.kubernetes.io/storage-class"
	// AnnDefaultClass and AnnBetaDefaultClass mark a storage class as the default if
	// their value is "true".
	AnnDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	AnnBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
	// AnnPreResizeCapacity on a volume holds its size before a resize that has not yet
	// reached the file system.
	AnnPreResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity"
)

// Finalizers of claims and volumes.
const (
	// PVProtectionFinalizer keeps a volume while it is bound.
	PVProtectionFinalizer = "kubernetes.io/pv-protection"
	// PVCProtectionFinalizer keeps a claim while a pod uses it.
	PVCProtectionFinalizer = "kubernetes.io/pvc-protection"
	// VACProtectionFinalizer keeps a VolumeAttributesClass while a claim or a volume names it.
	VACProtectionFinalizer = "kubernetes.io/vac-protection"
	// PVDeletionProtectionFinalizer keeps a volume until its asset is deleted. External
	// provisioners set it.
	PVDeletionProtectionFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	// PVDeletionInTreeProtectionFinalizer is the same for in-tree volumes.
	PVDeletionInTreeProtectionFinalizer = "kubernetes.io/pv-controller"
)

// NotSupportedProvisioner is the provisioner of classes whose volumes an
// administrator makes by hand.
const NotSupportedProvisioner = "kubernetes.io/no-provisioner"

// yes is the value written to annotations of which only the presence counts.
const yes = "yes"
