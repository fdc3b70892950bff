// Openebs-hostpath plays the OpenEBS example from beginning to end: the storage
// class, the claim and the pod of the document, on two nodes of which node1 is
// the control plane's and so takes no pods. It prints what kubectl would show,
// and after each step who did what.
package main

import (
	"embed"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
)

//go:embed *.yaml
var manifests embed.FS

func main() {
	if err := play(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// show prints the example's parts; the first error ends it.
type show struct {
	*storagesim.Cluster
	out  io.Writer
	told int // how much of the trace was told
	err  error
}

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
	s := &show{Cluster: c, out: out}
	s.try(c.InstallOpenEBS())
	s.told = c.Engine().Trace().Len() // how all this came up is another story

	s.title("The class and the claim. The claim waits for its first consumer.")
	s.apply("openebs-hostpath.yaml", "local-hostpath-pvc.yaml")
	s.get("sc")
	s.get("pvc", "local-hostpath-pvc")

	s.title("The pod. The scheduler picks node2, OpenEBS makes the directory there, the claim is bound, the pod runs.")
	s.apply("local-hostpath-pod.yaml")
	s.get("pods", "hello-local-hostpath-pod")
	s.get("pvc", "local-hostpath-pvc")
	s.get("pv")

	s.title("The volume. It can be reached from node2 alone.")
	claim, err := c.Claim("local-hostpath-pvc")
	s.try(err)
	s.yaml("pv", claim.Spec.VolumeName)

	s.title("The data. What the pod writes below its mount path is in the volume's directory on node2.")
	greeting := "Thu Jan  7 10:48:49 CST 2021 [hello-local-hostpath-pod] Hello from OpenEBS Local PV.\n"
	dir := "/var/openebs/local/" + claim.Spec.VolumeName
	s.try(c.WriteFile("pod/hello-local-hostpath-pod", "/mnt/store/greet.txt", []byte(greeting)))
	names, err := c.ListDir("node/node2", dir)
	s.try(err)
	s.printf("node2$ ls %s\n", dir)
	for _, name := range names {
		s.printf("%s\n", name)
	}
	data, err := c.ReadFile("node/node2", dir+"/greet.txt")
	s.try(err)
	s.printf("node2$ cat %s/greet.txt\n%s", dir, data)

	s.title("The end. The pod and the claim are deleted; the reclaim policy is Delete, so the directory goes too.")
	s.printf("$ kubectl delete pod/hello-local-hostpath-pod pvc/local-hostpath-pvc --wait=false\n")
	s.try(c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc"))
	s.settle()
	s.get("pv,pvc,pods")
	names, err = c.ListDir("node/node2", "/var/openebs/local")
	s.try(err)
	s.printf("node2$ ls /var/openebs/local\n")
	for _, name := range names {
		s.printf("%s\n", name)
	}
	s.try(c.RequireNoLeaks())
	s.printf("Nothing was left behind.\n")
	return s.err
}

func (s *show) try(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *show) printf(format string, args ...any) {
	if s.err == nil {
		fmt.Fprintf(s.out, format, args...)
	}
}

func (s *show) title(text string) { s.printf("\n# %s\n\n", text) }

// apply applies manifests, lets the cluster come to rest and tells what
// happened.
func (s *show) apply(names ...string) {
	for _, name := range names {
		text, err := manifests.ReadFile(name)
		s.try(err)
		s.printf("$ kubectl apply -f %s\n", name)
		s.try(s.Apply(string(text)))
	}
	s.settle()
}

func (s *show) settle() {
	s.try(s.Settle())
	trace := s.Engine().Trace()
	s.printf("%s\n", engine.Tell(trace.Since(s.told), engine.Start, nil))
	s.told = trace.Len()
}

func (s *show) get(args ...string) {
	text, err := s.Get(args...)
	s.try(err)
	s.printf("$ kubectl get %s\n%s\n", strings.Join(args, " "), text)
}

func (s *show) yaml(args ...string) {
	text, err := s.GetYAML(args...)
	s.try(err)
	s.printf("$ kubectl get %s -o yaml\n%s\n", strings.Join(args, " "), text)
}
