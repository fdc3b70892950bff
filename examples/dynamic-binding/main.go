// Dynamic-binding plays "动态创建存储卷": a claim of a class, the annotations by which
// the PV controller tells the class's provisioner, the document's own NFS
// provisioner, and then classes that are missing or come late.
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
	if err := fromClassToVolume(out); err != nil {
		return err
	}
	return lateClasses(out)
}

func fromClassToVolume(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("A class and a claim. The PV controller annotates the claim with the provisioner that should make its volume.")
	s.Apply("my-nfs.yaml", "my-nfs-pvc.yaml")
	s.YAML("pvc", "my-nfs-pvc")

	s.Title("No provisioner of that name runs, so nothing happens.")
	s.RunFor(time.Hour)
	s.Explain("pvc/my-nfs-pvc")

	s.Title("The provisioner starts, reads the annotation and makes the volume; the PV controller binds it.")
	s.Try(c.AddProvisioner(provisionerName, nfsProvisioner{}))
	s.Settle()
	s.Get("pv,pvc")

	s.Title("A pod. The kubelet mounts the directory that the class names, from a server that exports it.")
	s.Export("192.168.203.110", "/data/nfs")
	s.Only(storagesim.User, storagesim.Scheduler, "kubelet/node-1")
	s.Apply("test-nfs.yaml")
	s.Exec("test-nfs", "/data/greet.txt", "Hello from the pod.")

	s.Title("The end. The provisioner made only the object, so only the object is deleted. The file stays.")
	s.Only(storagesim.User, storagesim.PVProtection, storagesim.PVController, provisionerName)
	s.Delete("pod/test-nfs", "pvc/my-nfs-pvc")
	s.Get("pv,pvc")
	s.LsOn("nfs/192.168.203.110", "/data/nfs")
	return s.Err()
}

func lateClasses(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddProvisioner(provisionerName, nfsProvisioner{}); err != nil {
		return err
	}
	s := show.New(c, manifests, out)
	s.Only(storagesim.User, storagesim.PVController)

	s.Title("Three claims before the class exists: one names the class, one names none, one asks for no class.")
	s.Apply("early.yaml", "undecided.yaml", "by-hand.yaml")

	s.Title("The class is created. The claim that names it gets a volume.")
	s.Apply("my-nfs.yaml")
	s.RunFor(15 * time.Second)
	s.Get("pvc")

	s.Title("The class becomes the default. The claim that names none gets it; the one that asks for no class does not.")
	s.Apply("my-nfs-default.yaml")
	s.RunFor(15 * time.Second)
	s.Get("pvc")

	s.Title("What if two claims use this class? Each has a volume of its own, but both volumes are the same directory.")
	for _, key := range []string{"early", "undecided"} {
		claim, err := c.Claim(key)
		if err != nil {
			return err
		}
		volume, err := c.Volume(claim.Spec.VolumeName)
		if err != nil {
			return err
		}
		s.Printf("the volume of pvc/%s is %s:%s\n", key, volume.Spec.NFS.Server, volume.Spec.NFS.Path)
	}
	return s.Err()
}
