package pvcontroller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/ephemeral"
)

// ephemeralPod creates a pod with ephemeral volumes of these names, for 5Gi of class
// manual.
func (c *cluster) ephemeralPod(name string, volumes ...string) *v1.Pod {
	c.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}
	for _, volume := range volumes {
		template := &v1.PersistentVolumeClaimTemplate{}
		template.Labels = map[string]string{"for": volume}
		template.Annotations = map[string]string{"note": "from the template"}
		template.Spec = v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new("manual"),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: quantity("5Gi")}},
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{
			Name: volume, VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: template}},
		})
	}
	pod, err := c.user.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(c, err)
	return pod
}

func TestAnEphemeralVolumeGetsAClaimOwnedByItsPod(t *testing.T) {
	atEverySeed(t, 5, func(c *cluster) {
		c.offered("pv", "5Gi")
		c.settle()
		pod := c.ephemeralPod("web", "scratch", "cache")
		c.settle()
		claim := c.claim("web-scratch")
		require.Equal(c, []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: "web", UID: pod.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}}, claim.OwnerReferences)
		require.Equal(c, map[string]string{"for": "scratch"}, claim.Labels)
		require.Equal(c, "from the template", claim.Annotations["note"])
		require.Equal(c, pod.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec.Resources, claim.Spec.Resources)
		require.True(c, c.exists("web-cache"))
		bound := 0 // one volume for two claims: which of them gets it is open
		for _, name := range []string{"web-scratch", "web-cache"} {
			if c.claim(name).Status.Phase == v1.ClaimBound {
				bound++
			}
		}
		require.Equal(c, 1, bound)
		require.Empty(c, c.events("web"))
	})
}

func TestAClaimInTheWayOfAnEphemeralVolumeIsReportedAndLeftAlone(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	inTheWay := c.claimed("web-scratch")
	c.ephemeralPod("web", "scratch")
	c.settle()
	require.Equal(t, []string{"Warning FailedBinding"}, c.events("web"))
	require.Contains(t, c.engine.Trace().String(), "ephemeral volume scratch: PVC default/web-scratch was not created for pod default/web (pod is not owner)")
	require.Equal(t, inTheWay.UID, c.claim("web-scratch").UID)
	require.Empty(t, c.claim("web-scratch").OwnerReferences)

	c.deleteClaim("web-scratch")
	c.settle()
	require.Len(t, c.claim("web-scratch").OwnerReferences, 1, "made as soon as the name is free")
}

func TestAClaimThatTheServerRefusesIsReportedOnThePod(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	require.NoError(t, c.engine.Inject(engine.Fault{Actor: ephemeral.ActorName, Verb: "create", Err: fmt.Errorf("no")}))
	c.ephemeralPod("web", "scratch")
	c.settle()
	require.Equal(t, []string{"Warning FailedBinding"}, c.events("web"))
	require.True(t, c.exists("web-scratch"), "tried again")
}

func TestNoClaimIsMadeForAPodThatGoesOrHasNoEphemeralVolume(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.settle()
	c.pod("plain", "data", "")
	pod := c.ephemeralPod("going", "scratch")
	c.patchPod("going", `{"metadata":{"finalizers":["example.com/wait"]}}`)
	c.deletePod("going")
	c.settle()
	claims, err := c.user.CoreV1().PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, claims.Items, pod.Name)
}

func TestTheEphemeralControllerConvergesWhereverItCrashes(t *testing.T) {
	for _, after := range []bool{false, true} {
		for skip := range 3 {
			c := newCluster(t, engine.Config{}, pvcontroller.Config{})
			require.NoError(t, c.engine.Inject(engine.Fault{Actor: ephemeral.ActorName, Skip: skip, Crash: true, After: after, Restart: time.Second}))
			c.ephemeralPod("web", "one", "two")
			c.settle()
			require.True(t, c.exists("web-one"))
			require.True(t, c.exists("web-two"))
		}
	}
}
