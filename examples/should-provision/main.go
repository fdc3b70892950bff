// Should-provision plays every reason a provisioner has to leave a claim alone:
// eleven claims, one provisioner that starts late and looks at each, and what it
// says of it.
package main

import (
	"embed"
	"errors"
	"io"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)
	s.Only(storagesim.User)

	s.Title("Eleven claims, and nobody to provision yet. Then a class goes, and another changes hands.")
	s.Apply("classes.yaml", "claims.yaml")
	s.SubmitDelete("sc/gone-soon")
	s.SubmitDelete("sc/sold-soon")
	s.Submit("sold.yaml")

	s.Title("The provisioner starts. This is what it says of each claim when it first looks at it.")
	s.Only(provisionerName)
	faulty := &provisioner.Faulty{Provisioner: nfsProvisioner{}}
	s.Try(c.AddProvisionController(provisioner.Config{Name: provisionerName, Provisioner: faulty, TraceAll: true}))
	s.RunFor(2 * time.Second)
	s.Get("pvc")

	s.Title("Whatever happens to a claim that cannot be satisfied: for five minutes it rests.")
	s.AnnotateClaim("picky", "please", "yes")
	s.RunFor(5 * time.Minute)

	s.Title("A pod for the claim that waits. The node is full; the scheduler must choose again, and until it has, the claim waits.")
	s.Only(storagesim.User, storagesim.Scheduler, provisionerName)
	faulty.OnProvision(provisioner.Answer{Claim: "default/delayed", Err: errors.New("no room on this node"), State: provisioner.ProvisioningReschedule})
	s.Apply("pod.yaml")
	s.Get("pvc", "delayed")
	return s.Err()
}
