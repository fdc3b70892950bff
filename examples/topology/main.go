// Topology plays disks that can be reached from one zone only: a class that allows
// some zones, a volume that ties its pod to a zone and not to a node, a class that
// binds too early, and an old volume whose zone is a label.
package main

import (
	"embed"
	"io"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	for _, part := range []func(*show.Show){allowedTopologies, tooEarly, zoneLabel} {
		if err := inZones(out, part); err != nil {
			return err
		}
	}
	return nil
}

// inZones plays a part in a new cluster: one node in zone a, two in zone b, and
// one without a zone.
func inZones(out io.Writer, part func(*show.Show)) error {
	zoneOf := map[string]string{"node-a": "a", "node-b1": "b", "node-b2": "b"}
	var nodes []storagesim.Node
	for _, name := range []string{"node-a", "node-b1", "node-b2", "node-x"} {
		node := storagesim.Node{Name: name}
		if zone, ok := zoneOf[name]; ok {
			node.Labels = map[string]string{v1.LabelTopologyZone: zone}
		}
		nodes = append(nodes, node)
	}
	c, err := storagesim.New(storagesim.Config{Nodes: nodes})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisioner(diskProvisioner, zonalDisks{zoneOf}); err != nil {
		return err
	}
	s := show.New(c, manifests, out)
	part(s)
	return s.Err()
}

func allowedTopologies(s *show.Show) {
	s.Title("The class allows zones b and c. The nodes of zone b are cordoned for now.")
	s.Only(storagesim.Scheduler)
	s.Cordon("node-b1")
	s.Cordon("node-b2")
	s.Apply("zonal.yaml", "claim.yaml", "pod.yaml")
	s.Explain("pod/web")

	s.Title("node-b1 is uncordoned. The disk is made in its zone.")
	s.Only(storagesim.Scheduler, diskProvisioner)
	s.Uncordon("node-b1")
	s.Get("pv")

	s.Title("The pod is created again. It runs on another node of its zone.")
	s.Only(storagesim.Scheduler)
	s.Uncordon("node-b2")
	s.Cordon("node-b1")
	s.Delete("pod/web")
	s.Apply("pod.yaml")
}

func tooEarly(s *show.Show) {
	s.Title("Immediate, in a new cluster. The disk is made before there is a pod, in the first zone allowed.")
	s.Only(storagesim.PVController, diskProvisioner)
	s.Apply("immediate.yaml", "claim.yaml")

	s.Title("That zone has no node.")
	s.Only(storagesim.Scheduler)
	s.Apply("pod.yaml")
	s.Explain("pod/web")

	s.Title("Then a node gets the label of that zone.")
	s.LabelNode("node-x", v1.LabelTopologyZone, "c")
}

func zoneLabel(s *show.Show) {
	s.Title("A volume from before there was node affinity, in a new cluster. Its zone is a label.")
	s.Only(storagesim.Scheduler)
	s.Apply("old-disk.yaml", "old-claim.yaml")
	s.Cordon("node-a")
	s.Cordon("node-x")
	s.Apply("pod.yaml")
	s.Explain("pod/web")

	s.Title("node-x is uncordoned, the node without a zone label.")
	s.Uncordon("node-x")
}
