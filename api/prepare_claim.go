package api

import v1 "k8s.io/api/core/v1"

// dropUnknownDataSource drops a data source that is neither a claim nor a
// snapshot; the reference, which knows more kinds, stays. A namespace in the
// reference is dropped too: claims across namespaces are an alpha feature.
// Upstream: api/persistentvolumeclaim EnforceDataSourceBackwardsCompatibility
// and DropDisabledFields, v1.36.
func dropUnknownDataSource(spec *v1.PersistentVolumeClaimSpec) {
	if src := spec.DataSource; src != nil {
		group := ""
		if src.APIGroup != nil {
			group = *src.APIGroup
		}
		claim := src.Kind == "PersistentVolumeClaim" && group == ""
		snapshot := src.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
		if !claim && !snapshot {
			spec.DataSource = nil
		}
	}
	if spec.DataSourceRef != nil {
		spec.DataSourceRef.Namespace = nil
	}
}

// mirrorDataSources makes the old and the new way of naming a data source say
// the same. Upstream: api/persistentvolumeclaim NormalizeDataSources, v1.36.
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
