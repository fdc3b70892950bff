// Two-phases plays how a volume comes to a pod. First it is attached to the node, by components
// of the control plane, and then it is mounted there, by the kubelet. Either phase alone is of
// no use to the pod, and a local volume has only the second one.
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
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1"), Disks: storagesim.MemoryDisks})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Quiet()
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.Try(c.RunFor(5 * time.Second))

	attach(s)
	mount(s)
	withoutAttacher(s)
	local(s)
	s.Try(c.RequireNoLeaks())
	return s.Err()
}

const (
	kubelet  = "kubelet/node-1"
	attacher = "csi-attacher/csi.storagesim.io"
	plugin   = "/var/lib/kubelet/plugins/kubernetes.io/csi/csi.storagesim.io"
)

func attach(s *show.Show) {
	s.Title("First phase, attach: the control plane has the volume attached to the pod's node.")
	s.Submit("class.yaml", "claim.yaml")
	s.Settle()
	s.Submit("pod.yaml")
	s.Only(storagesim.AttachDetach, attacher)
	s.Until("SuccessfulAttachVolume")
	s.Get("volumeattachments")
	s.Get("pods")
	s.Explain("pod/web")
}

func mount(s *show.Show) {
	s.Title("Second phase, mount: the kubelet of that node stages and publishes it.")
	s.Only(kubelet)
	s.RunFor(10 * time.Second)
	s.Get("pods")

	s.Title("And back, the second phase first.")
	s.Only(storagesim.AttachDetach, attacher, kubelet)
	s.SubmitDelete("pod/web")
	s.RunFor(30 * time.Second)
	s.Get("volumeattachments")
}

func withoutAttacher(s *show.Show) {
	s.Title("Without the attacher the first phase does not end, and the kubelet does not begin the second.")
	s.Stop(attacher)
	s.Submit("pod.yaml")
	s.RunFor(5 * time.Minute)
	s.Explain("pod/web")
	s.Start(attacher)
	s.RunFor(time.Minute)
	s.Get("pods")
	s.Quiet()
	s.SubmitDelete("pod/web", "pvc/data")
	s.RunFor(2 * time.Minute)
}

func local(s *show.Show) {
	s.Title("A local volume is where it is. It has no first phase.")
	s.MakeDir("node-1", "/data/k8s/localpv")
	s.Only(storagesim.AttachDetach, attacher, kubelet)
	s.Apply("local.yaml", "local-pod.yaml")
	s.Get("volumeattachments")
	s.Get("pods")
}
