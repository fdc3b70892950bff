package storage

import (
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

const (
	maxNodeID     = 256 // characters
	maxDriverName = 63
	// minUpdatePeriodSeconds is the shortest interval at which a driver may be asked for its limits.
	minUpdatePeriodSeconds = 10

	// Bounds of the life of a token that a driver asks for, in seconds.
	MinTokenSeconds = 600
	MaxTokenSeconds = 1 << 32
)

// CheckDriverName validates the name of a CSI driver where it is referred to.
// Upstream: core/validation ValidateCSIDriverName, v1.37.
func CheckDriverName(p *validation.Problems, name string, at *field.Path) {
	if validation.IsLabel(name) {
		return
	}
	if name == "" {
		p.Required(at, "")
		return
	}
	if len(name) > maxDriverName {
		p.Add(field.TooLong(at, "", maxDriverName))
	}
	p.Messages(at, name, utilvalidation.IsDNS1123Subdomain(strings.ToLower(name)))
}

// checkCSIDriver validates the spec of a CSIDriver. "attachedRequired" is upstream's
// spelling.
// Upstream: storage/validation validateCSIDriverSpec, v1.37.
func checkCSIDriver(p *validation.Problems, spec *storagev1.CSIDriverSpec) {
	requireSwitch(p, spec.AttachRequired, "attachedRequired")
	requireSwitch(p, spec.PodInfoOnMount, "podInfoOnMount")
	requireSwitch(p, spec.StorageCapacity, "storageCapacity")
	policies := []storagev1.FSGroupPolicy{storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy}
	if f := spec.FSGroupPolicy; f != nil && !slices.Contains(policies, *f) {
		p.Add(field.NotSupported(validation.SpecPath.Child("fsGroupPolicy"), *f, policies))
	}
	checkTokenRequests(p, spec.TokenRequests, validation.SpecPath.Child("tokenRequests"))
	modes := []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
	for _, mode := range spec.VolumeLifecycleModes {
		if !slices.Contains(modes, mode) {
			p.Add(field.NotSupported(validation.SpecPath.Child("volumeLifecycleModes"), mode, modes))
		}
	}
	requireSwitch(p, spec.SELinuxMount, "seLinuxMount")
	if s := spec.NodeAllocatableUpdatePeriodSeconds; s != nil && *s < minUpdatePeriodSeconds {
		p.Invalid(validation.SpecPath.Child("nodeAllocatableUpdatePeriodSeconds"), *s, "must be greater than or equal to 10 seconds")
	}
	if set := spec.ServiceAccountTokenInSecrets; set != nil && len(spec.TokenRequests) == 0 {
		p.Invalid(validation.SpecPath.Child("serviceAccountTokenInSecrets"), *set,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified")
	}
}

// requireSwitch requires a switch that defaulting sets.
func requireSwitch(p *validation.Problems, value *bool, name string) {
	if value == nil {
		p.Required(validation.SpecPath.Child(name), "")
	}
}

func checkTokenRequests(p *validation.Problems, requests []storagev1.TokenRequest, path *field.Path) {
	seen := map[string]bool{}
	for i, r := range requests {
		at := path.Index(i)
		if seen[r.Audience] {
			p.Duplicate(at.Child("audience"), r.Audience)
			continue
		}
		seen[r.Audience] = true
		if s := r.ExpirationSeconds; s != nil && *s < MinTokenSeconds {
			p.Invalid(at.Child("expirationSeconds"), *s, "may not specify a duration less than 10 minutes")
		} else if s != nil && *s > MaxTokenSeconds {
			p.Invalid(at.Child("expirationSeconds"), *s, "may not specify a duration larger than 2^32 seconds")
		}
	}
}

func checkCSIDriverUpdate(p *validation.Problems, d, old *storagev1.CSIDriver) {
	checkCSIDriver(p, &d.Spec)
	p.Immutable(d.Spec.AttachRequired, old.Spec.AttachRequired, validation.SpecPath.Child("attachedRequired"))
	p.Immutable(d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, validation.SpecPath.Child("volumeLifecycleModes"))
}

// checkCSINode validates a CSINode.
// Upstream: storage/validation ValidateCSINode, v1.37.
func checkCSINode(p *validation.Problems, n *storagev1.CSINode) {
	seen := map[string]bool{}
	for i := range n.Spec.Drivers {
		d, at := &n.Spec.Drivers[i], validation.SpecPath.Child("drivers").Index(i)
		CheckDriverName(p, d.Name, at.Child("name"))
		p.Need(at, "nodeID", d.NodeID)
		if len(d.NodeID) > maxNodeID {
			p.Invalid(at.Child("nodeID"), d.NodeID, fmt.Sprintf("must be %d characters or less", maxNodeID))
		}
		if a := d.Allocatable; a != nil && a.Count != nil && *a.Count < 0 {
			p.Invalid(at.Child("allocatable", "count"), *a.Count, apivalidation.IsNegativeErrorMsg)
		}
		if seen[d.Name] {
			p.Duplicate(at.Child("name"), d.Name)
		}
		seen[d.Name] = true
		for j, key := range d.TopologyKeys {
			if key == "" {
				p.Required(at, "")
			}
			if slices.Contains(d.TopologyKeys[:j], key) {
				p.Duplicate(at, key)
			}
			p.QualifiedName(key, at)
		}
	}
}

// checkCSINodeUpdate keeps each driver's entry as registered, except how many
// volumes the node can hold; entries may be added and removed.
// Upstream: storage/validation ValidateCSINodeUpdate, v1.37.
func checkCSINodeUpdate(p *validation.Problems, n, old *storagev1.CSINode) {
	checkCSINode(p, n)
	for _, was := range old.Spec.Drivers {
		for _, is := range n.Spec.Drivers {
			if is.Name != was.Name {
				continue
			}
			is.Allocatable, was.Allocatable = nil, nil
			if !semantic.Equal(is, was) {
				p.Invalid(validation.SpecPath.Child("drivers"), is, apivalidation.FieldImmutableErrorMsg)
			}
		}
	}
}

// checkStorageCapacity validates a CSIStorageCapacity. As upstream it does not look at
// maximumVolumeSize.
// Upstream: storage/validation ValidateCSIStorageCapacity, v1.37.
func checkStorageCapacity(p *validation.Problems, c *storagev1.CSIStorageCapacity) {
	p.LabelSelector(c.NodeTopology, field.NewPath("nodeTopology"))
	p.Subdomain(c.StorageClassName, field.NewPath("storageClassName"))
	if c.Capacity != nil {
		validation.CheckNonNegative(p, *c.Capacity, field.NewPath("capacity"))
	}
}

// checkStorageCapacityUpdate keeps what the driver was asked.
func checkStorageCapacityUpdate(p *validation.Problems, c, old *storagev1.CSIStorageCapacity) {
	checkStorageCapacity(p, c)
	p.Immutable(c.NodeTopology, old.NodeTopology, field.NewPath("nodeTopology"))
	p.Immutable(c.StorageClassName, old.StorageClassName, field.NewPath("storageClassName"))
}
