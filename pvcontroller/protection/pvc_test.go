package protection

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// added is a queue that only remembers what was added.
type added struct {
	control.Queue
	keys []string
}

func (q *added) Add(key string) { q.keys = append(q.keys, key) }

func TestEveryUpdateOfAPodBringsUpItsClaims(t *testing.T) { // semantics 1.8
	pod := func(uid types.UID, claim, node string, phase v1.PodPhase) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid}}
		pod.Spec.NodeName, pod.Status.Phase = node, phase
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
		return pod
	}
	going := pod("1", "a", "node-1", v1.PodRunning)
	going.DeletionTimestamp = &metav1.Time{}
	for name, test := range map[string]struct {
		old, pod *v1.Pod
		want     []string
	}{
		"runs on":                         {pod("1", "a", "node-1", v1.PodRunning), pod("1", "a", "node-1", v1.PodRunning), []string{"default/a"}},
		"was scheduled":                   {pod("1", "a", "", v1.PodPending), pod("1", "a", "node-1", v1.PodPending), []string{"default/a"}},
		"has no node":                     {pod("1", "a", "", v1.PodPending), pod("1", "a", "", v1.PodPending), []string{"default/a"}},
		"has succeeded":                   {pod("1", "a", "node-1", v1.PodRunning), pod("1", "a", "node-1", v1.PodSucceeded), []string{"default/a"}},
		"has failed":                      {pod("1", "a", "node-1", v1.PodRunning), pod("1", "a", "node-1", v1.PodFailed), []string{"default/a"}},
		"is deleted and nothing runs":     {pod("1", "a", "node-1", v1.PodRunning), going, []string{"default/a"}},
		"was replaced by one of its name": {pod("1", "a", "node-1", v1.PodRunning), pod("2", "b", "node-1", v1.PodRunning), []string{"default/b", "default/a"}},
	} {
		queue := &added{}
		c := &pvcController{queue: queue}
		c.podUpdated(test.old, test.pod)
		require.Equal(t, test.want, queue.keys, name)
	}
}
