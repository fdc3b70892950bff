// Static-binding plays "静态创建存储卷": an administrator makes a volume, a user
// claims one, and the PV controller binds them. First the document's
// own NFS volume, claim and pod; then six volumes, and which of them a claim gets.
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

// server is the NFS server of the document's volume.
const server = "192.168.203.110"

func main() { show.Main(play) }

func play(out io.Writer) error {
	if err := nfs(out); err != nil {
		return err
	}
	return whoWins(out)
}

func nfs(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("A volume. It describes a directory on an NFS server.")
	s.Apply("nfs-pv.yaml")

	s.Title("A claim. It names no volume; the PV controller finds one, and binds both in four writes.")
	s.Apply("nfs-pvc.yaml")
	s.RunFor(101 * time.Second)
	s.Get("pv,pvc")

	s.Title("A pod. Its claim is bound, so it gets a node. The kubelet is the first program to contact the server, and there is none.")
	s.Only(storagesim.User, storagesim.Scheduler)
	s.Apply("test-nfs.yaml")
	s.Get("pods")
	s.Explain("pod/test-nfs")

	s.Title("The server is set up. The kubelet is not told, but it tries again and again.")
	s.Only("kubelet/node-1")
	s.Export(server, "/data/nfs")
	s.WriteOn("nfs/"+server, "/data/nfs/nfs", "192.168.203.110:/data/nfs")
	s.RunFor(2 * time.Minute)
	s.Get("pods")
	s.CatOn("pod/test-nfs", "/data/nfs")
	return s.Err()
}

func whoWins(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Only(storagesim.PVController)

	s.Title("Six other volumes. One is labelled; one is reserved for a claim that does not exist yet.")
	s.Apply("volumes.yaml")
	s.Get("pv")

	s.Title("Fewest access modes first, then the smallest that is large enough.")
	s.Submit("data.yaml")
	s.Explain("pvc/data")
	s.Settle()

	s.Title("A label selector narrows the choice.")
	s.Submit("index.yaml")
	s.Explain("pvc/index")
	s.Settle()

	s.Title("A volume that is reserved for the claim wins over all others, whatever its class.")
	s.Submit("archive.yaml")
	s.Explain("pvc/archive")
	s.Settle()

	s.Title("A claim may name its volume. It gets that volume or none.")
	s.Apply("precise.yaml", "greedy.yaml")
	s.Explain("pvc/greedy")

	s.Title("A claim that no volume fits waits, and is checked again every 15 seconds.")
	s.Apply("huge.yaml")
	s.Explain("pvc/huge")
	s.Apply("enough.yaml")
	s.RunFor(15 * time.Second)
	s.Get("pv,pvc")
	return s.Err()
}
