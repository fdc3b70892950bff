package storage

import (
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

// What fields may hold, in the order error messages list it.
var (
	accessModes     = []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany, v1.ReadWriteMany, v1.ReadWriteOnce, v1.ReadWriteOncePod}
	volumeModes     = []v1.PersistentVolumeMode{v1.PersistentVolumeBlock, v1.PersistentVolumeFilesystem}
	reclaimPolicies = []v1.PersistentVolumeReclaimPolicy{
		v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeReclaimRecycle, v1.PersistentVolumeReclaimRetain,
	}
)

// checkVolume validates a PersistentVolume.
// Upstream: core/validation ValidatePersistentVolume and volume/validation
// ValidatePersistentVolume, v1.37.
func checkVolume(p *validation.Problems, pv *v1.PersistentVolume) {
	checkVolumeSpec(p, &pv.Spec, pv.Name, validation.SpecPath)
	if _, ok := pv.Annotations[v1.MountOptionAnnotation]; ok && !mountOptionsSupported(&pv.Spec.PersistentVolumeSource) {
		p.Forbidden(validation.MetadataPath.Child("annotations", v1.MountOptionAnnotation),
			"may not specify mount options for this volume type")
	}
}

func checkVolumeSpec(p *validation.Problems, spec *v1.PersistentVolumeSpec, name string, at *field.Path) {
	if len(spec.AccessModes) == 0 {
		p.Required(at.Child("accessModes"), "")
	}
	checkAccessModes(p, spec.AccessModes, at)
	checkCapacity(p, spec.Capacity, at)
	if policy := spec.PersistentVolumeReclaimPolicy; policy != "" && !slices.Contains(reclaimPolicies, policy) {
		p.Add(field.NotSupported(at.Child("persistentVolumeReclaimPolicy"), policy, reclaimPolicies))
	}
	if spec.NodeAffinity != nil {
		checkVolumeNodeAffinity(p, spec.NodeAffinity, at.Child("nodeAffinity"))
	}
	checkVolumeSource(p, spec, name, at)

	if spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" &&
		spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRecycle {
		p.Forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'")
	}
	if spec.StorageClassName != "" {
		checkClassName(p, spec.StorageClassName, at, "storageClassName")
	}
	checkVolumeMode(p, spec.VolumeMode, at)
	if class := spec.VolumeAttributesClassName; class != nil {
		if *class == "" {
			p.Required(at.Child("volumeAttributesClassName"), "an empty string is disallowed")
		} else {
			checkClassName(p, *class, at, "volumeAttributesClassName")
		}
		if spec.CSI == nil {
			p.Required(at.Child("csi"), "has to be specified when using volumeAttributesClassName")
		}
	}
}

// checkInlineVolumeSpec validates the volume a VolumeAttachment carries in itself.
func checkInlineVolumeSpec(p *validation.Problems, spec *v1.PersistentVolumeSpec, at *field.Path) {
	const inline = " in the context of inline volumes"
	if spec.ClaimRef != nil {
		p.Forbidden(at.Child("claimRef"), "may not be specified"+inline)
	}
	if len(spec.Capacity) != 0 {
		p.Forbidden(at.Child("capacity"), "may not be specified"+inline)
	}
	if spec.CSI == nil {
		p.Required(at.Child("csi"), "has to be specified"+inline)
	}
	if len(spec.AccessModes) == 0 {
		p.Required(at.Child("accessModes"), "")
	}
	checkAccessModes(p, spec.AccessModes, at)
	if policy := spec.PersistentVolumeReclaimPolicy; policy != "" && policy != v1.PersistentVolumeReclaimRetain {
		p.Forbidden(at.Child("persistentVolumeReclaimPolicy"), "may only be "+string(v1.PersistentVolumeReclaimRetain)+inline)
	}
	if spec.NodeAffinity != nil {
		p.Forbidden(at.Child("nodeAffinity"), "may not be specified"+inline)
	}
	checkVolumeSource(p, spec, "", at)
	if spec.StorageClassName != "" {
		p.Forbidden(at.Child("storageClassName"), "may not be specified"+inline)
	}
	if spec.VolumeMode != nil && *spec.VolumeMode != v1.PersistentVolumeFilesystem {
		p.Forbidden(at.Child("volumeMode"),
			"may not specify volumeMode other than "+string(v1.PersistentVolumeFilesystem)+inline)
	}
}

// checkAccessModes checks the modes of a claim or volume: known ones only, and
// ReadWriteOncePod alone.
func checkAccessModes(p *validation.Problems, modes []v1.PersistentVolumeAccessMode, at *field.Path) {
	single, shared := false, false
	for _, mode := range modes {
		switch mode {
		case v1.ReadWriteOncePod:
			single = true
		case v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany:
			shared = true
		default:
			p.Add(field.NotSupported(at.Child("accessModes"), mode, accessModes))
		}
	}
	if single && shared {
		p.Forbidden(at.Child("accessModes"), "may not use ReadWriteOncePod with other access modes")
	}
}

func checkVolumeMode(p *validation.Problems, mode *v1.PersistentVolumeMode, at *field.Path) {
	if mode != nil && *mode != v1.PersistentVolumeFilesystem && *mode != v1.PersistentVolumeBlock {
		p.Add(field.NotSupported(at.Child("volumeMode"), *mode, volumeModes))
	}
}

// checkClassName checks the name of a StorageClass or VolumeAttributesClass.
func checkClassName(p *validation.Problems, name string, at *field.Path, child string) {
	if !validation.IsSubdomain(name) {
		p.Subdomain(name, at.Child(child))
	}
}

func checkCapacity(p *validation.Problems, capacity v1.ResourceList, at *field.Path) {
	if len(capacity) == 0 {
		p.Required(at.Child("capacity"), "")
	}
	if _, ok := capacity[v1.ResourceStorage]; !ok || len(capacity) > 1 {
		p.Add(field.NotSupported(at.Child("capacity"), capacity, []v1.ResourceName{v1.ResourceStorage}))
	}
	if q, ok := capacity[v1.ResourceStorage]; ok && len(capacity) == 1 && q.Sign() > 0 {
		return
	}
	for _, name := range validation.ResourceNames(capacity) {
		validation.CheckBasicResource(p, capacity[name], at.Child("capacity"), string(name))
		validation.CheckPositive(p, capacity[name], at.Child("capacity"), string(name))
	}
}

func checkVolumeNodeAffinity(p *validation.Problems, affinity *v1.VolumeNodeAffinity, at *field.Path) {
	if affinity.Required == nil {
		p.Required(at.Child("required"), "must specify required node constraints")
		return
	}
	validation.CheckNodeSelector(p, affinity.Required, at.Child("required"))
}

// mountOptionsSupported tells the sources for which the legacy mount-options
// annotation is accepted.
func mountOptionsSupported(s *v1.PersistentVolumeSource) bool {
	return s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil ||
		s.RBD != nil || s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil || s.AzureFile != nil ||
		s.VsphereVolume != nil || s.AzureDisk != nil || s.StorageOS != nil || s.CSI != nil
}

// checkVolumeUpdate keeps the source, the mode and a node affinity once set.
// Upstream: core/validation ValidatePersistentVolumeUpdate, v1.37.
func checkVolumeUpdate(p *validation.Problems, pv, old *v1.PersistentVolume) {
	checkVolume(p, pv)
	if !sameVolumeSource(&pv.Spec.PersistentVolumeSource, &old.Spec.PersistentVolumeSource) {
		pv := pv
		if now, was := pv.Spec.CSI, old.Spec.CSI; now != nil && was != nil && was.ControllerExpandSecretRef == nil {
			pv = pv.DeepCopy()
			pv.Spec.CSI.ControllerExpandSecretRef = nil // which may be added
		}
		stored := old.Spec.PersistentVolumeSource.DeepCopy()
		validation.ForgetEmpty(stored)
		p.Forbidden(validation.SpecPath.Child("persistentvolumesource"), "spec.persistentvolumesource is immutable after creation\n"+
			diff.Diff(validation.InternalForm{Value: *stored}, validation.InternalForm{Value: pv.Spec.PersistentVolumeSource}))
	}
	if !validation.SamePtr(pv.Spec.VolumeMode, old.Spec.VolumeMode) {
		p.Immutable(pv.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))
	}
	if old.Spec.NodeAffinity != nil && !sameNodeAffinity(pv.Spec.NodeAffinity, old.Spec.NodeAffinity) {
		p.Invalid(field.NewPath("nodeAffinity"), pv.Spec.NodeAffinity,
			apivalidation.FieldImmutableErrorMsg+", except for updating from beta label to GA")
	}
	if old.Spec.VolumeAttributesClassName != nil && pv.Spec.VolumeAttributesClassName == nil {
		p.Forbidden(validation.SpecPath.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden")
	}
}

// sameVolumeSource compares sources, by hand where volumes are many. The secret
// for controller expansion of a CSI volume may be filled in later.
func sameVolumeSource(a, b *v1.PersistentVolumeSource) bool {
	x, y := *a, *b
	switch {
	case a.CSI != nil && b.CSI != nil && b.CSI.ControllerExpandSecretRef == nil && a.CSI.ControllerExpandSecretRef != nil:
		csi := *a.CSI
		csi.ControllerExpandSecretRef = nil
		x.CSI = &csi
	case a.HostPath != nil && b.HostPath != nil && a.HostPath.Path == b.HostPath.Path && validation.SamePtr(a.HostPath.Type, b.HostPath.Type):
		x.HostPath, y.HostPath = nil, nil
	case a.NFS != nil && b.NFS != nil && *a.NFS == *b.NFS:
		x.NFS, y.NFS = nil, nil
	case a.Local != nil && b.Local != nil && a.Local.Path == b.Local.Path && validation.SamePtr(a.Local.FSType, b.Local.FSType):
		x.Local, y.Local = nil, nil
	}
	return x == y || semantic.Equal(&x, &y)
}

// newLabels maps the labels of old clusters to their successors.
var newLabels = map[string]string{
	v1.LabelFailureDomainBetaZone:   v1.LabelTopologyZone,
	v1.LabelFailureDomainBetaRegion: v1.LabelTopologyRegion,
	v1.LabelInstanceType:            v1.LabelInstanceTypeStable,
	"beta.kubernetes.io/os":         v1.LabelOSStable,
	"beta.kubernetes.io/arch":       v1.LabelArchStable,
}

// sameNodeAffinity compares affinities; a label may be replaced by its successor.
// Upstream: core/validation validatePvNodeAffinity, v1.37.
func sameNodeAffinity(a, old *v1.VolumeNodeAffinity) bool {
	if semantic.Equal(a, old) {
		return true
	}
	if a == nil || a.Required == nil || old.Required == nil || len(a.Required.NodeSelectorTerms) != len(old.Required.NodeSelectorTerms) {
		return false
	}
	old = old.DeepCopy()
	for i, term := range old.Required.NodeSelectorTerms {
		now := a.Required.NodeSelectorTerms[i].MatchExpressions
		for j := range term.MatchExpressions {
			if key := &term.MatchExpressions[j].Key; j < len(now) && newLabels[*key] == now[j].Key { // also no key for one without a successor
				*key = now[j].Key
			}
		}
	}
	return semantic.Equal(a, old)
}
