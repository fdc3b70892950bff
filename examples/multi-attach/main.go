// Multi-attach plays two pods on two nodes that need the same volume. What happens depends on
// the volume's access modes.
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
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Quiet()
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.Try(c.RunFor(5 * time.Second))

	once(s)
	many(s)
	s.Try(c.RequireNoLeaks())
	return s.Err()
}

const attacher = "csi-attacher/csi.storagesim.io"

func once(s *show.Show) {
	s.Title("ReadWriteOnce: a pod on node-1 has the volume.")
	s.Submit("class.yaml", "claim.yaml", "one.yaml")
	s.RunFor(30 * time.Second)
	s.Get("pods,volumeattachments")

	s.Title("A pod on node-2 needs it as well. It waits, and says why.")
	s.Only(storagesim.AttachDetach, attacher)
	s.Submit("two.yaml")
	s.RunFor(5 * time.Minute)
	s.Explain("pod/two")

	s.Title("The first pod goes. The volume follows: unmounted, detached, attached, mounted.")
	s.Only(storagesim.AttachDetach, attacher, "kubelet/node-1")
	s.SubmitDelete("pod/one")
	s.RunFor(time.Minute)
	s.Get("pods,volumeattachments")
	s.Quiet()
	s.SubmitDelete("pod/two", "pvc/data")
	s.RunFor(2 * time.Minute)
}

func many(s *show.Show) {
	s.Title("ReadWriteMany: the volume is attached to both nodes at once.")
	s.Only(storagesim.AttachDetach, attacher)
	s.Submit("shared.yaml", "readers.yaml")
	s.RunFor(time.Minute)
	s.Get("pods,volumeattachments")
	s.Quiet()
	s.Exec("red", "/data/greet.txt", "Hello from red.")
	s.CatIn("blue", "/data/greet.txt")
	s.SubmitDelete("pod/red", "pod/blue", "pvc/shared")
	s.RunFor(2 * time.Minute)
}
