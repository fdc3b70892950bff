// Csi-snapshots takes a snapshot of a volume, restores it into a new claim, and clones the
// volume beside it.
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
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.RunFor(5 * time.Second)

	s.Title("A pod writes to its volume.")
	s.Apply("claim.yaml", "writer.yaml")
	s.RunFor(12 * time.Second)
	s.CatIn("writer", "/data/notes")

	s.Title("A snapshot is taken. The definitions and controllers that it needs come with the manifest.")
	s.Apply("snapshot.yaml")
	s.RunFor(time.Second)
	s.Get("volumesnapshot,volumesnapshotcontent")

	s.Title("The pod goes on writing. A claim is restored from the snapshot, another one cloned from the claim.")
	s.RunFor(20 * time.Second)
	s.Apply("copies.yaml", "reader.yaml")
	s.RunFor(20 * time.Second)
	s.CatIn("reader", "/restored/notes")
	s.CatIn("reader", "/cloned/notes")

	s.Title("And back: the driver keeps nothing.")
	s.Delete("pod/writer", "pod/reader", "volumesnapshot/monday", "pvc/data", "pvc/restored", "pvc/cloned")
	s.RunFor(2 * time.Minute)
	s.Get("volumesnapshotcontent,pvc,pv")
	s.Try(c.RequireNoLeaks())
	return s.Err()
}
