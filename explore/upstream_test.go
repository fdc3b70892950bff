package explore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
)

// threeManifests are a class, a claim and a pod.
const threeManifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
`

// playThree installs a driver, applies the three manifests and deletes pod and claim, without a check of its own.
func playThree(c *explore.Cluster, d deploy.Driver) {
	c.InstallCSIDriver(d)
	c.RunFor(5 * time.Second)
	c.Apply(threeManifests)
	c.Settle()
	c.Delete("pod/web", "pvc/data")
	c.Settle()
}

// threeComeAndGo does so with the reference driver.
var threeComeAndGo = explore.Scenario(func(c *explore.Cluster) { playThree(c, driver.Config{}) })

// forgetsAStagedVolume restarts a kubelet that cannot unstage the volume of a pod that is gone: it forgets the volume.
func forgetsAStagedVolume(c *explore.Cluster) {
	c.InstallCSIDriver(driver.Config{})
	c.RunFor(5 * time.Second)
	c.Apply(threeManifests)
	c.RunFor(time.Minute)
	c.Inject(call.Fault{Method: "NodeUnstageVolume", Code: codes.Unavailable, Times: 4})
	c.Delete("pod/web")
	c.RunFor(2 * time.Second)
	c.Crash("kubelet/node-1")
	c.RunFor(time.Minute)
}

func crashes() explore.Config {
	return explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Strategies: []string{"crashes"}}
}

// Bug 31, from three manifests.
func TestAFaultOfKubernetesIsFoundFromThreeManifestsAndIsNotTheAuthors(t *testing.T) {
	report, err := explore.Run(t.Context(), crashes(), threeComeAndGo)
	require.NoError(t, err, "it only counts")
	require.Len(t, report.Upstream, 1)
	found := report.Upstream[0]
	require.Equal(t, "upstream: kubernetes/kubernetes 121937", found.Bug.String())
	require.Positive(t, found.Runs)
	require.Contains(t, found.String(), "upstream: kubernetes/kubernetes 121937: a kubelet that restarts forgets a volume")
	require.Greater(t, report.Runs, found.First.Run, "it goes on")

	cfg := crashes()
	cfg.Upstream = explore.Fail
	_, err = explore.Run(t.Context(), cfg, threeComeAndGo)
	failure, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, found.First.Run, failure.Run)
	require.Equal(t, "kubernetes/kubernetes 121937", failure.Upstream.Issue)
	require.Equal(t, 1, failure.Plan.Size())
	require.Contains(t, failure.Error(), "\nupstream: kubernetes/kubernetes 121937: a kubelet that restarts forgets")

	replayed, ok := errors.AsType[*explore.Failure](explore.Replay(crashes(), failure.Plan.String(), threeComeAndGo))
	require.True(t, ok)
	require.Equal(t, "kubernetes/kubernetes 121937", replayed.Upstream.Issue)
	better := crashes()
	failure.Upstream.Mend(&better.Cluster)
	require.NoError(t, explore.Replay(better, failure.Plan.String(), threeComeAndGo))
}

// What fails with every fault mended, too, is the author's: also in a run in which a kubelet forgets a volume.
func TestWhatFailsWithTheFaultMendedIsTheAuthors(t *testing.T) {
	wrong := errors.New("the author's own")
	scenario := func(c *storagesim.Cluster) error {
		err := threeComeAndGo(c)
		for _, e := range c.Trace().Records() {
			if e.Actor == "kubelet/node-1" && e.Record.Topic() == "fault" {
				return errors.Join(err, wrong) // each crash of the kubelet
			}
		}
		return err
	}
	report, err := explore.Run(t.Context(), crashes(), scenario)
	failure, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Nil(t, failure.Upstream)
	require.ErrorIs(t, failure, wrong)
	require.Empty(t, report.Upstream)
}

// Each switch keeps what the user has set.
func TestMendingKeepsTheUsersConfiguration(t *testing.T) {
	for _, bug := range explore.UpstreamBugs() {
		require.NotEmpty(t, bug.Text)
		cfg := crashes()
		bug.Mend(&cfg.Cluster)
		require.NoError(t, explore.Replay(cfg, "x1", threeComeAndGo), bug.Text)
	}
}

// A kubelet forgets a volume that is staged, and later its Node is made anew: with one of the two mended the run still fails.
func TestARunThatMeetsTwoFaultsOfKubernetesIsLaidToBoth(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Cluster: crashes().Cluster, Runs: 1}, explore.Scenario(func(c *explore.Cluster) {
		forgetsAStagedVolume(c)
		c.Apply(threeManifests)
		c.RunFor(time.Minute)
		c.Stop("kubelet/node-1")
		c.Must(c.Client().CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}))
		c.RunFor(2 * time.Minute)
		c.Start("kubelet/node-1")
		c.RunFor(time.Minute)
	}))
	require.NoError(t, err)
	require.Len(t, report.Upstream, 1)
	require.Equal(t, "upstream: kubernetes/kubernetes 121937 and not reported yet", report.Upstream[0].Bug.String())
	require.Equal(t, "a kubelet that restarts forgets a volume that is staged and in no pod's directory; and "+
		"a Node object that is made anew has no volumesInUse, so that mounted volumes are detached", report.Upstream[0].Bug.Text)
	require.Equal(t, 1, report.Upstream[0].Runs)
}

// A claim comes and goes, and comes again under its name, while a cache of claims is late. In v1.37.2 neither controller looks at the
// claim again: attachdetach/util getPVCFromCache and populator findAndRemoveDeletedPods, volumebinding isPVCBound.
func TestAClaimThatIsMadeAnewBehindALateCacheIsKubernetesOwn(t *testing.T) {
	for actor, test := range map[string]struct {
		class, text string
		install     func(c *explore.Cluster)
	}{
		storagesim.AttachDetach: {threeManifests,
			"an attach/detach controller that sees a pod before the claim that was made anew attaches the old claim's volume, until the pod goes",
			func(c *explore.Cluster) { c.InstallCSIDriver(driver.Config{}) }},
		storagesim.Scheduler: {strings.Replace(threeManifests, "provisioner: csi.storagesim.io",
			"provisioner: example.com/disks\nvolumeBindingMode: WaitForFirstConsumer", 1),
			"a scheduler whose cache still shows the claim that was made anew binds the pod, and selects no node for the new claim",
			func(c *explore.Cluster) { c.AddProvisioner("example.com/disks", forty{c.AddNFSServer("nas", "/srv")}) }},
	} {
		t.Run(actor, func(t *testing.T) {
			cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 1}
			scenario := explore.Scenario(func(c *explore.Cluster) {
				test.install(c)
				c.RunFor(5 * time.Second)
				c.Apply(test.class)
				c.RunFor(time.Minute)
				c.Hold(actor, "persistentvolumeclaims")
				c.Delete("pod/web", "pvc/data")
				c.RunUntil(func() bool { _, err := c.Cluster.Claim("data"); return err != nil })
				c.Apply(test.class)
				c.RunFor(5 * time.Second)
				c.Release(actor, "persistentvolumeclaims")
				c.RunFor(20 * time.Minute)
			})
			report, err := explore.Run(t.Context(), cfg, scenario)
			require.NoError(t, err)
			require.Len(t, report.Upstream, 1)
			require.Equal(t, test.text, report.Upstream[0].Bug.Text)
			report.Upstream[0].Bug.Mend(&cfg.Cluster)
			require.NoError(t, explore.Replay(cfg, "x1", scenario))
		})
	}
}

// The creation of a volume is carried out and its answer is lost, and the next four tries are refused. The claim is bound and its pod runs
// when the library deletes the volume: sig-storage-lib-external-provisioner v13, backoffStore.
func TestAVolumeThatIsDeletedThoughItsObjectIsSavedIsTheLibrarysOwn(t *testing.T) {
	scenario := func(mine bool) func(c *storagesim.Cluster) error {
		return explore.Scenario(func(c *explore.Cluster) {
			disks := forty{c.AddNFSServer("nas", "/srv")}
			c.AddProvisioner("example.com/disks", disks)
			c.Inject(engine.Fault{Actor: "example.com/disks", Verb: "create", Resource: "persistentvolumes", After: true, Err: engine.ErrAnswerLost})
			c.Inject(engine.Fault{Actor: "example.com/disks", Verb: "create", Resource: "persistentvolumes", Times: 4,
				Err: apierrors.NewServiceUnavailable("the server restarts")})
			c.Apply(strings.Replace(threeManifests, "csi.storagesim.io", "example.com/disks", 1))
			c.RunFor(2 * time.Minute)
			if mine {
				c.Must(disks.server.Disk().RemoveAll("/srv"))
			}
		})
	}
	cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 1}
	report, err := explore.Run(t.Context(), cfg, scenario(false))
	require.NoError(t, err)
	require.Len(t, report.Upstream, 1)
	require.Contains(t, report.Upstream[0].Bug.Text, "deletes the volume, although an earlier try had saved the object")
	report.Upstream[0].Bug.Mend(&cfg.Cluster)
	require.NoError(t, explore.Replay(cfg, "x1", scenario(false)))
	require.Error(t, explore.Replay(cfg, "x1", scenario(true)), "what the author loses is the author's")
}

// The controller's cache does not show the claim that it has just created, and the set is deleted: upstream's
// stateful_pod_control.go createPersistentVolumeClaims and UpdatePodClaimForRetentionPolicy.
func TestAClaimThatASetLeavesBehindALateCacheIsKubernetesOwn(t *testing.T) {
	cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 1}
	scenario := explore.Scenario(func(c *explore.Cluster) {
		c.AddProvisioner("example.com/disks", forty{c.AddNFSServer("nas", "/srv")})
		c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disks}, provisioner: example.com/disks}")
		c.Settle()
		c.Hold(storagesim.StatefulSets, "persistentvolumeclaims")
		c.Apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: disks, resources: {requests: {storage: 1Gi}}}}]
`)
		c.RunFor(time.Minute)
		c.Delete("statefulset/db")
		c.RunFor(time.Minute)
		c.Release(storagesim.StatefulSets, "persistentvolumeclaims")
		c.RunFor(time.Minute)
		_, err := c.Cluster.Claim("data-db-0")
		require.True(c.T, apierrors.IsNotFound(err), "%v", err)
	})
	report, err := explore.Run(t.Context(), cfg, scenario)
	require.NoError(t, err)
	require.Len(t, report.Upstream, 1)
	require.Contains(t, report.Upstream[0].Bug.Text, "leaves the claim, which has no owner yet")
	report.Upstream[0].Bug.Mend(&cfg.Cluster)
	require.NoError(t, explore.Replay(cfg, "x1", scenario))
}

// staysStaged returns a scenario whose plain run fails by a known bug: a kubelet that restarts forgets the volume that it cannot unstage. With own set, each
// crash of the scheduler is a failure of the author's.
func staysStaged(own error) func(c *storagesim.Cluster) error {
	play := explore.Scenario(forgetsAStagedVolume)
	return func(c *storagesim.Cluster) error {
		err := play(c)
		for _, e := range c.Trace().Records() {
			if e.Actor == storagesim.Scheduler && e.Record.Topic() == "fault" {
				return errors.Join(err, own)
			}
		}
		return err
	}
}

// The bug would make every run fail, so that nothing else is found: it is mended in all runs but the first.
func TestAPlainRunThatFailsByABugOfKubernetesIsCountedAndTheOthersAreExplored(t *testing.T) {
	cfg := crashes()
	cfg.Runs = 30
	report, err := explore.Run(t.Context(), cfg, staysStaged(nil))
	require.NoError(t, err)
	require.Equal(t, 30, report.Runs)
	require.Positive(t, report.Coverage.Recovered)
	require.Len(t, report.Upstream, 1)
	require.Equal(t, 1, report.Upstream[0].Runs)
	require.Contains(t, report.Upstream[0].String(), "kubernetes/kubernetes 121937")
	require.Contains(t, report.Upstream[0].String(), "the first is x1. The plain run failed by it, so all others were played with it mended")

	wrong := errors.New("the author's own")
	cfg.Runs = 200
	report, err = explore.Run(t.Context(), cfg, staysStaged(wrong))
	failure, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Nil(t, failure.Upstream)
	require.ErrorIs(t, failure, wrong)
	require.Len(t, report.Upstream, 1)
	require.EqualError(t, failure.Untold, "a bug of Kubernetes by which the plain run fails is mended in it")
	again, ok := errors.AsType[*explore.Failure](explore.Replay(cfg, failure.Plan.String(), staysStaged(wrong)))
	require.True(t, ok)
	require.ErrorIs(t, again, wrong)
	require.Nil(t, again.Upstream)

	plain, ok := errors.AsType[*explore.Failure](explore.Replay(cfg, "x1", staysStaged(wrong)))
	require.True(t, ok, "the line of what was counted shows it")
	require.Equal(t, "kubernetes/kubernetes 121937", plain.Upstream.Issue)
}

// What no mend explains is not looked for in the other runs.
func TestAPlainRunInWhichCallersBreakARuleOfCSIIsCountedAndTheOthersAreExploredWithoutThatRule(t *testing.T) {
	cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 20}
	report, err := explore.Run(t.Context(), cfg, explore.Scenario(func(c *explore.Cluster) {
		c.InstallCSIDriver(driver.Config{})
		c.Apply(threeManifests)
		c.Settle()
		c.Crash("kubelet/node-1")
		c.RunFor(time.Minute)
		staysPublished(c)
	}))
	require.NoError(t, err)
	require.Equal(t, 20, report.Runs)
	require.Len(t, report.Upstream, 2, "the check is in two rules")
	for i, rule := range []string{explore.CallOrder, explore.CSICalls} {
		require.Equal(t, 1, report.Upstream[i].Runs)
		require.Contains(t, report.Upstream[i].String(), "a rule of CSI (\""+rule+"\") is broken by the callers of a driver")
		require.Contains(t, report.Upstream[i].String(), "The plain run failed by it, so all others were played without the rule \""+rule+"\"")
	}
}
