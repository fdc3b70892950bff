// Csi-without-attach plays a driver of file storage: a volume is a directory that any node can
// mount, so there is nothing to attach, and no attacher beside the driver.
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
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("The author's Deployment has two containers: csi-provisioner and the driver. There is no csi-attacher.")
	s.Apply("namespace.yaml", "deployment.yaml")
	s.Try(c.InstallCSIDriver(driver.Config{Name: "csi.sunnyfs.share.com", NoAttach: true}))
	s.RunFor(5 * time.Second)
	s.Get("csidriver")

	s.Title("Two pods on two nodes have the volume: staged and published on both, attached to none.")
	s.Apply("claim.yaml", "pod-1.yaml")
	s.RunFor(10 * time.Second)
	s.Apply("pod-2.yaml")
	s.RunFor(10 * time.Second)
	s.CatIn("pod-2", "/data/visitors")
	s.Get("volumeattachment")

	s.Title("And back: nothing to detach.")
	s.Delete("pod/pod-1", "pod/pod-2", "pvc/shared")
	s.RunFor(time.Minute)
	s.Get("pod,pvc,pv")
	s.Try(c.RequireNoLeaks())
	return s.Err()
}
