package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

func TestVolumesHaveTheirDataInOnePlace(t *testing.T) {
	on := func(node string, source v1.PersistentVolumeSource) *v1.PersistentVolume {
		pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: source}}
		if node != "" {
			pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}}}
		}
		return pv
	}
	host := func(path string) v1.PersistentVolumeSource {
		kind := v1.HostPathDirectoryOrCreate
		return v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: &kind}}
	}
	local := func(path string) v1.PersistentVolumeSource {
		return v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}}
	}
	nfs := func(server, path string) v1.PersistentVolumeSource {
		return v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: server, Path: path}}
	}
	rbd := func(image string) v1.PersistentVolumeSource {
		return v1.PersistentVolumeSource{RBD: &v1.RBDPersistentVolumeSource{RBDImage: image}}
	}
	for _, tt := range []struct {
		one, two *v1.PersistentVolume
		same     bool
	}{
		{on("a", host("/x")), on("a", host("/x/")), true},
		{on("a", host("/x")), on("a", local("/x")), true},
		{on("a", host("/x")), on("b", host("/x")), false},
		{on("", host("/x")), on("", host("/x")), true},
		{on("a", host("/x")), on("a", host("/y")), false},
		{on("", nfs("nas", "/x")), on("", nfs("nas", "/x/")), true},
		{on("", nfs("nas", "/x")), on("", nfs("other", "/x")), false},
		{on("", rbd("x")), on("", rbd("x")), true},
		{on("", rbd("x")), on("", rbd("y")), false},
	} {
		assert.Equal(t, tt.same, placeOf(tt.one) == placeOf(tt.two), "%s, %s", placeOf(tt.one), placeOf(tt.two))
	}
}
