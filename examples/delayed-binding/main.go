// Delayed-binding plays "延迟绑定": a pod that can run on node-1 only, a claim, and
// a local volume on each of two nodes. With an Immediate class the claim takes
// the wrong one; with WaitForFirstConsumer the scheduler chooses node and volume
// together.
package main

import (
	"embed"
	"io"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	if err := immediate(out); err != nil {
		return err
	}
	return delayed(out)
}

func immediate(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("Immediate. The claim is bound at once, to the smaller volume. It is on node-2.")
	disks(s)
	s.Apply("immediate.yaml", "pv-local.yaml", "pv-local-2.yaml")
	s.Apply("claim.yaml")

	s.Title("The pod. It must run on node-1, its volume is on node-2, and neither can be changed.")
	s.Apply("pod-on-node-1.yaml")
	s.RunFor(time.Hour)
	s.Get("pods")
	s.Explain("pod/web")
	return s.Err()
}

func delayed(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("WaitForFirstConsumer, in a new cluster. The claim waits.")
	disks(s)
	s.Apply("delayed.yaml", "pv-local.yaml", "pv-local-2.yaml")
	s.Apply("claim.yaml")
	s.Explain("pvc/data")

	s.Title("The pod. The scheduler looks for a node and a volume on it, and reserves that volume.")
	s.Apply("pod-on-node-1.yaml")
	s.Get("pv,pvc")
	s.Exec("web", "/data/greet.txt", "Hello from the first pod.")

	s.Title("The pod is created again, and it could run anywhere. Its volume could not.")
	s.Only(storagesim.User, storagesim.Scheduler)
	s.Delete("pod/web")
	s.Apply("pod-anywhere.yaml")
	s.Cat("node-1", "/data/k8s/localpv/greet.txt")

	s.Title("What if the claim is deleted? The policy is Delete, but no program can delete this volume.")
	s.Only(storagesim.PVController)
	s.Delete("pod/web", "pvc/data")
	s.Get("pv")
	s.Explain("pv/pv-local")
	s.Ls("node-1", "/data/k8s/localpv")
	return s.Err()
}

// disks makes the directories that the volumes stand for.
func disks(s *show.Show) {
	s.MakeDir("node-1", "/data/k8s/localpv")
	s.MakeDir("node-2", "/data/k8s/localpv")
	s.Printf("\n")
}
