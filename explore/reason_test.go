package explore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/trace"
)

func failureOf(t *testing.T, cfg explore.Config, scenario func(*storagesim.Cluster) error) *explore.Failure {
	t.Helper()
	_, err := explore.Run(t.Context(), cfg, scenario)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	return f
}

// A pod without its claim does not run either, and that is another reason.
func TestAFailureIsNotMadeSmallerToAPodWithoutItsClaim(t *testing.T) {
	f := failureOf(t, explore.Config{Strategies: []string{explore.Random}, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}},
		explore.Scenario(func(c *explore.Cluster) {
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.Settle()
			if c.Lab().Seed() > 0 {
				c.Stop("kubelet/node-1")
			}
			c.Apply(podWithClaim)
			c.Settle()
			require.Equal(c.T, v1.PodRunning, c.Pod("web").Status.Phase, "it runs")
		}))
	require.Greater(t, f.Run, 1)
	require.Contains(t, f.Acts, "apply pvc/default/data")
	require.Zero(t, f.Plan.Size(), "%s", f.Plan)
}

// A pod without its ConfigMap, or whose driver was refused a Secret, does not run either.
func TestAFailureIsNotMadeSmallerToAPodWithoutWhatItsVolumesNeed(t *testing.T) {
	f := failureOf(t, explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}, explore.Scenario(func(c *explore.Cluster) {
		d, err := driver.New(driver.Config{})
		c.Must(err)
		d.Interceptors = append(d.Interceptors, before(func(req any) error {
			if _, ok := req.(*spec.NodePublishVolumeRequest); ok {
				return status.Error(codes.Internal, "mkfs: no such program")
			}
			return nil
		}))
		c.InstallCSIDriver(d)
		c.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: conf}, data: {a: b}}", "{apiVersion: v1, kind: Secret, metadata: {name: login}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: not-needed}}",
			strings.NewReplacer("provisioner: csi.storagesim.io", "provisioner: csi.storagesim.io\nparameters: {csi.storage.k8s.io/node-publish-secret-name: login, "+
				"csi.storage.k8s.io/node-publish-secret-namespace: default}",
				"volumes: [", "volumes: [{name: conf, configMap: {name: conf}}, ").Replace(threeManifests))
		c.Settle()
		c.Delete("pod/web", "pvc/data")
		c.Settle()
	}))
	require.ElementsMatch(t, []string{"apply configmap/default/conf", "apply secret/default/login", "apply sc/csi", "apply pvc/default/data",
		"apply pod/default/web"}, f.Acts)
	require.Contains(t, f.Error(), "mkfs: no such program")
}

// The controller gives a snapshot that names no class the default one.
func TestAFailureIsNotMadeSmallerToASnapshotWithoutADefaultClass(t *testing.T) {
	f := failureOf(t, explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}, explore.Scenario(func(c *explore.Cluster) {
		d, err := driver.New(driver.Config{})
		c.Must(err)
		d.Interceptors = append(d.Interceptors, before(func(req any) error {
			if _, ok := req.(*spec.CreateSnapshotRequest); ok {
				return status.Error(codes.Internal, "no room for snapshots")
			}
			return nil
		}))
		c.InstallCSIDriver(d)
		c.Apply(threeManifests)
		c.Settle()
		c.Apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snaps, annotations: {snapshot.storage.kubernetes.io/is-default-class: "true"}}
driver: csi.storagesim.io
deletionPolicy: Delete
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: snap}
spec: {source: {persistentVolumeClaimName: data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: restored}
spec:
  storageClassName: csi
  accessModes: [ReadWriteOnce]
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: snap}
  resources: {requests: {storage: 1Gi}}
`)
		c.RunFor(time.Minute)
	}))
	require.Contains(t, f.Acts, "apply volumesnapshotclass/snaps")
	require.Contains(t, f.Acts, "apply volumesnapshot/default/snap")
	require.Contains(t, f.Acts, "apply pvc/default/data")
	require.Contains(t, f.Error(), "no room for snapshots")
}

// Two assertions fail: the first run that fails meets the one, and the smaller runs that meet the other do not count.
func TestAFailureIsMadeSmallerOnlyAsLongAsTheSameAssertionFails(t *testing.T) {
	f := failureOf(t, explore.Config{Expect: threeWait}, explore.Scenario(func(c *explore.Cluster) {
		bindsOneVolume(c)
		bound := 0
		for _, name := range []string{"a", "b", "c", "d"} {
			if claim, err := c.Cluster.Claim(name); err == nil && claim.Status.Phase == v1.ClaimBound {
				bound++
			}
		}
		if b, err := c.Cluster.Claim("b"); err == nil && b.Status.Phase == v1.ClaimBound {
			if _, err := c.Cluster.Claim("a"); err == nil {
				c.T.Fatalf("b has the volume, and there are %d", bound)
			}
			c.T.Fatalf("b has the volume, and a is not there")
		}
	}))
	require.Contains(t, f.Acts, "apply pvc/default/a")
	require.Equal(t, "b has the volume, and there are ", f.Reason().Message)
	require.Regexp(t, `^reason_test.go:\d+$`, f.Reason().At)
}

func TestTheReasonOfABrokenRuleIsTheRuleAndTheObject(t *testing.T) {
	f := failureOf(t, explore.Config{}, explore.Scenario(func(c *explore.Cluster) {
		c.AddProvisioner("example.com/shelf", &shelf{holds: map[string]bool{}})
		c.Apply(shelfClaim)
		c.Settle()
		c.Stop("example.com/shelf")
		c.Delete("pvc/data")
		c.Settle()
	}))
	require.Equal(t, explore.Reason{Rule: explore.NothingLeaks, Object: "volume of pvc/default/data"}, f.Reason())
	require.Equal(t, "nothing leaks: volume of pvc/default/data", f.Reason().String())
}

// What an order by chance and several faults did, one fault in order does.
func TestAFaultInOrderIsTriedBeforeAnOrderByChance(t *testing.T) {
	for _, strategy := range []string{explore.Storm, explore.Pairs} {
		f := failureOf(t, explore.Config{Strategies: []string{strategy}}, comesAndGoes(true))
		require.Equal(t, strategy, f.Strategy)
		require.Empty(t, f.Plan.Choices, "%s", f.Plan)
		require.Len(t, f.Plan.Faults, 1, "%s", f.Plan)
	}
}

// A run that has another cause is another failure, though the same pod is Pending in it.
func TestAFailureIsMadeSmallerOnlyAsLongAsItsCauseStays(t *testing.T) {
	pod := strings.Split(threeManifests, "---\n")[2]
	another := strings.NewReplacer("name: web", "name: web2", "spec:\n  term", "spec:\n  nodeName: node-1\n  term").Replace(pod)
	t.Run("a claim that is there no more", func(t *testing.T) {
		cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}
		f := failureOf(t, cfg, explore.Scenario(func(c *explore.Cluster) {
			d, err := driver.New(driver.Config{})
			c.Must(err)
			d.Interceptors = append(d.Interceptors, answering(func(answer any) {
				if made, ok := answer.(*spec.CreateVolumeResponse); ok {
					made.Volume.CapacityBytes /= 2
				}
			}))
			c.InstallCSIDriver(d)
			c.RunFor(5 * time.Second)
			c.Apply(threeManifests)
			c.Settle()
			c.Delete("pod/web")
			c.Apply(another)
			c.Settle()
			c.Delete("pod/web2", "pvc/data")
			c.Settle()
		}))
		require.ErrorContains(t, f.Err, "pod default/web is Pending: pvc default/data: provisioner csi.storagesim.io failed: created volume capacity "+
			"536870912 less than")
		require.NotContains(t, f.Acts, "delete pvc/default/data")
	})
	t.Run("another error of the driver", func(t *testing.T) {
		cfg := crashes()
		f := failureOf(t, cfg, explore.Scenario(func(c *explore.Cluster) {
			d, err := driver.New(driver.Config{})
			c.Must(err)
			refuses, detached, published := false, false, 0
			d.Interceptors = append(d.Interceptors, before(func(req any) error {
				switch req.(type) {
				case *spec.ControllerUnpublishVolumeRequest:
					detached = true
				case *spec.NodeUnpublishVolumeRequest:
					published--
				case *spec.ControllerPublishVolumeRequest:
					if refuses && detached {
						return status.Error(codes.InvalidArgument, "it was elsewhere")
					}
				case *spec.NodePublishVolumeRequest:
					if published++; refuses && published > 1 {
						published--
						return status.Error(codes.Internal, "it is busy")
					}
				}
				return nil
			}))
			c.InstallCSIDriver(d)
			c.RunFor(5 * time.Second)
			c.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: not-needed}}")
			c.Apply(threeManifests)
			c.RunFor(time.Minute)
			c.Delete("pod/web")
			c.RunFor(time.Minute)
			refuses = slices.ContainsFunc(c.Trace().Records(), func(e trace.Entry) bool { return e.Actor == storagesim.Scheduler && e.Record.Topic() == "fault" })
			c.Apply(another)
			c.RunFor(time.Minute)
		}))
		require.ErrorContains(t, f.Err, "it was elsewhere")
		require.Contains(t, f.Acts, "delete pod/default/web")
		require.NotContains(t, f.Acts, "apply configmap/default/not-needed")
	})
}

// The claim was never bound: the API server says only that it cannot be made larger.
func TestARefusedActComesWithWhyItsObjectIsNotReady(t *testing.T) {
	larger := strings.Replace(strings.Split(threeManifests, "---\n")[1], "1Gi", "2Gi", 1)
	f := failureOf(t, explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}, explore.Scenario(func(c *explore.Cluster) {
		d, err := driver.New(driver.Config{})
		c.Must(err)
		d.Interceptors = append(d.Interceptors, before(func(req any) error {
			if _, ok := req.(*spec.CreateVolumeRequest); ok {
				return status.Error(codes.ResourceExhausted, "the pool is full")
			}
			return nil
		}))
		c.InstallCSIDriver(d)
		c.Apply(threeManifests)
		c.RunFor(time.Minute)
		c.Apply(larger)
	}))
	require.ErrorContains(t, f.Err, "is invalid: spec: Forbidden")
	require.ErrorContains(t, f.Err, "\npvc default/data is Pending: provisioner csi.storagesim.io failed: ")
	require.ErrorContains(t, f.Err, "the pool is full")
	require.ErrorContains(t, failureOf(t, explore.Config{}, explore.Scenario(func(c *explore.Cluster) {
		c.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: Wrong}}")
	})).Err, "is invalid", "nothing more is said of an object that is not there")
}
