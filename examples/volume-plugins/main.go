// Volume-plugins plays "判断该 Volume 属于哪个 Volume plugin": which plugin takes which
// volume, and what that plugin then makes on the node. First the registry alone, one
// volume after the other; then a pod that has six kinds of volumes, a ConfigMap that
// changes while the pod runs, and volumes that cannot be had.
package main

import (
	"embed"
	"io"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	if err := registry(out); err != nil {
		return err
	}
	if err := aPodWithEverything(out); err != nil {
		return err
	}
	return cannotBeHad(out)
}

// aPodWithEverything mounts one volume of each of six kinds.
func aPodWithEverything(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("A pod with a volume of each kind. Some are mounted, some are made, one is a directory that exists.")
	s.Export("nas", "/srv")
	s.MakeDir("node-1", "/mnt/disk")
	s.Only("kubelet/node-1")
	s.Apply("config.yaml", "local.yaml", "all.yaml")
	pod, err := c.Pod("all")
	if err != nil {
		return err
	}
	dir := "/var/lib/kubelet/pods/" + string(pod.UID) + "/volumes"
	s.LsOn("node/node-1", dir)
	s.LsOn("pod/all", "/config")
	s.CatOn("pod/all", "/config/app.conf")
	s.CatOn("pod/all", "/facts/labels")
	s.Printf("\n")

	s.Title("The ConfigMap changes. The pod sees the change within a minute, all files at once.")
	s.Apply("config-changed.yaml")
	s.CatOn("pod/all", "/config/app.conf")
	s.Printf("\n")
	s.RunFor(time.Minute)
	s.CatOn("pod/all", "/config/app.conf")
	s.Printf("\n")
	s.LsOn("pod/all", "/config")
	s.RefusedOn("pod/all", "/config/app.conf")

	s.Title("The pod is deleted, and what was made for it too. What was mounted stays where it is.")
	s.WriteOn("pod/all", "/share/greet.txt", "Hello, nas.")
	s.Delete("pod/all")
	s.LsOn("node/node-1", "/var/lib/kubelet/pods")
	s.LsOn("nfs/nas", "/srv")
	return s.Err()
}

// cannotBeHad has a volume of a kind that no plugin takes, and one that is not what
// its pod says.
func cannotBeHad(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Only(storagesim.User)

	s.Title("What if no plugin supports the volume? The pod waits for ever, and the event says why.")
	s.Apply("iscsi.yaml")
	s.Explain("pod/far")

	s.Title("What if the plugin supports it, but the directory is missing? The pod waits until it exists.")
	s.Apply("directory.yaml")
	s.Explain("pod/picky")
	s.MakeDir("node-1", "/opt/tool")
	s.RunFor(2 * time.Minute)
	s.Get("pods")
	return s.Err()
}
