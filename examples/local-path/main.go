// Local-path plays Rancher's local-path provisioner: the class, the claim and the
// pod of the document on Kubernetes' storage; then its configuration, what a path
// pattern may and may not do, and a volume whose data is left behind.
package main

import (
	"embed"
	"errors"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner/localpath"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	for _, part := range []func(io.Writer) error{document, configuration, pattern, leak, mended} {
		if err := part(out); err != nil {
			return err
		}
	}
	return nil
}

// begin makes a cluster of one node and installs the provisioner.
func begin(out io.Writer, node storagesim.Node, cfg localpath.Config) (*storagesim.Cluster, *show.Show, error) {
	c, err := storagesim.New(storagesim.Config{Nodes: []storagesim.Node{node}})
	if err != nil {
		return nil, nil, err
	}
	if err := c.AddProvisionController(localpath.Controller(cfg)); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, show.New(c, manifests, out), nil
}

func document(out io.Writer) error {
	c, s, err := begin(out, storagesim.Node{Name: "node-1"}, localpath.Config{})
	if err != nil {
		return err
	}
	defer c.Close()

	s.Title("The class, the claim and the pod of the document. A helper pod runs the script \"setup\".")
	s.Apply("class.yaml", "my-local-pvc.yaml", "test.yaml")
	s.Get("pv")

	s.Title("The volume. It is a hostPath, tied to its node.")
	claim, err := c.Claim("my-local-pvc")
	if err != nil {
		return err
	}
	s.YAML("pv", claim.Spec.VolumeName)
	s.Exec("test", "/data/greet.txt", "Hello from local-path.")
	s.Cat("node-1", localpath.DefaultPath+"/"+claim.Spec.VolumeName+"_default_my-local-pvc/greet.txt")

	s.Title("Pod and claim are deleted. Another helper pod runs the script \"teardown\".")
	s.Only(storagesim.User, localpath.ProvisionerName, "kubelet/node-1")
	s.Delete("pod/test", "pvc/my-local-pvc")
	s.Ls("node-1", localpath.DefaultPath)
	s.Try(c.RequireNoLeaks())
	s.Printf("Nothing was left behind.\n")
	return s.Err()
}

func configuration(out io.Writer) error {
	c, s, err := begin(out, storagesim.Node{Name: "node-1"}, localpath.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s.Only(storagesim.User, localpath.ProvisionerName)

	s.Title("The configuration, in a new cluster. A wrong one is refused.")
	s.Apply("class.yaml", "my-local-pvc.yaml", "test.yaml")
	s.Apply("broken-config.yaml")
	s.RunFor(30 * time.Second)

	s.Title("A right one is read within 30 seconds. The next volume gets the new path.")
	s.Apply("ssd-config.yaml")
	s.RunFor(30 * time.Second)
	s.Delete("pod/test", "pvc/my-local-pvc")
	s.Apply("my-local-pvc.yaml", "test.yaml")
	s.Ls("node-1", "/mnt/ssd")
	return s.Err()
}

func pattern(out io.Writer) error {
	c, s, err := begin(out, storagesim.Node{Name: "node-1"}, localpath.Config{})
	if err != nil {
		return err
	}
	defer c.Close()

	s.Title("A path pattern. Claim blue gets its directory. Claim greedy tries to leave its directory by an annotation, and is refused.")
	s.Only(localpath.ProvisionerName)
	s.Apply("tidy.yaml", "team-claims.yaml", "team-pods.yaml")
	s.Ls("node-1", localpath.DefaultPath+"/default/blue")
	s.Get("pvc")
	return s.Err()
}

func leak(out io.Writer) error {
	return deleteVolume(out, "A node whose host name is not its name. What happens to the data of a deleted volume?", localpath.Config{})
}

func mended(out io.Writer) error {
	return deleteVolume(out, "The same, with the node's name read from where it was written.", localpath.Config{DeleteOnSelectedNode: true})
}

func deleteVolume(out io.Writer, title string, cfg localpath.Config) error {
	node := storagesim.Node{Name: "node-1", Labels: map[string]string{v1.LabelHostname: "host-1.example.com"}}
	c, s, err := begin(out, node, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	s.Title(title)
	s.Only(localpath.ProvisionerName)
	s.Apply("class.yaml", "my-local-pvc.yaml", "test.yaml")
	s.Delete("pod/test", "pvc/my-local-pvc")
	s.Get("pv")
	s.Ls("node-1", localpath.DefaultPath)
	if err := c.RequireNoLeaks(); err != nil {
		s.Printf("%v\n", err)
	} else {
		s.Printf("Nothing was left behind.\n")
	}
	return s.Err()
}
