package explore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/trace"
)

func twoNodes() explore.Config {
	return explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")}, Runs: 20}
}

// comesAndGoesWith plays the three manifests with a driver that answers otherwise than the reference driver.
func comesAndGoesWith(change func(answer any)) func(c *storagesim.Cluster) error {
	return explore.Scenario(func(c *explore.Cluster) {
		d, err := driver.New(driver.Config{})
		c.Must(err)
		d.Interceptors = append(d.Interceptors, answering(change))
		playThree(c, d)
	})
}

// With one node_id for all nodes, the rules about calls take the nodes for one another, and their breach was attributed to the callers.
func TestADriverWhoseNodesAnswerTheSameIDFails(t *testing.T) {
	scenario := comesAndGoesWith(func(answer any) {
		if info, ok := answer.(*spec.NodeGetInfoResponse); ok {
			info.NodeId = "node"
		}
	})
	report, err := explore.Run(t.Context(), twoNodes(), scenario)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Empty(t, report.Upstream)
	require.Equal(t, explore.CSIAnswers, f.Rule())
	require.ErrorContains(t, f, `NodeGetInfo answers the same node_id "node" on node/node-1 and on node/node-2`)
}

// Upstream: pkg/volume/csi/nodeinfomanager installDriverToCSINode, v1.37.2: it only logs a negative limit.
func TestADriverWithANegativeLimitOfVolumesFails(t *testing.T) {
	limited := func(limit int64) func(c *storagesim.Cluster) error {
		return comesAndGoesWith(func(answer any) {
			if info, ok := answer.(*spec.NodeGetInfoResponse); ok {
				info.MaxVolumesPerNode = limit
			}
		})
	}
	_, err := explore.Run(t.Context(), twoNodes(), limited(-1))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.CSIAnswers, f.Rule())
	require.ErrorContains(t, f, "NodeGetInfo answers max_volumes_per_node -1 on node/node-1: it must not be negative, and is ignored; 0 is no limit")

	cfg := twoNodes()
	cfg.Except = []string{explore.CSIAnswers}
	_, err = explore.Run(t.Context(), cfg, limited(-1))
	require.NoError(t, err, "as on a cluster, whose kubelet only logs it")
	_, err = explore.Run(t.Context(), twoNodes(), limited(1))
	require.NoError(t, err, "one volume is all that there is")
}

// The labels of topology that the API server refuses are retried as long as the registrar's container comes back: each time later.
func TestADriverWhoseTopologyIsNoLabelFailsSoon(t *testing.T) {
	_, err := explore.Run(t.Context(), twoNodes(), comesAndGoesWith(func(answer any) {
		if info, ok := answer.(*spec.NodeGetInfoResponse); ok {
			info.AccessibleTopology = &spec.Topology{Segments: map[string]string{"bad key!": "a"}}
		}
	}))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.PlainRun, f.Rule())
	require.ErrorContains(t, f, "(the labels are the accessible_topology that NodeGetInfo answered)")
	begins := 0
	log, _ := f.Log()
	for _, e := range log.Since(0) {
		if rpc, ok := e.Record.(trace.RPC); ok && rpc.Method == "GetInfo" {
			begins++
		}
	}
	require.Less(t, begins, 60, "in half an hour on two nodes")
}

func TestADriverThatGivesTwoVolumesOneIDFails(t *testing.T) {
	first := ""
	scenario := func(c *storagesim.Cluster) error {
		first = ""
		return explore.Scenario(func(c *explore.Cluster) {
			d, err := driver.New(driver.Config{})
			c.Must(err)
			d.Interceptors = append(d.Interceptors, answering(func(answer any) {
				if made, ok := answer.(*spec.CreateVolumeResponse); ok {
					if first == "" {
						first = made.GetVolume().GetVolumeId()
					}
					made.Volume.VolumeId = first
				}
			}))
			c.InstallCSIDriver(d)
			c.Apply(threeManifests, strings.Replace(strings.Split(threeManifests, "---\n")[1], "name: data", "name: more", 1))
			c.Settle()
		})(c)
	}
	cfg := twoNodes()
	cfg.Workers = 1
	_, err := explore.Run(t.Context(), cfg, scenario)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.CSIAnswers, f.Rule())
	require.Regexp(t, `CreateVolume answers the same volume_id "vol-[0-9a-f]+" for pvc-[-0-9a-f]+ and for pvc-`, f.Error())
}

// It ignores starting_token. Upstream's attacher never ends to read; ours does, so that the run goes on.
func TestADriverWhoseListOfVolumesNeverEndsFails(t *testing.T) {
	_, err := explore.Run(t.Context(), twoNodes(), explore.Scenario(func(c *explore.Cluster) {
		d, err := driver.New(driver.Config{})
		c.Must(err)
		d.Interceptors = append(d.Interceptors, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if _, ok := req.(*spec.ListVolumesRequest); !ok {
				return handler(ctx, req)
			}
			answer, err := handler(ctx, &spec.ListVolumesRequest{})
			if list, ok := answer.(*spec.ListVolumesResponse); ok && list != nil {
				list.NextToken = "2"
			}
			return answer, err
		})
		playThree(c, d)
		c.RunFor(2 * time.Minute) // the attacher lists once a minute
	}))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.CSIAnswers, f.Rule())
	require.ErrorContains(t, f, `ListVolumes answers the same page with next_token "2" again, when it is asked with starting_token "2"`)
}

// staysPublished adds calls that break a rule of CSI, as no program made it.
func staysPublished(c *explore.Cluster) {
	for _, node := range []string{"node-1", "node-2"} {
		c.Engine().Trace().Add(trace.Entry{Time: c.Now(), Actor: "kubelet/" + node, Record: trace.RPC{
			Driver: driver.Name, Machine: "node/" + node, Method: "NodePublishVolume", Code: "OK", Request: map[string]any{"volume_id": "another"},
		}})
	}
}

// In a run without any trouble, a breach is hardly a bug of Kubernetes.
func TestABreachOfCSIsRulesInAPlainRunWithoutTroubleFails(t *testing.T) {
	cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 20}
	scenario := explore.Scenario(func(c *explore.Cluster) {
		c.InstallCSIDriver(driver.Config{})
		c.Apply(threeManifests)
		c.Settle()
		staysPublished(c)
	})
	_, err := explore.Run(t.Context(), cfg, scenario)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Nil(t, f.Upstream)
	require.ErrorContains(t, f.Err, "volume another is published on node/node-1, where it is not staged\nnothing out of the ordinary happened before that")
	require.ErrorContains(t, f.Err, `Config.Except: []string{"in order"} explores without the rule`)
	cfg.Except = []string{explore.CallOrder, explore.CSICalls}
	_, err = explore.Run(t.Context(), cfg, scenario)
	require.NoError(t, err)
}

// What misled the callers is named, also where the rule about answers is left out, or where a user has misled them.
func TestABreachOfCSIsRulesNamesWhatMisledTheCallers(t *testing.T) {
	said := 0
	for name, test := range map[string]struct {
		change func(answer any)
		more   string
		want   string
	}{
		"the same volume_id": {func(answer any) {
			if made, ok := answer.(*spec.CreateVolumeResponse); ok {
				made.Volume.VolumeId = "vol"
			}
		}, strings.Replace(strings.Split(threeManifests, "---\n")[1], "name: data", "name: more", 1), `CreateVolume answers the same volume_id "vol" for pvc-`},
		"a capability that goes": {func(answer any) {
			if can, ok := answer.(*spec.NodeGetCapabilitiesResponse); ok {
				if said++; said > 8 {
					can.Capabilities = nil
				}
			}
		}, "", `NodeGetCapabilities of csi.storagesim.io on node/node-1 answers with STAGE_UNSTAGE_VOLUME at one time, and without it at another`},
		"two volumes of a user": {func(any) {}, `
{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi},
  csi: {driver: csi.storagesim.io, volumeHandle: x}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: b}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi},
  csi: {driver: csi.storagesim.io, volumeHandle: x}}}
`, `pv/a and pv/b have the same volumeHandle "x" of driver csi.storagesim.io`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := twoNodes()
			cfg.Except = []string{explore.CSIAnswers, explore.PlainRun, explore.NothingLeaks, explore.NothingLost}
			said = 0
			err := explore.Replay(cfg, "x1", explore.Scenario(func(c *explore.Cluster) {
				said = 0
				d, err := driver.New(driver.Config{AnyVolume: true})
				c.Must(err)
				d.Interceptors = append(d.Interceptors, answering(test.change))
				c.InstallCSIDriver(d)
				c.RunFor(5 * time.Second)
				c.Apply(threeManifests)
				if test.more != "" {
					c.Apply(test.more)
				}
				c.RunFor(time.Minute)
				c.Crash("kubelet/node-1")
				c.RunFor(time.Minute)
				staysPublished(c)
			}))
			f, ok := errors.AsType[*explore.Failure](err)
			require.True(t, ok, "%v", err)
			require.Nil(t, f.Upstream)
			require.ErrorContains(t, f.Err, "the callers of the driver are not to blame: ")
			require.ErrorContains(t, f.Err, test.want)
		})
	}
}

// The CSIDriver says by default that volumes are attached. Where the driver does not attach, the attacher only marks the VolumeAttachment, and
// upstream's provisioner deletes the volume while that is there.
func TestAVolumeThatItsDriverDoesNotAttachMayGoBeforeItsVolumeAttachment(t *testing.T) {
	cfg := twoNodes()
	_, err := explore.Run(t.Context(), cfg, explore.Scenario(func(c *explore.Cluster) {
		d, err := driver.New(driver.Config{NoAttach: true})
		c.Must(err)
		d.Spec.AttachRequired = nil
		c.InstallCSIDriver(d)
		c.RunFor(5 * time.Second)
		c.Apply(threeManifests)
		c.Settle()
		require.Contains(c.T, c.Get("volumeattachments"), "true", "it is attached, in name")
		c.Delete("pod/web", "pvc/data")
		c.Settle()
	}))
	require.NoError(t, err)
}
