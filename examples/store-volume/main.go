// Store-volume plays StoreVolume: the asset exists, and now its PersistentVolume
// must be created while the API is down. Each part is a cluster of its own, with
// a different kind of bad luck.
package main

import (
	"embed"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/provisioner"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	for _, part := range []func(*scene){apiDown, apiDownLonger, cleanupFails, lostAnswer, queue, panics} {
		s, err := newScene(out)
		if err != nil {
			return err
		}
		part(s)
		if err := errors.Join(s.Err(), s.cluster.Close()); err != nil {
			return err
		}
	}
	return nil
}

// scene is a cluster with the shelf's provisioner, and what goes wrong with it.
type scene struct {
	*show.Show
	cluster *storagesim.Cluster
	shelf   *shelf
	faulty  *provisioner.Faulty
}

func newScene(out io.Writer) (*scene, error) {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return nil, err
	}
	s := &scene{Show: show.New(c, manifests, out), cluster: c, shelf: &shelf{}}
	s.faulty = &provisioner.Faulty{Provisioner: s.shelf}
	s.Only(storagesim.User, provisionerName)
	return s, nil
}

// start runs the provisioner.
func (s *scene) start(cfg provisioner.Config) {
	cfg.Name, cfg.Provisioner = provisionerName, s.faulty
	s.Try(s.cluster.AddProvisionController(cfg))
}

// refuseCreates has the API refuse to create volumes, negative for ever.
func (s *scene) refuseCreates(times int) {
	s.Try(s.cluster.Inject(engine.Fault{
		Actor: provisionerName, Verb: "create", Resource: "pv", Times: times, Err: apierrors.NewInternalError(errors.New("etcd is down")),
	}))
}

// onTheShelf prints what the backend holds.
func (s *scene) onTheShelf() {
	if len(s.shelf.holds) == 0 {
		s.Printf("the shelf is empty\n")
	}
	for _, name := range s.shelf.holds {
		s.Printf("on the shelf: %s\n", name)
	}
}

// leaks prints what RequireNoLeaks finds.
func (s *scene) leaks() {
	err := s.cluster.RequireNoLeaks()
	if err == nil {
		s.Printf("leaks: none\n")
		return
	}
	s.Printf("leaks: %v\n", err)
}

func apiDown(s *scene) {
	s.Title("The API refuses two creates. The third, twenty seconds later, succeeds.")
	s.start(provisioner.Config{})
	s.refuseCreates(2)
	s.Submit("class.yaml", "claim.yaml")
	s.RunFor(30 * time.Second)
	s.Get("pvc", "data")
}

func apiDownLonger(s *scene) {
	s.Title("It refuses five. StoreVolume gives up and deletes the asset, because without an object nothing else would.")
	s.start(provisioner.Config{})
	s.refuseCreates(5)
	s.Submit("class.yaml", "claim.yaml")
	s.Until("will retry pvc")
	s.onTheShelf()

	s.Title("The claim still exists, so everything begins again.")
	s.RunFor(15 * time.Second)
	s.onTheShelf()
	s.leaks()
}

func cleanupFails(s *scene) {
	s.Title("Deleting the asset fails as well, five times, and meanwhile the user deletes the claim.")
	s.start(provisioner.Config{})
	s.refuseCreates(5)
	s.faulty.OnDelete(provisioner.Answer{Err: errors.New("the shelf is locked"), Times: 5})
	s.Submit("class.yaml", "claim.yaml")
	s.RunFor(time.Minute)
	s.SubmitDelete("pvc/data")
	s.RunFor(10 * time.Minute)
	s.onTheShelf()
	s.leaks()
}

func lostAnswer(s *scene) {
	s.Title("The API refuses four creates. The fifth succeeds, but its answer is lost.")
	s.start(provisioner.Config{})
	s.refuseCreates(4)
	s.Try(s.cluster.Inject(engine.Fault{Actor: provisionerName, Verb: "create", Resource: "pv", After: true}))
	s.Submit("class.yaml", "claim.yaml")
	s.RunFor(2 * time.Minute)
	s.Get("pvc", "data")
	s.onTheShelf()
	s.leaks()
}

func queue(s *scene) {
	s.Title("The other store: a queue that never gives up, and never deletes.")
	s.start(provisioner.Config{CreateProvisionedPVLimiter: &control.RateLimiter{Base: time.Second, Max: 10 * time.Minute}})
	s.Only(storagesim.User)
	s.refuseCreates(-1)
	s.Submit("class.yaml", "claim.yaml")
	s.RunFor(24 * time.Hour)
	s.onTheShelf()
	s.Get("pvc", "data")

	s.Title("A day later the API is back.")
	s.Only(provisionerName)
	s.cluster.Engine().ClearFaults()
	s.RunFor(10 * time.Minute)
	s.Get("pvc", "data")
	s.leaks()
}

func panics(s *scene) {
	s.Title("A bug: Provision makes the asset and then writes into a nil map, three times.")
	s.start(provisioner.Config{})
	s.shelf.bug = 3
	s.Submit("class.yaml", "claim.yaml")
	s.RunFor(5 * time.Second)
	s.Explain("pvc/data")
	s.RunFor(30 * time.Second)
	s.Get("pvc", "data")
	s.onTheShelf()
	s.leaks()
}
