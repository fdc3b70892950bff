package scheduler

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// volumeZone: a bound volume that says by label in which zone or region it is
// can be used only there. It predates node affinity of volumes. Claims that are
// not bound yet are VolumeBinding's.
// Upstream: plugins/volumezone, v1.36.
type volumeZone struct {
	claims  *control.Cache[*v1.PersistentVolumeClaim]
	volumes *control.Cache[*v1.PersistentVolume]
}

// zoneLabel is one topology label of one of the pod's volumes.
type zoneLabel struct {
	key    string
	values []string
}

// zoneKeys are the labels that count, with the older name of each second.
func zoneKeys() [4]string {
	return [4]string{v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion}
}

func (volumeZone) Name() string { return "VolumeZone" }

func (volumeZone) Helps(pod *v1.Pod, e clusterEvent) bool {
	switch obj := e.new.(type) {
	case *v1.PersistentVolumeClaim:
		return slices.Contains(claimKeys(pod), control.Key(obj))
	case *v1.PersistentVolume:
		return true
	}
	return e.nodeChanged(relabelled)
}

func (p volumeZone) PreFilter(c *cycle) *status {
	for _, key := range claimKeys(c.pod) {
		claim, ok := p.claims.Get(key)
		if !ok || claim.Spec.VolumeName == "" {
			continue // VolumeBinding has had its say
		}
		pv, ok := p.volumes.Get(claim.Spec.VolumeName)
		if !ok {
			return refuse(unresolvable, fmt.Sprintf("persistentvolume %q not found", claim.Spec.VolumeName))
		}
		for _, label := range zoneKeys() {
			if value, ok := pv.Labels[label]; ok {
				c.zones = append(c.zones, zoneLabel{label, strings.Split(value, "__")})
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
	labels := node.node.Labels
	keys := zoneKeys()
	if !slices.ContainsFunc(keys[:], func(key string) bool { _, ok := labels[key]; return ok }) {
		return nil
	}
	for _, want := range c.zones {
		value, ok := labels[want.key]
		if !ok {
			value, ok = labels[otherName(want.key)]
		}
		if !ok || !slices.Contains(want.values, value) {
			return refuse(unresolvable, "node(s) had no available volume zone")
		}
	}
	return nil
}

// otherName is the newer name of an older label, and the other way round.
func otherName(key string) string {
	keys := zoneKeys()
	return keys[slices.Index(keys[:], key)^1]
}
