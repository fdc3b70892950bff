package statefulset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/workload"
)

func (c *cluster) revisions() []appsv1.ControllerRevision {
	c.Helper()
	list, err := c.User.AppsV1().ControllerRevisions("default").List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return workload.ByRevision(&a, &b) })
	return list.Items
}

func (c *cluster) image(image string) {
	c.Helper()
	c.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`)
	c.Settle()
}

// The recording statefulset_claims of a real control plane has a set of this template, and this name, data and hash of its ControllerRevision.
func TestARevisionHasTheNameThatARecordingHas(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, func(set *appsv1.StatefulSet) {
		set.Spec.Template.Annotations = nil
		set.Spec.Template.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/d"}}
	})
	c.Settle()
	revisions := c.revisions()
	require.Len(t, revisions, 1)
	require.Equal(t, "db-658fbfb6f6", revisions[0].Name)
	require.Equal(t, map[string]string{"app": "db", "controller.kubernetes.io/hash": "658fbfb6f6"}, revisions[0].Labels)
	require.EqualValues(t, 1, revisions[0].Revision)
	require.True(t, metav1.IsControlledBy(&revisions[0], c.set()))
	require.JSONEq(t, `{"spec": {"template": {"$patch": "replace", "metadata": {"labels": {"app": "db"}},
  "spec": {"containers": [{"image": "busybox", "imagePullPolicy": "Always", "name": "c",
		"resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
			"volumeMounts": [{"mountPath": "/d", "name": "data"}]}],
		"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30}}}}`,
		string(revisions[0].Data.Raw))
	require.Equal(t, "db-658fbfb6f6", c.pod("db-0").Labels[appsv1.ControllerRevisionHashLabelKey])
}

func TestAPodBelowThePartitionComesBackWithTheOldTemplate(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(2, func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	})
	c.Settle()
	c.runs("db-0", "db-1")
	c.image("busybox:2")
	c.runs("db-1")
	require.Equal(t, "busybox:2", c.pod("db-1").Spec.Containers[0].Image)
	c.deletePod("db-0")
	c.Settle()
	require.Equal(t, "busybox", c.pod("db-0").Spec.Containers[0].Image)
	require.Equal(t, c.set().Status.CurrentRevision, c.pod("db-0").Labels[appsv1.ControllerRevisionHashLabelKey])
	require.Equal(t, "x", c.pod("db-0").Annotations["note"])
	require.Equal(t, "data-db-0", c.pod("db-0").Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
}

// kubectl rollout undo sends the data of an older ControllerRevision as a strategic merge patch.
func TestAnOlderTemplateOfASetComesBackWithANewRevision(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	c.runs("db-0")
	first := c.revisions()[0]
	c.image("busybox:2")
	c.runs("db-0")
	c.patch(string(first.Data.Raw))
	c.Settle()
	c.runs("db-0")
	revisions := c.revisions()
	require.Len(t, revisions, 2)
	require.Equal(t, first.Name, revisions[1].Name)
	require.EqualValues(t, 3, revisions[1].Revision)
	require.Equal(t, "busybox", c.pod("db-0").Spec.Containers[0].Image)
	require.Equal(t, first.Name, c.set().Status.CurrentRevision)
}

func TestOldRevisionsOfASetBeyondTheLimitAreDeletedUnlessTheyAreUsed(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, func(set *appsv1.StatefulSet) {
		set.Spec.RevisionHistoryLimit = new(int32(1))
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	})
	c.Settle()
	c.runs("db-0")
	first := c.revisions()[0].Name
	for _, image := range []string{"busybox:2", "busybox:3", "busybox:4"} {
		c.image(image)
	}
	var names []string
	for _, revision := range c.revisions() {
		names = append(names, revision.Name)
	}
	require.Len(t, names, 3, "the pod's, one old one and the present one")
	require.Equal(t, first, names[0])
	require.Equal(t, c.set().Status.UpdateRevision, names[2])
}

func TestANegativeLimitKeepsAllRevisions(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, func(set *appsv1.StatefulSet) { set.Spec.RevisionHistoryLimit = new(int32(-1)) })
	c.Settle()
	c.runs("db-0")
	c.image("busybox:2")
	c.runs("db-0")
	require.Len(t, c.revisions(), 2)
	require.Equal(t, c.set().Status.UpdateRevision, c.set().Status.CurrentRevision)
}

func TestANameThatAnotherTemplateHasIsNotTaken(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	taken := c.revisions()[0]
	require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}))
	c.Settle()
	c.deletePod("db-0")
	require.NoError(t, c.User.AppsV1().ControllerRevisions("default").Delete(ctx, taken.Name, metav1.DeleteOptions{}))
	c.Settle()
	taken.ObjectMeta = metav1.ObjectMeta{Name: taken.Name}
	taken.Data.Raw = []byte(`{"spec":{}}`)
	_, err := c.User.AppsV1().ControllerRevisions("default").Create(ctx, &taken, metav1.CreateOptions{})
	require.NoError(t, err)
	c.apply(1)
	c.Settle()
	require.Len(t, c.revisions(), 2)
	require.NotEqual(t, taken.Name, c.set().Status.UpdateRevision)
	require.EqualValues(t, 1, *c.set().Status.CollisionCount)
	require.Equal(t, c.set().Status.UpdateRevision, c.pod("db-0").Labels[appsv1.ControllerRevisionHashLabelKey])
}

// In batches of 1, 2 and 4; the batch in which a pod was refused is the last.
func TestParallelStopsAfterABatchWithAnError(t *testing.T) {
	c := newCluster(t, engine.Config{})
	refused := apierrors.NewInternalError(errors.New("no"))
	require.NoError(t, c.Engine.Inject(engine.Fault{Actor: statefulset.ActorName, Verb: "create", Resource: "pods", Name: "db-1", Err: refused}))
	c.apply(7, parallel)
	c.Settle()
	require.Equal(t, "db-0 db-1 db-2 db-3 db-4 db-5 db-6", c.pods())
	var order []string
	for _, said := range c.said("db") {
		for _, name := range []string{"db-0", "db-1", "db-2", "db-3"} {
			if strings.Contains(said, "Create Pod "+name+" ") {
				order = append(order, strings.Fields(said)[0]+" "+name)
			}
		}
	}
	require.Equal(t, []string{"Normal db-0", "Warning db-1", "Normal db-2", "Normal db-1", "Normal db-3"}, order,
		"the rest of the batch, and then none before the next look")
}
