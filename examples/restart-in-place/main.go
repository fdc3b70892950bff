// Restart-in-place plays "原地重启": a pod is deleted and created again while its
// node takes no pods. With a hostPath it starts somewhere else, in an empty
// directory. With a local volume it waits for its node, and finds its data. And
// what is it that ties a claim to its node?
package main

import (
	"embed"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

//go:embed *.yaml
var manifests embed.FS

const (
	claim     = "local-hostpath-pvc"
	pod       = "hello-local-hostpath-pod"
	hostPath  = "hello-hostpath-pod"
	notesFile = "/mnt/store/notes.txt"
)

func main() { show.Main(play) }

func play(out io.Writer) error {
	controlPlane := v1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule}
	c, err := storagesim.New(storagesim.Config{Nodes: []storagesim.Node{
		{Name: "node1", Taints: []v1.Taint{controlPlane}}, {Name: "node2"}, {Name: "node3"},
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		return err
	}
	s := show.New(c, manifests, out)
	s.Only(storagesim.Scheduler)
	onAHostPath(s)
	withAClaim(s)
	whatTies(s)
	return s.Err()
}

func onAHostPath(s *show.Show) {
	s.Title("A pod writes into a hostPath.")
	s.Apply("hostpath-pod.yaml")
	s.Exec(hostPath, notesFile, "Written through a hostPath.")

	s.Title("node2 is cordoned for a repair. The pod is created again, on another node, and its directory is empty.")
	s.Cordon("node2")
	s.Delete("pod/" + hostPath)
	s.Apply("hostpath-pod.yaml")
	s.Ls("node3", "/data/hello")

	s.Title("With a nodeSelector the pod waits.")
	s.Delete("pod/" + hostPath)
	s.Apply("hostpath-pod-on-node2.yaml")
	s.Uncordon("node2")
	s.CatIn(hostPath, notesFile)
	s.Printf("\n")
	s.Delete("pod/" + hostPath)
}

func withAClaim(s *show.Show) {
	s.Title("A pod with a claim. The manifest names no node.")
	s.Apply("openebs-hostpath.yaml", "local-hostpath-pvc.yaml", "local-hostpath-pod.yaml")
	s.Exec(pod, notesFile, "Written through a claim.")

	s.Title("The same repair. This pod waits.")
	s.Cordon("node2")
	s.Delete("pod/" + pod)
	s.Apply("local-hostpath-pod.yaml")
	s.Explain("pod/" + pod)

	s.Title("The repair is done.")
	s.Uncordon("node2")
	s.CatIn(pod, notesFile)
}

func whatTies(s *show.Show) {
	s.Title("Is it the annotation selected-node? Without it the pod also comes back to node2,")
	s.AnnotateClaim(claim, binding.AnnSelectedNode, "")
	s.Delete("pod/" + pod)
	s.Apply("local-hostpath-pod.yaml")

	s.Title("and with a wrong annotation it does too.")
	s.AnnotateClaim(claim, binding.AnnSelectedNode, "node3")
	s.Delete("pod/" + pod)
	s.Apply("local-hostpath-pod.yaml")
	s.CatIn(pod, notesFile)

	s.Title("It is the volume's node affinity. If node2 never comes back, the pod never runs.")
	s.Delete("pod/"+pod, "node/node2")
	s.Apply("local-hostpath-pod.yaml")
	s.RunFor(time.Hour)
	s.Explain("pod/" + pod)

	s.Title("An administrator decides that the data is lost, and deletes the claim too.")
	s.Delete("pod/"+pod, "pvc/"+claim)
	s.Apply("local-hostpath-pvc.yaml", "local-hostpath-pod.yaml")
	s.Get("pv")
	s.Ls("node2", "/var/openebs/local")
}
