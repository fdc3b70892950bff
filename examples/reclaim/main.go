// Reclaim plays what happens to a volume when its claim goes: the claim that is
// still in use, the policy Retain and how a retained volume is used again, the
// policy Delete, and the provisioner that is down when it should delete.
package main

import (
	"embed"
	"io"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	for _, part := range []func(io.Writer) error{retain, remove, tidyUp} {
		if err := part(out); err != nil {
			return err
		}
	}
	return nil
}

func retain(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("A volume with the policy Retain, a claim and a pod.")
	s.Only(storagesim.PVController)
	s.Apply("kept.yaml", "claim.yaml", "pod.yaml")
	s.Exec("web", "/data/greet.txt", "Hello from the first claim.")

	s.Title("The claim is deleted while the pod uses it. It is protected, so it stays.")
	s.Only()
	s.Delete("pvc/data")
	s.Get("pvc")
	s.Explain("pvc/data")

	s.Title("The pod is deleted. Now the claim goes, and its volume is Released.")
	s.Only(storagesim.User, storagesim.PVCProtection, storagesim.PVController)
	s.Delete("pod/web")
	s.Get("pv")

	s.Title("A new claim of the same name does not get the volume.")
	s.Apply("claim.yaml")
	s.Explain("pvc/data")

	s.Title("An administrator decides that another claim may have the data, and clears the claimRef.")
	s.PatchVolume("kept", `{"spec": {"claimRef": null}}`)
	s.RunFor(15 * time.Second)
	s.Get("pv,pvc")
	s.Cat("node-1", "/srv/kept/greet.txt")
	return s.Err()
}

// prepare makes a volume through OpenEBS and lets the provisioner go down, for
// ten minutes, when it is about to delete it.
func prepare(c *storagesim.Cluster, s *show.Show) {
	s.Only(openebs.ProvisionerName)
	s.Apply("openebs-class.yaml", "openebs-claim.yaml", "pod.yaml")
	s.Ls("node-1", "/var/openebs/local")
	s.Printf("\n")
	s.Try(c.Inject(engine.Fault{
		Actor: openebs.ProvisionerName, Verb: "create", Resource: "pods", Crash: true, Restart: 10 * time.Minute,
	}))
}

func remove(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		return err
	}
	s := show.New(c, manifests, out)

	s.Title("Delete, in a new cluster. OpenEBS has made this volume, so OpenEBS must delete it.")
	prepare(c, s)

	s.Title("OpenEBS is down at that moment. The claim is gone, the volume and its directory stay.")
	s.Only(storagesim.User, storagesim.PVCProtection, storagesim.PVProtection, storagesim.PVController, openebs.ProvisionerName)
	s.SubmitDelete("pod/web", "pvc/data")
	s.RunFor(5 * time.Minute)
	s.Get("pv,pvc")
	s.Ls("node-1", "/var/openebs/local")

	s.Title("OpenEBS is back. It finds the Released volume by itself.")
	s.RunFor(6 * time.Minute)
	s.Get("pv,pvc")
	s.Ls("node-1", "/var/openebs/local")
	s.Try(c.RequireNoLeaks())
	s.Printf("Nothing was left behind.\n")
	return s.Err()
}

func tidyUp(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		return err
	}
	s := show.New(c, manifests, out)

	s.Title("What if the volume is deleted by hand while OpenEBS is down? The same again, in a new cluster.")
	prepare(c, s)
	claim, err := c.Claim("data")
	if err != nil {
		return err
	}
	s.Only(storagesim.User, storagesim.PVController, storagesim.PVProtection, openebs.ProvisionerName)
	s.SubmitDelete("pod/web", "pvc/data")
	s.RunFor(5 * time.Minute)
	s.SubmitDelete("pv/" + claim.Spec.VolumeName)
	s.RunFor(6 * time.Minute)
	s.Ls("node-1", "/var/openebs/local")
	s.Printf("%v\n", c.RequireNoLeaks())
	return s.Err()
}
