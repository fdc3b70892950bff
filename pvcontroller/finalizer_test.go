package pvcontroller

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

func TestOnlyInTreeVolumesToBeDeletedGetTheControllersFinalizer(t *testing.T) {
	const ours, theirs, other = binding.PVDeletionInTreeProtectionFinalizer, binding.PVDeletionProtectionFinalizer, binding.PVProtectionFinalizer
	inTree := map[string]string{binding.AnnDynamicallyProvisioned: "kubernetes.io/host-path"}
	for name, test := range map[string]struct {
		annotations map[string]string
		policy      v1.PersistentVolumeReclaimPolicy
		deleting    bool
		has, want   []string
	}{
		"made by hand": {nil, v1.PersistentVolumeReclaimDelete, false, []string{other}, []string{other}},
		"external": {map[string]string{binding.AnnDynamicallyProvisioned: "example.com/ext"}, v1.PersistentVolumeReclaimDelete, false,
			[]string{theirs}, []string{theirs}},
		"in-tree, Delete":         {inTree, v1.PersistentVolumeReclaimDelete, false, []string{other}, []string{other, ours}},
		"in-tree, Delete, has it": {inTree, v1.PersistentVolumeReclaimDelete, false, []string{ours, other}, []string{ours, other}},
		"in-tree, deleting":       {inTree, v1.PersistentVolumeReclaimDelete, true, []string{other}, []string{other}},
		"in-tree, Retain":         {inTree, v1.PersistentVolumeReclaimRetain, false, []string{ours, other}, []string{other}},
		"in-tree, with theirs":    {inTree, v1.PersistentVolumeReclaimRetain, false, []string{theirs, other}, []string{other}},
		"migrated": {
			map[string]string{binding.AnnDynamicallyProvisioned: "kubernetes.io/aws-ebs", binding.AnnMigratedTo: "ebs.csi.aws.com"},
			v1.PersistentVolumeReclaimDelete, false, []string{ours, theirs}, []string{theirs},
		},
	} {
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations, Finalizers: test.has}}
		volume.Spec.PersistentVolumeReclaimPolicy = test.policy
		if test.deleting {
			volume.DeletionTimestamp = &metav1.Time{}
		}
		before := volume.DeepCopy()
		got, modified := modifyDeletionFinalizers(volume)
		require.Equal(t, test.want, got, name)
		require.Equal(t, len(test.want) != len(test.has), modified, name)
		require.Equal(t, before, volume, "the volume is shared and must not change")
	}
}
