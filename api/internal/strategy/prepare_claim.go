package strategy

import v1 "k8s.io/api/core/v1"

// prepareDataSources brings the data source of a claim into the form that is
// stored; old is the stored spec on an update. A reference to another namespace is
// an alpha feature: without across it is dropped whole, unless there was a reference before. A
// data source that is neither a claim nor a snapshot is dropped, unless the
// reference, which knows more kinds, says what is meant.
// Upstream: api/persistentvolumeclaim DropDisabledFields and
// EnforceDataSourceBackwardsCompatibility, v1.37.
func prepareDataSources(spec, old *v1.PersistentVolumeClaimSpec, across bool) {
	hadRef := old != nil && old.DataSourceRef != nil
	if ref := spec.DataSourceRef; ref != nil && ref.Namespace != nil && *ref.Namespace != "" && !hadRef && !across {
		spec.DataSourceRef = nil
	}
	had := hadRef || old != nil && old.DataSource != nil
	if !had && spec.DataSourceRef == nil && !isClaimOrSnapshot(spec.DataSource) {
		spec.DataSource = nil
	}
	mirrorDataSources(spec)
}

func isClaimOrSnapshot(src *v1.TypedLocalObjectReference) bool {
	if src == nil {
		return false
	}
	group := ""
	if src.APIGroup != nil {
		group = *src.APIGroup
	}
	return src.Kind == "PersistentVolumeClaim" && group == "" || src.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
}

// mirrorDataSources makes the old and the new way of naming a data source say
// the same. Upstream: api/persistentvolumeclaim NormalizeDataSources, v1.37.
func mirrorDataSources(spec *v1.PersistentVolumeClaimSpec) {
	src, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case ref != nil && ref.Namespace != nil && *ref.Namespace != "":
	case src != nil && ref == nil:
		spec.DataSourceRef = &v1.TypedObjectReference{APIGroup: src.APIGroup, Kind: src.Kind, Name: src.Name}
	case ref != nil && src == nil:
		spec.DataSource = &v1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}
