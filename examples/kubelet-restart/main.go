// Kubelet-restart plays what becomes of a node's mounts when its kubelet, whose
// memory they were in, crashes: the pod goes on running, the next kubelet finds the
// mounts on disk, keeps those that are wanted and takes the others away.
package main

import (
	"context"
	"embed"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

const kubelet = "kubelet/node-1"

func main() { show.Main(play) }

func play(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	survive(c, s)
	halfWay(c, s)
	vanish(c, s)
	return s.Err()
}

// crash ends the kubelet's process; systemd starts it again at once.
func crash(c *storagesim.Cluster, s *show.Show) {
	s.Printf("node-1$ kill -9 $(pidof kubelet)\n")
	s.Try(c.Crash(kubelet))
}

func survive(c *storagesim.Cluster, s *show.Show) {
	s.Title("A pod with a volume, and what is on the node's disk then.")
	s.MakeDir("node-1", "/data/k8s/localpv")
	s.Only(kubelet)
	s.Apply("class.yaml", "volume.yaml", "claim.yaml", "pod.yaml")
	s.WriteOn("pod/web", "/data/greet.txt", "Hello from the pod.")
	s.LsOn("node/node-1", "/var/lib/kubelet/pods")
	s.LsOn("node/node-1", "/run/mounts")

	s.Title("The kubelet crashes. The pod does not: nothing is mounted or unmounted.")
	crash(c, s)
	s.Settle()
	s.Get("pods")
	s.CatOn("pod/web", "/data/greet.txt")

	s.Title("It crashes again, and then receives no pods for an hour. It must not conclude that there are no pods.")
	s.Try(c.Hold(kubelet, "pods"))
	crash(c, s)
	s.RunFor(time.Hour)
	s.CatOn("pod/web", "/data/greet.txt")
	s.Try(c.Release(kubelet, "pods"))
	s.Settle()
}

func halfWay(c *storagesim.Cluster, s *show.Show) {
	s.Title("A crash in between: the volume is mounted, and no status has been written yet.")
	s.Delete("pod/web")
	s.Submit("pod.yaml")
	s.Until("mounts pv-local")
	crash(c, s)
	s.Settle()
	s.Get("pods")
}

func vanish(c *storagesim.Cluster, s *show.Show) {
	s.Title("The pod is deleted by force while the kubelet is down. The kubelet will never receive an event about it.")
	crash(c, s)
	s.Printf("$ kubectl delete pod/web --grace-period=0 --force\n")
	now := int64(0)
	s.Try(c.Client().CoreV1().Pods("default").Delete(context.Background(), "web", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	s.Settle()
	s.LsOn("node/node-1", "/var/lib/kubelet/pods")
	s.LsOn("node/node-1", "/run/mounts")
	s.CatOn("node/node-1", "/data/k8s/localpv/greet.txt")
	s.Try(c.RequireNoLeaks())
}
