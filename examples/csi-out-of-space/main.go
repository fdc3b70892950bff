// Csi-out-of-space plays a driver whose nodes each have 10 GiB. The scheduler looks at what is left
// before it chooses a node.
package main

import (
	"embed"
	"io"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("The driver's provisioner publishes how much room there is: one object for each class and each place.")
	s.Only("csi-provisioner/csi.storagesim.io")
	s.Try(c.InstallCSIDriver(driver.Config{Topology: true, StorageCapacity: true, Capacity: 10 << 30}))
	s.Apply("class.yaml")
	s.RunFor(5 * time.Second)
	capacities(s)

	s.Title("All pods prefer node-1. The first one fits there.")
	s.Only("csi-provisioner/csi.storagesim.io", "default-scheduler")
	s.Apply("pod-1.yaml")
	s.RunFor(10 * time.Second)
	s.GetWide("pod")
	capacities(s)

	s.Title("Node-1 has 4 GiB left, and the second pod needs 6: it goes to node-2.")
	s.Apply("pod-2.yaml")
	s.RunFor(10 * time.Second)
	s.GetWide("pod")

	s.Title("The third one fits nowhere. Nothing asks the driver for a volume that it cannot make.")
	s.Apply("pod-3.yaml")
	s.RunFor(10 * time.Second)
	s.Explain("pod/pod-3")

	s.Title("The first pod and its volume go. That is room, and the third pod takes it.")
	s.Delete("pod/pod-1", "pvc/data-1")
	s.RunFor(2 * time.Minute)
	s.GetWide("pod")
	capacities(s)
	s.Try(c.RequireNoLeaks())
	return s.Err()
}

// capacities shows what is published.
func capacities(s *show.Show) {
	s.JSONPath(`{range .items[*]}{.nodeTopology.matchLabels} {.capacity}{"\n"}{end}`, "csistoragecapacity")
}
