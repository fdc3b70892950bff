// Csi-end-to-end plays the life of a volume of a CSI driver: the driver registers, a volume is
// provisioned, attached and mounted, and then all of it is taken back. The driver is the
// reference driver, and each gRPC call that it gets is a line of the story.
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
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("Register. The registrar tells the kubelet of the driver, and the kubelet asks the driver about its node.")
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.RunFor(5 * time.Second)

	s.Title("Provision. csi-provisioner has the driver make a volume, and makes the PersistentVolume.")
	s.Apply("class.yaml", "claim.yaml")
	s.Settle()

	s.Title("Attach and mount. Two phases: the attacher has the volume attached to the node, and the kubelet stages and publishes it.")
	s.Apply("pod.yaml")
	s.RunFor(30 * time.Second)
	s.Get("pod,pvc,pv")

	s.Title("And back: unpublish, unstage, detach, delete.")
	s.Delete("pod/web", "pvc/data")
	s.RunFor(time.Minute)
	s.Get("pod,pvc,pv")
	return s.Err()
}
