// Nfs-provisioner plays two provisioners of NFS volumes on one NFS server: the
// program of the document on Kubernetes' storage, which makes nothing, and
// nfs-subdir-external-provisioner, which makes a directory for each claim.
package main

import (
	"embed"
	"io"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner/nfs"
)

//go:embed *.yaml
var manifests embed.FS

const (
	server = "192.168.203.110"
	export = "/data/nfs"
)

func main() { show.Main(play) }

func play(out io.Writer) error {
	for _, part := range []func(io.Writer) error{document, subdir} {
		if err := part(out); err != nil {
			return err
		}
	}
	return nil
}

func newCluster() (*storagesim.Cluster, error) {
	return storagesim.New(storagesim.Config{
		Nodes:      storagesim.Nodes("node-1", "node-2"),
		NFSServers: []storagesim.NFSServer{{Name: server, Exports: []string{export}}},
	})
}

// ls lists a directory of the NFS server.
func ls(c *storagesim.Cluster, s *show.Show, path string) {
	names, err := c.Machine("nfs/" + server).ListDir(path)
	s.Try(err)
	s.Printf("%s$ ls %s\n", server, path)
	for _, name := range names {
		s.Printf("%s\n", name)
	}
	s.Printf("\n")
}

// cat reads a file as a pod sees it.
func cat(c *storagesim.Cluster, s *show.Show, pod, path string) {
	data, err := c.Machine("pod/" + pod).ReadFile(path)
	s.Try(err)
	s.Printf("%s$ cat %s\n%s\n", pod, path, data)
}

func document(out io.Writer) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisioner(nfs.StaticName, nfs.Static{}); err != nil {
		return err
	}
	s := show.New(c, manifests, out)

	s.Title("The class and the claim of the document. Its provisioner makes the volume at once.")
	s.Apply("my-nfs.yaml", "my-nfs-pvc.yaml")
	s.Get("pv")

	s.Title("The pod of the document. The kubelet mounts the export.")
	s.Only("kubelet/node-1", "kubelet/node-2")
	s.Apply("test-nfs.yaml")
	s.Exec("test-nfs", "/data/greet.txt", "Hello from NFS.")
	ls(c, s, export)

	s.Title("Another claim of the same class, and its pod. It sees the file of the first.")
	s.Only(nfs.StaticName)
	s.Apply("another.yaml")
	cat(c, s, "another", "/data/greet.txt")

	s.Title("The first claim is deleted, and its volume with it. The provisioner made nothing, so it deletes nothing.")
	s.Delete("pod/test-nfs", "pvc/my-nfs-pvc")
	s.Get("pv")
	cat(c, s, "another", "/data/greet.txt")
	return s.Err()
}

func subdir(out io.Writer) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisionController(nfs.Controller(c.Machine("nfs/"+server).NFSServer(), nfs.Config{Server: server, Path: export})); err != nil {
		return err
	}
	s := show.New(c, manifests, out)
	s.Only(storagesim.User, nfs.SubdirName)

	s.Title("A directory for each claim, in a new cluster. Two nodes see the same files.")
	s.Apply("subdir.yaml", "shared.yaml")
	ls(c, s, export)
	s.Exec("writer", "/data/greet.txt", "Hello from node-1.")
	cat(c, s, "reader", "/data/greet.txt")

	s.Title("The claim is deleted. The class does not say what to do with the data, so the directory is renamed.")
	s.Delete("pod/writer", "pod/reader", "pvc/shared")
	s.Get("pv")
	ls(c, s, export)

	s.Title("A path pattern: the directory of claim ours is made, that of claim theirs would be outside the export.")
	s.Only(nfs.SubdirName)
	s.Apply("by-team.yaml")
	ls(c, s, export+"/default")
	s.Get("pvc")

	s.Title("This class says onDelete: delete.")
	s.Delete("pvc/ours", "pvc/theirs")
	ls(c, s, export+"/default")
	s.Try(c.RequireNoLeaks())
	s.Printf("Nothing was left behind.\n")
	return s.Err()
}
