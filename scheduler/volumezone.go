package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
)

// reasonVolumeZone is upstream's ErrReasonConflict.
const reasonVolumeZone = "node(s) had no available volume zone"

// volumeZone: a bound volume that says by label in which zones or region it is
// can be used only there. It predates node affinity of volumes. Claims that are
// not bound yet are VolumeBinding's.
// Upstream: plugins/volumezone/volume_zone.go, v1.37.
type volumeZone struct {
	claims  *control.Cache[*v1.PersistentVolumeClaim]
	volumes *control.Cache[*v1.PersistentVolume]
}

// zoneLabel is one topology label of one of the pod's volumes.
// Upstream: volume_zone.go pvTopology.
type zoneLabel struct {
	volume, key string
	values      []string
}

// zoneKeys returns the labels that count: the older names first, as upstream.
func zoneKeys() [4]string {
	return [4]string{v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone, v1.LabelTopologyRegion}
}

func (volumeZone) Name() string { return "VolumeZone" }

// Upstream: volume_zone.go EventsToRegister, v1.37.
func (volumeZone) EventsToRegister() []registration {
	return []registration{
		upon(added, isSchedulableAfterStorageClassAdded),
		upon(added|updateNodeLabel, always[*v1.Node]),
		upon(added|updated, isNamedClaim),
		upon(added|updated, isSchedulableAfterPersistentVolumeChange),
	}
}

// isSchedulableAfterStorageClassAdded: a claim of the class can wait for the pod.
// Upstream: volume_zone.go isSchedulableAfterStorageClassAdded, v1.37.
func isSchedulableAfterStorageClassAdded(_ *v1.Pod, _, after *storagev1.StorageClass) bool {
	return after.VolumeBindingMode != nil && *after.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// isSchedulableAfterPersistentVolumeChange: a volume comes, or is said to be elsewhere.
// Upstream: volume_zone.go isSchedulableAfterPersistentVolumeChange, v1.37.
func isSchedulableAfterPersistentVolumeChange(_ *v1.Pod, before, after *v1.PersistentVolume) bool {
	return before == nil || !maps.EqualFunc(zonesOf(before), zonesOf(after), slices.Equal)
}

func (p volumeZone) PreFilter(c *cycle) *status {
	for _, pc := range claimNames(c.pod) {
		claim, ok := p.claims.Get(c.pod.Namespace + "/" + pc.name)
		if !ok || pc.ephemeral || claim.Spec.VolumeName == "" {
			continue // VolumeBinding has had its say; upstream looks at no ephemeral claims
		}
		pv, ok := p.volumes.Get(claim.Spec.VolumeName)
		if !ok {
			return refuse(unresolvable, fmt.Sprintf("persistentvolume %q not found", claim.Spec.VolumeName))
		}
		zones := zonesOf(pv)
		for _, key := range zoneKeys() {
			if values, ok := zones[key]; ok {
				c.zones = append(c.zones, zoneLabel{pv.Name, key, values})
			}
		}
	}
	if len(c.zones) == 0 {
		return refuse(skip)
	}
	return nil
}

// Filter: a node without any topology label passes.
func (volumeZone) Filter(c *cycle, node *nodeInfo) *status {
	if wrongZone(c.zones, node.node.Labels) != nil {
		return refuse(unresolvable, reasonVolumeZone)
	}
	return nil
}

// wrongZone returns the first of the volumes' labels that the node does not agree
// with. An older label is also found under its newer name, but not the other way
// round.
func wrongZone(zones []zoneLabel, labels map[string]string) *zoneLabel {
	keys := zoneKeys()
	if !slices.ContainsFunc(keys[:], func(key string) bool { _, ok := labels[key]; return ok }) {
		return nil
	}
	for i, want := range zones {
		value, ok := labels[want.key]
		if !ok {
			value, ok = labels[translateToGALabel(want.key)]
		}
		if !ok || !slices.Contains(want.values, value) {
			return &zones[i]
		}
	}
	return nil
}

// zonesOf returns the zones and regions of a volume by label. "a__b" is both a and b;
// a label with an empty one among them says nothing.
// Upstream: cloud-provider/volume/helpers LabelZonesToSet, v1.37.
func zonesOf(pv *v1.PersistentVolume) map[string][]string {
	zones := map[string][]string{}
	for _, key := range zoneKeys() {
		values := strings.Split(pv.Labels[key], "__")
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
		if !slices.Contains(values, "") {
			slices.Sort(values)
			zones[key] = slices.Compact(values)
		}
	}
	return zones
}

// translateToGALabel returns the newer name of an older label.
func translateToGALabel(key string) string {
	switch key {
	case v1.LabelFailureDomainBetaZone:
		return v1.LabelTopologyZone
	case v1.LabelFailureDomainBetaRegion:
		return v1.LabelTopologyRegion
	}
	return key
}
