// Csi-group-snapshots takes a snapshot of the two volumes of an application at one moment, and restores both.
package main

import (
	"embed"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Try(c.InstallCSIDriver(driver.Config{}))
	s.RunFor(5 * time.Second)

	s.Title("A database writes each entry to its log, and then to its data.")
	s.Apply("database.yaml")
	s.RunFor(15 * time.Second)

	s.Title("Group snapshots work as soon as their definitions are there. A snapshot of both volumes is taken.")
	definitions, err := snapshots.GroupDefinitions()
	s.Try(err)
	s.Try(c.Apply(definitions...))
	s.Apply("group.yaml")
	s.RunFor(10 * time.Second)
	s.Get("volumegroupsnapshot,volumegroupsnapshotcontent,volumesnapshot")

	s.Title("The database goes on writing. Both claims are restored from the members.")
	s.RunFor(20 * time.Second)
	s.CatIn("db", "/data/last")
	restored, err := restore(c)
	s.Try(err)
	s.Try(c.Apply(restored))
	s.Apply("reader.yaml")
	s.RunFor(20 * time.Second)
	s.CatIn("reader", "/log/last")
	s.CatIn("reader", "/data/last")

	s.Title("And back: with the group snapshot its members go, and the driver keeps nothing.")
	s.Delete("pod/db", "pod/reader", "volumegroupsnapshot/monday", "pvc/data", "pvc/log", "pvc/data-restored", "pvc/log-restored")
	s.RunFor(2 * time.Minute)
	s.Get("volumesnapshot,volumesnapshotcontent,volumegroupsnapshotcontent,pvc,pv")
	s.Try(c.RequireNoLeaks())
	return s.Err()
}

// restore returns a manifest of claims that are filled from the members. Their names are digests, so that each is asked which claim it is of.
func restore(c *storagesim.Cluster) (manifest string, err error) {
	list, err := c.Lab().Do(api.Request{Verb: "list", Resource: snapshots.Snapshots(), Namespace: "default"})
	if err != nil {
		return "", err
	}
	for _, member := range list.(*unstructured.UnstructuredList).Items {
		claim, _, err := unstructured.NestedString(member.Object, "spec", "source", "persistentVolumeClaimName")
		if err != nil {
			return "", err
		}
		manifest += fmt.Sprintf(claimFrom, claim, member.GetName())
	}
	return manifest, nil
}

const claimFrom = `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s-restored}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: csi
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: %s}
  resources: {requests: {storage: 1Gi}}
`
