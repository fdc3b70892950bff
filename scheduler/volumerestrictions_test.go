package scheduler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// Two pods with one disk are kept apart, unless it is a kind that all may read and both only read it. Each row differs from the first of its kind in one thing.
func TestTwoPodsDoNotGetTheSameDiskOnANode(t *testing.T) {
	gce := func(name string, ro bool) v1.Volume {
		return v1.Volume{VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: ro}}}
	}
	ebs := func(id string, ro bool) v1.Volume {
		return v1.Volume{VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: ro}}}
	}
	iscsi := func(iqn string, ro bool) v1.Volume {
		return v1.Volume{VolumeSource: v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{IQN: iqn, ReadOnly: ro}}}
	}
	rbd := func(pool, image string, ro bool, monitors ...string) v1.Volume {
		return v1.Volume{VolumeSource: v1.VolumeSource{RBD: &v1.RBDVolumeSource{RBDPool: pool, RBDImage: image, ReadOnly: ro, CephMonitors: monitors}}}
	}
	empty := v1.Volume{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}
	for name, c := range map[string]struct {
		a, b v1.Volume
		want bool
	}{
		"GCE":                      {gce("d", false), gce("d", false), true},
		"GCE, another disk":        {gce("d", false), gce("e", false), false},
		"GCE, one reads":           {gce("d", false), gce("d", true), true},
		"GCE, both read":           {gce("d", true), gce("d", true), false},
		"EBS":                      {ebs("d", false), ebs("d", false), true},
		"EBS, another disk":        {ebs("d", false), ebs("e", false), false},
		"EBS, both read":           {ebs("d", true), ebs("d", true), true},
		"iSCSI":                    {iscsi("d", false), iscsi("d", false), true},
		"iSCSI, another disk":      {iscsi("d", false), iscsi("e", false), false},
		"iSCSI, one reads":         {iscsi("d", true), iscsi("d", false), true},
		"iSCSI, both read":         {iscsi("d", true), iscsi("d", true), false},
		"RBD":                      {rbd("p", "i", false, "m", "n"), rbd("p", "i", false, "n", "o"), true},
		"RBD, another cluster":     {rbd("p", "i", false, "m"), rbd("p", "i", false, "n"), false},
		"RBD, another pool":        {rbd("p", "i", false, "m"), rbd("q", "i", false, "m"), false},
		"RBD, another image":       {rbd("p", "i", false, "m"), rbd("p", "j", false, "m"), false},
		"RBD, one reads":           {rbd("p", "i", false, "m"), rbd("p", "i", true, "m"), true},
		"RBD, both read":           {rbd("p", "i", true, "m"), rbd("p", "i", true, "m"), false},
		"two kinds":                {gce("d", false), ebs("d", false), false},
		"two kinds, and RBD":       {rbd("p", "d", false, "m"), iscsi("d", false), false},
		"a disk and what is none":  {gce("d", false), empty, false},
		"what is no disk, twice":   {empty, empty, false},
		"RBD and what is none":     {rbd("p", "i", false, "m"), empty, false},
		"iSCSI and what is no one": {iscsi("d", false), empty, false},
	} {
		one, other := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{empty, c.a}}}, &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{c.b, empty}}}
		assert.Equal(t, c.want, isVolumeConflict(c.a, c.b), name)
		assert.Equal(t, c.want, isVolumeConflict(c.b, c.a), "%s, the other way round", name)
		assert.Equal(t, c.want, disksConflict(one, other), name)
	}
}
