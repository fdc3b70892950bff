// Openebs-hostpath plays the OpenEBS example from beginning to end: the storage
// class, the claim and the pod of the document, on two nodes of which node1 is
// the control plane's and so takes no pods. It prints what kubectl would show,
// and after each step who did what.
package main

import (
	"embed"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	controlPlane := v1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule}
	c, err := storagesim.New(storagesim.Config{Nodes: []storagesim.Node{
		{Name: "node1", Taints: []v1.Taint{controlPlane}},
		{Name: "node2"},
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		return err
	}
	s := show.New(c, manifests, out)

	s.Title("The class and the claim. The claim waits for its first consumer.")
	s.Apply("openebs-hostpath.yaml", "local-hostpath-pvc.yaml")
	s.Get("sc")
	s.Get("pvc", "local-hostpath-pvc")

	s.Title("The pod. The scheduler picks node2, OpenEBS makes the directory there, the claim is bound, the pod runs.")
	s.Apply("local-hostpath-pod.yaml")
	s.Get("pods", "hello-local-hostpath-pod")
	s.Get("pvc", "local-hostpath-pvc")
	s.Get("pv")

	s.Title("The volume. It can be reached only from node2.")
	claim, err := c.Claim("local-hostpath-pvc")
	if err != nil {
		return err
	}
	s.YAML("pv", claim.Spec.VolumeName)

	s.Title("The data. The pod writes a greeting every five minutes. After twenty minutes there are four, on node2's disk.")
	dir := "/var/openebs/local/" + claim.Spec.VolumeName
	s.RunFor(20 * time.Minute)
	s.Ls("node2", dir)
	s.Cat("node2", dir+"/greet.txt")

	s.Title("The end. The pod and the claim are deleted; the reclaim policy is Delete, so the directory goes too.")
	s.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc")
	s.Get("pv,pvc,pods")
	s.Ls("node2", "/var/openebs/local")
	s.Try(c.RequireNoLeaks())
	s.Printf("Nothing was left behind.\n")
	return s.Err()
}
