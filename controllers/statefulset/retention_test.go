package statefulset_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/engine"
)

func retention(whenDeleted, whenScaled string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.PersistentVolumeClaimRetentionPolicyType(whenDeleted),
			WhenScaled:  appsv1.PersistentVolumeClaimRetentionPolicyType(whenScaled),
		}
	}
}

// owners returns the owners of a claim as kind/name, with a question mark for those that do not control it.
func (c *cluster) owners(claim string) (owners []string) {
	c.Helper()
	obj, err := c.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, claim, metav1.GetOptions{})
	require.NoError(c, err)
	for _, ref := range obj.OwnerReferences {
		owner := ref.Kind + "/" + ref.Name
		if ref.Controller == nil || !*ref.Controller || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
			owner += "?"
		}
		owners = append(owners, owner)
	}
	return owners
}

func (c *cluster) own(claim string, refs ...metav1.OwnerReference) {
	c.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
	require.NoError(c, err)
	_, err = c.User.CoreV1().PersistentVolumeClaims("default").Patch(ctx, claim, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c, err)
}

// The four policies, for a replica and for a pod that scaling down deletes.
func TestThePolicySaysWhoOwnsAReplicasClaim(t *testing.T) {
	set, pod := []string{"StatefulSet/db"}, []string{"Pod/db-1"}
	for _, tt := range []struct {
		whenDeleted, whenScaled string
		replica, condemned      []string
	}{
		{"Retain", "Retain", nil, nil},
		{"Delete", "Retain", set, set},
		{"Retain", "Delete", nil, pod},
		{"Delete", "Delete", set, pod},
	} {
		for _, management := range []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement} {
			t.Run(fmt.Sprint(tt.whenDeleted, tt.whenScaled, management), func(t *testing.T) {
				c := newCluster(t, engine.Config{})
				c.apply(2, retention(tt.whenDeleted, tt.whenScaled), func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = management })
				c.Settle()
				c.runs("db-0")
				c.runs("db-1")
				require.Equal(t, tt.replica, c.owners("data-db-0"))
				require.Equal(t, tt.replica, c.owners("data-db-1"))
				c.hold("db-1") // so that it still exists, condemned, when the test looks
				c.scale(1)
				require.NotNil(t, c.pod("db-1").DeletionTimestamp)
				require.Equal(t, tt.replica, c.owners("data-db-0"))
				require.Equal(t, tt.condemned, c.owners("data-db-1"))
			})
		}
	}
}

// hold gives a pod a finalizer.
func (c *cluster) hold(pod string) {
	c.Helper()
	_, err := c.User.CoreV1().Pods("default").Patch(ctx, pod, types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`),
		metav1.PatchOptions{})
	require.NoError(c, err)
	c.Settle()
}

func TestANewPolicyChangesTheOwnersOfRunningReplicasClaims(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	c.runs("db-0")
	require.Empty(t, c.owners("data-db-0"))
	c.patch(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}`)
	c.Settle()
	require.Equal(t, []string{"StatefulSet/db"}, c.owners("data-db-0"))
	require.Contains(t, c.Engine.Trace().String(), "SuccessfulUpdate: Update Pod db-0 in StatefulSet db successful")
	c.patch(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)
	c.Settle()
	require.Empty(t, c.owners("data-db-0"))
}

func TestAClaimThatSomebodyElseControlsIsLeftAloneWithAWarning(t *testing.T) {
	c := newCluster(t, engine.Config{})
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "1", Controller: new(true)}
	c.apply(1, retention("Delete", "Retain"))
	c.Settle()
	require.Equal(t, []string{"StatefulSet/db"}, c.owners("data-db-0"))
	c.own("data-db-0", other)
	c.runs("db-0")
	require.Equal(t, []string{"ConfigMap/other?"}, c.owners("data-db-0"), "nothing is added")

	c.own("data-db-0", other, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: c.set().UID})
	c.becomes("db-0", v1.PodPending, v1.ConditionFalse)
	require.Equal(t, []string{"ConfigMap/other?"}, c.owners("data-db-0"), "the set takes itself away")
	require.Contains(t, c.Engine.Trace().String(), "ConflictingController: PersistentVolumeClaim data-db-0 has a conflicting OwnerReference")
}

func TestAnOwnerThatIsNoControllerIsMadeOne(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, retention("Delete", "Retain"))
	c.Settle()
	c.own("data-db-0", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: c.set().UID})
	require.Equal(t, []string{"StatefulSet/db?"}, c.owners("data-db-0"))
	c.runs("db-0")
	require.Equal(t, []string{"StatefulSet/db"}, c.owners("data-db-0"))
}

// The garbage collector will delete the claim with its pod. Until then no new pod may use it.
func TestAPodIsNotMadeWhileTheClaimOfItsPredecessorIsThere(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, retention("Retain", "Delete"))
	c.Settle()
	c.runs("db-0")
	c.scale(0)
	require.Empty(t, c.pods())
	require.Equal(t, []string{"Pod/db-0"}, c.owners("data-db-0"))
	c.scale(1)
	require.Empty(t, c.pods())
	claims := c.User.CoreV1().PersistentVolumeClaims("default")
	require.NoError(t, claims.Delete(ctx, "data-db-0", metav1.DeleteOptions{}))
	_, err := claims.Patch(ctx, "data-db-0", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err) // no pod uses it any more
	c.patch(`{"metadata":{"labels":{"look":"again"}}}`)
	c.Settle()
	require.Equal(t, "db-0", c.pods())
	require.Empty(t, c.owners("data-db-0"))
}

func TestAClaimOfAnEarlierSetOfTheNameIsNotTouched(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, retention("Delete", "Retain"))
	c.Settle()
	c.own("data-db-0", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "earlier", Controller: new(true),
		BlockOwnerDeletion: new(true)})
	c.runs("db-0")
	claim, err := c.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data-db-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, types.UID("earlier"), claim.OwnerReferences[0].UID)
	require.Len(t, claim.OwnerReferences, 1)
}

func TestAConflictOverAClaimsOwnersIsTriedAgain(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	c.runs("db-0")
	require.NoError(t, c.Engine.Hold(statefulset.ActorName, "persistentvolumeclaims"))
	_, err := c.User.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data-db-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	c.patch(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}`)
	c.Settle()
	require.Empty(t, c.owners("data-db-0"))
	require.Contains(t, c.Engine.Trace().String(),
		"FailedUpdate: Update Pod db-0 in StatefulSet db failed error: could not update claim data-db-0 for delete policy ownerRefs")
	require.NoError(t, c.Engine.Release(statefulset.ActorName, "persistentvolumeclaims"))
	require.NoError(t, c.Engine.RunFor(1000*1000*1000*1000))
	require.Equal(t, []string{"StatefulSet/db"}, c.owners("data-db-0"))
}
