// Node-failure plays what becomes of two pods whose node dies. One has a local volume of that
// node, the other a volume that can be attached anywhere. Both wait far longer than one would
// think, each for another reason.
package main

import (
	"embed"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	begin(c, s)
	die(s)
	force(s)
	comeBack(s)
	outOfService(s)
	s.Try(c.RequireNoLeaks())
	return s.Err()
}

func begin(c *storagesim.Cluster, s *show.Show) {
	s.Title("Two StatefulSets on node-1: db has a local volume of that node, web has a CSI volume.")
	s.Quiet()
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.Try(c.RunFor(5 * time.Second))
	s.MakeDir("node-1", "/data/k8s/localpv")
	s.Apply("local.yaml", "csi.yaml", "db.yaml", "web.yaml")
	s.RunFor(30 * time.Second)
	s.Exec("db-0", "/data/greet.txt", "Hello from db.")
	s.Exec("web-0", "/data/greet.txt", "Hello from web.")
	s.GetWide("pods")
}

func die(s *show.Show) {
	s.Title("The machine dies. It takes 50 seconds until the API shows it.")
	s.Only(storagesim.NodeLifecycle, storagesim.TaintEviction)
	s.Stop("node/node-1")
	s.RunFor(time.Minute)
	s.Get("nodes")

	s.Title("The pods tolerate that for five minutes. Then they are deleted, and stay: only their kubelet can end them.")
	s.RunFor(5 * time.Minute)
	s.GetWide("pods")
	s.Title("An hour later.")
	s.RunFor(time.Hour)
	s.Get("pods")
}

func force(s *show.Show) {
	s.Title("The administrator removes both pods from the API. Their StatefulSets make them again.")
	s.Only(storagesim.Scheduler, storagesim.AttachDetach)
	s.ForceDelete("db-0", "web-0")
	s.RunFor(30 * time.Second)
	s.Explain("pod/db-0")
	s.Explain("pod/web-0")

	s.Title("Six minutes after web-0 has gone, its volume is detached from the dead node without asking it.")
	s.Only(storagesim.AttachDetach, "csi-attacher/csi.storagesim.io")
	s.RunFor(7 * time.Minute)
	s.GetWide("pods")
	s.CatIn("web-0", "/data/greet.txt")
}

func comeBack(s *show.Show) {
	s.Title("db-0 has waited for its node, and the node is back.")
	s.Only(storagesim.NodeLifecycle, storagesim.Scheduler)
	s.Start("node/node-1")
	s.RunFor(2 * time.Minute)
	s.GetWide("pods")
	s.CatIn("db-0", "/data/greet.txt")
}

func outOfService(s *show.Show) {
	s.Title("The other node dies. This time the administrator says so at once.")
	s.Only(storagesim.TaintEviction, storagesim.PodGC, storagesim.AttachDetach, storagesim.Scheduler)
	s.Stop("node/node-2")
	s.RunFor(time.Minute)
	s.Taint("node-2", v1.TaintNodeOutOfService, v1.TaintEffectNoExecute)
	s.RunFor(time.Minute)
	s.GetWide("pods")
	s.CatIn("web-0", "/data/greet.txt")

	s.Title("When node-2 is back, the taint has to be removed by hand.")
	s.Quiet()
	s.Start("node/node-2")
	s.RunFor(time.Minute)
	s.Untaint("node-2", v1.TaintNodeOutOfService)
	s.RunFor(time.Minute)
	s.Get("nodes")
}
