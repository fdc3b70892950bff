// Attach-detach-controller plays what the attach/detach controller knows and does: which volumes
// are to be on which nodes, which are there, and how two lists in a node's status keep it and
// the kubelet from working against each other.
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
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1"), Disks: storagesim.MemoryDisks})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Quiet()
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.Try(c.RunFor(5 * time.Second))

	attach(s)
	detach(s)
	crash(c, s)
	s.Try(c.RequireNoLeaks())
	return s.Err()
}

const attacher = "csi-attacher/csi.storagesim.io"

// lists prints what the node's status says of attached volumes.
func lists(s *show.Show) {
	s.JSONPath("'attached: [{.status.volumesAttached[*].name}] in use: [{.status.volumesInUse[*]}]'", "node", "node-1")
}

func attach(s *show.Show) {
	s.Title("A pod is scheduled: the volume is desired on node-1. It is not there, so it is attached.")
	s.Submit("class.yaml", "claim.yaml")
	s.Settle()
	s.Only(storagesim.AttachDetach, attacher)
	s.Submit("one.yaml")
	s.Until("SuccessfulAttachVolume")
	lists(s)
	s.Only(storagesim.AttachDetach, "kubelet/node-1")
	s.Until("NodeStageVolume")
	lists(s)

	s.Title("A second pod on the same node needs the same volume. It is there already.")
	s.RunFor(30 * time.Second)
	s.Only(storagesim.AttachDetach, attacher)
	s.Submit("two.yaml")
	s.RunFor(30 * time.Second)
	s.Get("pods,volumeattachments")
}

func detach(s *show.Show) {
	s.Title("The first pod goes, and the volume stays: the other one needs it.")
	s.SubmitDelete("pod/one")
	s.RunFor(time.Minute)

	s.Title("The other one goes while its kubelet is stopped. The node may still use the volume, so it is not detached.")
	s.Stop("kubelet/node-1")
	s.ForceDelete("two")
	s.RunFor(30 * time.Second)
	lists(s)

	s.Title("The kubelet is back, unmounts the volume and says so. Only then it is detached.")
	s.Only(storagesim.AttachDetach, attacher, "kubelet/node-1")
	s.Start("kubelet/node-1")
	s.RunFor(30 * time.Second)
	lists(s)
}

func crash(c *storagesim.Cluster, s *show.Show) {
	s.Title("The controller crashes. What it knew is in the API: it attaches nothing a second time, and forgets nothing.")
	s.Quiet()
	s.Submit("one.yaml")
	s.RunFor(time.Minute)
	s.Only(storagesim.AttachDetach, attacher)
	s.Printf("(%s crashes)\n", storagesim.AttachDetach)
	s.Try(c.Crash(storagesim.AttachDetach))
	s.RunFor(time.Minute)
	s.Get("pods,volumeattachments")
	s.Title("It is down while the pod goes. When it is back, it detaches the volume.")
	s.Stop(storagesim.AttachDetach)
	s.SubmitDelete("pod/one")
	s.RunFor(time.Minute)
	s.Get("volumeattachments")
	s.Start(storagesim.AttachDetach)
	s.RunFor(time.Minute)
	s.Get("volumeattachments")
	s.Quiet()
	s.SubmitDelete("pvc/data")
	s.RunFor(time.Minute)
}
