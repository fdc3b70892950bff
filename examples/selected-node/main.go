// Selected-node plays what the document "OpenEBS 原理" quotes of the scheduler,
// FindPodVolumes and AssumePodVolumes, and what comes before, between and after
// them: the phases in which a pod and its claim get a node, one by one. Then a
// provisioner gives the node back.
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
	if err := phases(out); err != nil {
		return err
	}
	return givenBack(out)
}

func phases(out io.Writer) error {
	controlPlane := v1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule}
	c, err := storagesim.New(storagesim.Config{Nodes: []storagesim.Node{
		{Name: "node1", Taints: []v1.Taint{controlPlane}}, {Name: "node2"}, {Name: "node3"},
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("PreFilter. The pod is created before its claim, so no node is looked at.")
	s.Apply("openebs-hostpath.yaml", "local-hostpath-pod.yaml")
	s.Explain("pod/hello-local-hostpath-pod")

	s.Title("Filter, Score, Reserve. The claim is created. The run stops when the scheduler has decided.")
	s.Submit("local-hostpath-pvc.yaml")
	s.Until("takes node2")
	s.Explain("pvc/local-hostpath-pvc")

	s.Title("PreBind. The scheduler writes its decision and waits: OpenEBS is not installed yet.")
	s.RunFor(time.Minute)
	s.GetWide("pods")
	s.Explain("pvc/local-hostpath-pvc")

	s.Title("The scheduler crashes and starts again. The annotation is still there, so no other node passes Filter.")
	s.Only(storagesim.Scheduler)
	s.Try(c.Crash(storagesim.Scheduler))
	s.Settle()
	s.Explain("pod/hello-local-hostpath-pod")

	s.Title("OpenEBS is installed. It makes the volume, and at its next check the scheduler goes on to Bind.")
	s.Only(storagesim.Scheduler, storagesim.PVController, "openebs.io/local")
	s.Try(c.AddProvisionController(openebs.Controller(openebs.Config{})))
	s.Settle()
	s.GetWide("pods")
	return s.Err()
}

func givenBack(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisioner(diskProvisioner, disks{taken: map[string]bool{"node-1": true}}); err != nil {
		return err
	}
	s := show.New(c, manifests, out)

	s.Title("Unreserve, in a new cluster. The disk of node-1 is in use, which only the provisioner knows.")
	s.MakeDir("node-2", "/disk")
	s.Printf("\n")
	s.Only(storagesim.User, storagesim.Scheduler, diskProvisioner)
	s.Submit("disk.yaml", "data.yaml", "web.yaml")
	s.RunFor(time.Second)

	s.Title("And again, because the scheduler does not know about node-1.")
	s.RunFor(4 * time.Second)
	s.Explain("pod/web")

	s.Title("The driver publishes its capacity, and Filter uses it.")
	s.Apply("capacity.yaml")
	s.GetWide("pods,pvc")
	return s.Err()
}
