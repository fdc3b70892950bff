package validation

import (
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxNodeID = 256 // characters
	// minUpdatePeriodSeconds is the shortest interval at which a driver may be asked for its limits.
	minUpdatePeriodSeconds = 10

	// Bounds of the life of a token that a driver asks for, in seconds.
	minTokenSeconds = 600
	maxTokenSeconds = 1 << 32
)

// driverName validates the name of a CSI driver where it is referred to.
// Upstream: core/validation ValidateCSIDriverName, v1.37.
func (p *problems) driverName(name string, at *field.Path) {
	if isLabel(name) {
		return
	}
	if name == "" {
		p.required(at, "")
		return
	}
	if len(name) > 63 {
		p.add(field.TooLong(at, "", 63))
	}
	p.messages(at, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
}

// csiDriver validates the spec of a CSIDriver. "attachedRequired" is upstream's
// spelling.
// Upstream: storage/validation validateCSIDriverSpec, v1.37.
func (p *problems) csiDriver(spec *storagev1.CSIDriverSpec) {
	p.set(spec.AttachRequired, "attachedRequired")
	p.set(spec.PodInfoOnMount, "podInfoOnMount")
	p.set(spec.StorageCapacity, "storageCapacity")
	policies := []storagev1.FSGroupPolicy{storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy}
	if f := spec.FSGroupPolicy; f != nil && !slices.Contains(policies, *f) {
		p.add(field.NotSupported(specPath.Child("fsGroupPolicy"), *f, policies))
	}
	p.tokenRequests(spec.TokenRequests, specPath.Child("tokenRequests"))
	modes := []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
	for _, mode := range spec.VolumeLifecycleModes {
		if !slices.Contains(modes, mode) {
			p.add(field.NotSupported(specPath.Child("volumeLifecycleModes"), mode, modes))
		}
	}
	p.set(spec.SELinuxMount, "seLinuxMount")
	if s := spec.NodeAllocatableUpdatePeriodSeconds; s != nil && *s < minUpdatePeriodSeconds {
		p.invalid(specPath.Child("nodeAllocatableUpdatePeriodSeconds"), *s, "must be greater than or equal to 10 seconds")
	}
	if set := spec.ServiceAccountTokenInSecrets; set != nil && len(spec.TokenRequests) == 0 {
		p.invalid(specPath.Child("serviceAccountTokenInSecrets"), *set,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified")
	}
}

// set requires a switch that defaulting sets.
func (p *problems) set(value *bool, name string) {
	if value == nil {
		p.required(specPath.Child(name), "")
	}
}

func (p *problems) tokenRequests(requests []storagev1.TokenRequest, path *field.Path) {
	seen := map[string]bool{}
	for i, r := range requests {
		at := path.Index(i)
		if seen[r.Audience] {
			p.duplicate(at.Child("audience"), r.Audience)
			continue
		}
		seen[r.Audience] = true
		if s := r.ExpirationSeconds; s != nil && *s < minTokenSeconds {
			p.invalid(at.Child("expirationSeconds"), *s, "may not specify a duration less than 10 minutes")
		} else if s != nil && *s > maxTokenSeconds {
			p.invalid(at.Child("expirationSeconds"), *s, "may not specify a duration larger than 2^32 seconds")
		}
	}
}

func (p *problems) csiDriverUpdate(d, old *storagev1.CSIDriver) {
	p.csiDriver(&d.Spec)
	p.immutable(d.Spec.AttachRequired, old.Spec.AttachRequired, specPath.Child("attachedRequired"))
	p.immutable(d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, specPath.Child("volumeLifecycleModes"))
}

// csiNode validates a CSINode.
// Upstream: storage/validation ValidateCSINode, v1.37.
func (p *problems) csiNode(n *storagev1.CSINode) {
	seen := map[string]bool{}
	for i := range n.Spec.Drivers {
		d, at := &n.Spec.Drivers[i], specPath.Child("drivers").Index(i)
		p.driverName(d.Name, at.Child("name"))
		p.need(at, "nodeID", d.NodeID)
		if len(d.NodeID) > maxNodeID {
			p.invalid(at.Child("nodeID"), d.NodeID, fmt.Sprintf("must be %d characters or less", maxNodeID))
		}
		if a := d.Allocatable; a != nil && a.Count != nil && *a.Count < 0 {
			p.invalid(at.Child("allocatable", "count"), *a.Count, apivalidation.IsNegativeErrorMsg)
		}
		if seen[d.Name] {
			p.duplicate(at.Child("name"), d.Name)
		}
		seen[d.Name] = true
		for j, key := range d.TopologyKeys {
			if key == "" {
				p.required(at, "")
			}
			if slices.Contains(d.TopologyKeys[:j], key) {
				p.duplicate(at, key)
			}
			p.qualifiedName(key, at)
		}
	}
}

// csiNodeUpdate keeps each driver's entry as registered, but for how many
// volumes the node can hold; entries come and go.
// Upstream: storage/validation ValidateCSINodeUpdate, v1.37.
func (p *problems) csiNodeUpdate(n, old *storagev1.CSINode) {
	p.csiNode(n)
	for _, was := range old.Spec.Drivers {
		for _, is := range n.Spec.Drivers {
			if is.Name != was.Name {
				continue
			}
			same := is
			same.Allocatable = was.Allocatable
			if !apiequality.Semantic.DeepEqual(same, was) {
				p.invalid(specPath.Child("drivers"), is, apivalidation.FieldImmutableErrorMsg)
			}
		}
	}
}

// storageCapacity validates a CSIStorageCapacity. As upstream it does not look at
// maximumVolumeSize.
// Upstream: storage/validation ValidateCSIStorageCapacity, v1.37.
func (p *problems) storageCapacity(c *storagev1.CSIStorageCapacity) {
	p.labelSelector(c.NodeTopology, field.NewPath("nodeTopology"))
	p.subdomain(c.StorageClassName, field.NewPath("storageClassName"))
	if c.Capacity != nil {
		p.nonNegative(*c.Capacity, field.NewPath("capacity"))
	}
}

// storageCapacityUpdate keeps what the driver was asked.
func (p *problems) storageCapacityUpdate(c, old *storagev1.CSIStorageCapacity) {
	p.storageCapacity(c)
	p.immutable(c.NodeTopology, old.NodeTopology, field.NewPath("nodeTopology"))
	p.immutable(c.StorageClassName, old.StorageClassName, field.NewPath("storageClassName"))
}
