// Two-pods-one-volume plays what the document's SetUpAt says of a volume that is in
// use already: two pods on one node share a local volume, with different fsGroups.
// Then the access mode that forbids it.
package main

import (
	"embed"
	"io"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	if err := shared(out); err != nil {
		return err
	}
	return onePodOnly(out)
}

func begin(out io.Writer) (*storagesim.Cluster, *show.Show, error) {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	if err != nil {
		return nil, nil, err
	}
	s, err := show.WithGroups(c, "node-1", manifests, out)
	return c, s, err
}

func shared(out io.Writer) error {
	c, s, err := begin(out)
	if err != nil {
		return err
	}
	defer c.Close()

	s.Title("The first pod. The kubelet mounts the volume and gives its files to the pod's group.")
	s.MakeDir("node-1", "/data/k8s/localpv")
	s.Only("kubelet/node-1")
	s.Apply("class.yaml", "volume.yaml", "claim.yaml", "one.yaml")
	s.WriteOn("pod/one", "/data/greet.txt", "Hello from one.")

	s.Title("The second pod, with another group. ReadWriteOnce means one node, not one pod, so the volume is mounted again.")
	s.Only(storagesim.Scheduler, "kubelet/node-1")
	s.Apply("two.yaml")
	s.CatOn("pod/two", "/data/greet.txt")
	s.WriteOn("pod/two", "/data/reply.txt", "Hello from two.")
	s.LsOn("pod/one", "/data")

	s.Title("The first pod is deleted. The second keeps its mount.")
	s.Only("kubelet/node-1")
	s.Delete("pod/one")
	s.CatOn("pod/two", "/data/reply.txt")

	s.Title("The first pod is created again. Now it is the second to mount, but its group fits, so there is no warning.")
	s.Apply("one.yaml")
	s.Get("pods")
	return s.Err()
}

func onePodOnly(out io.Writer) error {
	c, s, err := begin(out)
	if err != nil {
		return err
	}
	defer c.Close()

	s.Title("What if the volume is for one pod only? Then the second waits, and explain names the first.")
	s.MakeDir("node-1", "/data/k8s/single")
	s.Only(storagesim.Scheduler)
	s.Apply("class.yaml", "volume-for-one-pod.yaml", "claim-for-one-pod.yaml", "first.yaml")
	s.Apply("second.yaml")
	s.Explain("pod/second")
	s.Delete("pod/first")
	s.Get("pods")
	return s.Err()
}
