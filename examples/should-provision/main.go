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

	s.Title("Eleven claims, and no provisioner yet. Then one class is deleted, and another gets a different provisioner.")
	s.Apply("classes.yaml", "claims.yaml")
	s.SubmitDelete("sc/gone-soon")
	s.SubmitDelete("sc/sold-soon")
	s.Submit("sold.yaml")

	s.Title("The provisioner starts. This is what it decides for each claim.")
	s.Only(provisionerName)
	faulty := &provisioner.Faulty{Provisioner: nfsProvisioner{}}
	s.Try(c.AddProvisionController(provisioner.Config{Name: provisionerName, Provisioner: faulty, TraceAll: true}))
	s.RunFor(2 * time.Second)
	s.Get("pvc")

	s.Title("A claim that cannot be satisfied waits for five minutes, whatever happens to it.")
	s.AnnotateClaim("picky", "please", "yes")
	s.RunFor(5 * time.Minute)

	s.Title("A pod for the claim that waits. The node is full, so the claim waits until the scheduler has chosen again.")
	s.Only(storagesim.User, storagesim.Scheduler, provisionerName)
	faulty.OnProvision(provisioner.Answer{Claim: "default/delayed", Err: errors.New("no room on this node"), State: provisioner.ProvisioningReschedule})
	s.Apply("pod.yaml")
	s.Get("pvc", "delayed")
	return s.Err()
}
