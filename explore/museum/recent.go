package museum

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
)

// secondTry is a controller that refuses the first try of each volume, and is asked for the second with the topologies
// turned round unless fixed.
type secondTry struct {
	spec.ControllerServer
	tried map[string]bool // calls come one at a time
	fixed bool
}

func (s secondTry) CreateVolume(ctx context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	if !s.tried[req.GetName()] {
		s.tried[req.GetName()] = true
		return nil, status.Error(codes.Unavailable, "try again")
	}
	if !s.fixed {
		req = proto.CloneOf(req)
		slices.Reverse(req.GetAccessibilityRequirements().GetPreferred())
	}
	return s.ControllerServer.CreateVolume(ctx, req)
}

func otherZone() Exhibit {
	return Exhibit{
		Number: 33, Name: "a second try makes the volume in another zone",
		Mechanism: "CreateVolume fails and is tried again. The first try has turned round a list of topologies that it shares with a cache, " +
			"so the second asks for other zones than the pod's. The volume is made there, and the pod never starts.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/1465",
		Fix:      "each try has a list of its own",
		Rule:     MadeWhereAsked, Replay: "x1",
		except: []string{explore.Liveness},
		actors: []string{storagesim.Scheduler, storagesim.AttachDetach}, nodes: []string{"node-1", "node-2"},
		scenario: func(c *explore.Cluster, fixed bool) {
			d, err := driver.New(driver.Config{Topology: true})
			c.Must(err)
			makes, tried := d.NewController, map[string]bool{}
			d.NewController = func(h csi.Host) (spec.ControllerServer, error) {
				s, err := makes(h)
				return secondTry{s, tried, fixed}, err
			}
			c.InstallCSIDriver(d)
			c.RunFor(5 * time.Second)
			c.Apply(storageClass("csi", driver.Name, "WaitForFirstConsumer"), claims("csi", "1Gi", "data"), pod("web", "", "data"))
			c.RunFor(5 * time.Minute)
		},
	}
}

// madeWhereAsked looks at the claims that are there.
func (p *present) madeWhereAsked() error {
	for _, name := range slices.Sorted(maps.Keys(p.claims)) {
		claim := p.claims[name]
		node, volume := claim.Annotations[binding.AnnSelectedNode], p.volumes[claim.Spec.VolumeName]
		if node == "" || volume == nil || volume.Spec.NodeAffinity == nil {
			continue
		}
		for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, key := range term.MatchExpressions {
				if !slices.Contains(key.Values, node) {
					return fmt.Errorf("claim %s is for node %s, and its volume is reached from %s", claim.Name, node, strings.Join(key.Values, ", "))
				}
			}
		}
	}
	return nil
}
