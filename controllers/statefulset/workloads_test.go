package statefulset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

func setYAML(replicas int, management string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: %d
  podManagementPolicy: %s
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: mysql, volumeMounts: [{name: data, mountPath: /var/lib/mysql}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: openebs-hostpath
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
`, replicas, management)
}

// A StatefulSet with OpenEBS volumes runs, is scaled down and up again, and every
// replica finds its own data on its own node.
func TestAStatefulSetFindsItsDataAfterScalingDownAndUp(t *testing.T) {
	for _, management := range []string{"OrderedReady", "Parallel"} {
		for _, seed := range []uint64{0, 1, 2} {
			t.Run(fmt.Sprintf("%s seed %d", management, seed), func(t *testing.T) {
				c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node1", "node2"), Disks: storagesim.MemoryDisks, Seed: seed})
				c.AddProvisionController(openebs.Controller(openebs.Config{}))
				c.Apply(clustertest.MainStory[0], setYAML(3, management))
				c.Settle()
				nodes := map[string]string{}
				for _, name := range []string{"db-0", "db-1", "db-2"} {
					require.Equal(t, v1.PodRunning, c.Pod(name).Status.Phase, c.Cluster.Story())
					require.Equal(t, v1.ClaimBound, c.Claim("data-"+name).Status.Phase)
					c.Machine("pod/"+name).WriteFile("/var/lib/mysql/who", name)
					nodes[name] = c.Pod(name).Spec.NodeName
				}
				require.Regexp(t, `db +3/3`, c.Get("statefulsets"))

				c.Apply(setYAML(0, management))
				c.Settle()
				require.Regexp(t, `db +0/0`, c.Get("statefulsets"))
				_, err := c.Cluster.Pod("db-0")
				require.Error(t, err)
				require.Equal(t, v1.ClaimBound, c.Claim("data-db-2").Status.Phase, "claims are kept")

				c.Apply(setYAML(3, management))
				c.Settle()
				for name, node := range nodes {
					require.Equal(t, v1.PodRunning, c.Pod(name).Status.Phase)
					require.Equal(t, node, c.Pod(name).Spec.NodeName, "where its data is")
					require.Equal(t, name, c.Machine("pod/"+name).ReadFile("/var/lib/mysql/who"))
				}

				// A pod that is deleted comes back to its data, too.
				before := c.Pod("db-1").UID
				c.Delete("pod/db-1")
				c.Settle()
				require.NotEqual(t, before, c.Pod("db-1").UID)
				require.Equal(t, "db-1", c.Machine("pod/db-1").ReadFile("/var/lib/mysql/who"))

				// The pods go with their set; the claims do not.
				c.Delete("sts/db")
				c.Settle()
				_, err = c.Cluster.Pod("db-0")
				require.ErrorContains(t, err, "not found")
				c.Delete("pvc/data-db-0", "pvc/data-db-1", "pvc/data-db-2")
				c.Settle()
				for _, node := range []string{"node1", "node2"} {
					names, _ := c.Cluster.Machine("node/" + node).ListDir("/var/openebs/local") // one node may have had none
					require.Empty(t, names)
				}
				c.RequireNoLeaks()
			})
		}
	}
}

func TestAStatefulSetRunsWhoeverCrashes(t *testing.T) {
	t.Parallel()
	for _, actor := range []string{storagesim.StatefulSets, storagesim.PVController, storagesim.Scheduler} {
		for skip := range 12 {
			c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node1", "node2"), Disks: storagesim.MemoryDisks})
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.Settle()
			c.Inject(engine.Fault{Actor: actor, Skip: skip, Crash: true, After: skip%2 == 0, Restart: time.Second})
			c.Apply(clustertest.MainStory[0], setYAML(2, "OrderedReady"))
			c.Settle()
			c.RunFor(10 * time.Minute)
			require.Regexp(t, `db +2/2`, c.Get("statefulsets"), "%s crashes at call %d", actor, skip)
			c.RequireNoLeaks()
		}
	}
}

// ownedClaimsSet returns the set of setYAML whose claims are deleted with it.
func ownedClaimsSet(replicas int) string {
	return strings.Replace(setYAML(replicas, "Parallel"), "serviceName: db", "serviceName: db\n  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}", 1)
}

// What belongs to a StatefulSet goes before it, in the foreground, in every order of
// events: its pods are stopped, its claims and their data deleted, and then it goes.
func TestAStatefulSetDeletedInTheForegroundGoesLast(t *testing.T) {
	explore.Test(t, randomly(10, storagesim.Config{Nodes: storagesim.Nodes("node1", "node2")}), func(c *explore.Cluster) {
		t := c.T
		c.AddProvisionController(openebs.Controller(openebs.Config{}))
		c.Apply(clustertest.MainStory[0], ownedClaimsSet(2))
		c.Settle()
		require.Regexp(t, `db +2/2`, c.Get("statefulsets"))
		var gone []string
		c.Engine().Server().OnWrite(func(w trace.Write) {
			if w.Last != nil && w.Namespace == "default" && w.Kind != "ControllerRevision" { // it has a generated name
				gone = append(gone, w.Kind+" "+w.Name)
			}
		})
		foreground := metav1.DeletePropagationForeground
		require.NoError(t, c.Client().AppsV1().StatefulSets("default").Delete(context.Background(), "db", metav1.DeleteOptions{PropagationPolicy: &foreground}))
		c.Settle()
		require.ElementsMatch(t, []string{
			"Pod db-0", "Pod db-1", "PersistentVolumeClaim data-db-0", "PersistentVolumeClaim data-db-1", "StatefulSet db",
		}, gone)
		require.Equal(t, "StatefulSet db", gone[len(gone)-1])
		c.RequireNoLeaks()
	})
}

// The same set made anew takes its pods and claims back.
func TestTheOrphansOfAStatefulSetRunOnAndAreAdopted(t *testing.T) {
	explore.Test(t, randomly(5, storagesim.Config{}), func(c *explore.Cluster) {
		t := c.T
		c.AddProvisionController(openebs.Controller(openebs.Config{}))
		c.Apply(clustertest.MainStory[0], ownedClaimsSet(2))
		c.Settle()
		before := c.Pod("db-1")
		orphan := metav1.DeletePropagationOrphan
		require.NoError(t, c.Client().AppsV1().StatefulSets("default").Delete(context.Background(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}))
		c.Settle()
		_, err := c.Client().AppsV1().StatefulSets("default").Get(context.Background(), "db", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), err)
		for _, obj := range []metav1.Object{c.Pod("db-0"), c.Pod("db-1"), c.Claim("data-db-0"), c.Claim("data-db-1")} {
			require.Empty(t, obj.GetOwnerReferences(), obj.GetName())
			require.Nil(t, obj.GetDeletionTimestamp(), obj.GetName())
		}
		c.Apply(ownedClaimsSet(2))
		c.Settle()
		require.Equal(t, before.UID, c.Pod("db-1").UID, "it runs on")
		require.Regexp(t, `db +2/2`, c.Get("statefulsets"))
		set, err := c.Client().AppsV1().StatefulSets("default").Get(context.Background(), "db", metav1.GetOptions{})
		require.NoError(t, err)
		for _, obj := range []metav1.Object{c.Pod("db-0"), c.Pod("db-1"), c.Claim("data-db-0"), c.Claim("data-db-1")} {
			require.True(t, metav1.IsControlledBy(obj, set), obj.GetName())
		}
		c.Delete("sts/db")
		c.Settle()
		_, err = c.Cluster.Pod("db-0")
		require.ErrorContains(t, err, "not found", "they go with the new one")
		c.RequireNoLeaks()
	})
}

// retained returns setYAML with a retention policy.
func retained(replicas int, whenDeleted, whenScaled string) string {
	return strings.Replace(setYAML(replicas, "Parallel"), "spec:\n", fmt.Sprintf(
		"spec:\n  persistentVolumeClaimRetentionPolicy: {whenDeleted: %s, whenScaled: %s}\n", whenDeleted, whenScaled), 1)
}

func TestTheRetentionPolicySaysWhetherClaimsGoWithTheirSetOrReplica(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{0, 1, 2, 3} {
		for _, policy := range [][2]string{{"Retain", "Retain"}, {"Delete", "Retain"}, {"Retain", "Delete"}, {"Delete", "Delete"}} {
			t.Run(fmt.Sprint(policy, " seed ", seed), func(t *testing.T) {
				c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node1", "node2"), Disks: storagesim.MemoryDisks, Seed: seed})
				c.AddProvisionController(openebs.Controller(openebs.Config{}))
				c.Apply(clustertest.MainStory[0], retained(2, policy[0], policy[1]))
				c.Settle()
				require.Regexp(t, `db +2/2`, c.Get("statefulsets"), c.Cluster.Story())
				volume := c.Claim("data-db-1").Spec.VolumeName

				c.Apply(retained(1, policy[0], policy[1]))
				c.Settle()
				_, err := c.Cluster.Claim("data-db-1")
				require.Equal(t, policy[1] == "Delete", err != nil, "whenScaled")
				_, err = c.Cluster.Volume(volume)
				require.Equal(t, policy[1] == "Delete", err != nil, "and its volume")
				require.Equal(t, v1.PodRunning, c.Pod("db-0").Status.Phase)

				c.Delete("sts/db")
				c.Settle()
				_, err = c.Cluster.Pod("db-0")
				require.Error(t, err)
				_, err = c.Cluster.Claim("data-db-0")
				require.Equal(t, policy[0] == "Delete", err != nil, "whenDeleted")
				c.RequireNoLeaks()
			})
		}
	}
}

// randomly returns a configuration for scenarios that cause faults of their own, by the seed: no two runs do the same, and the
// scenario itself checks what is left.
func randomly(runs int, cluster storagesim.Config) explore.Config {
	return explore.Config{Runs: runs, Cluster: cluster, Strategies: []string{explore.Random},
		Except: []string{explore.Liveness, explore.NothingLeaks, explore.PlainRun}}
}
