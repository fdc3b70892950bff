package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/story/bundled"
)

// checkMore checks the flags of what control runs beside the controllers.
func (o *controlOptions) checkMore() error {
	if err := checkOnce(o.provisioners); err != nil {
		return err
	}
	if err := bundled.CheckActors(o.provisioners); err != nil {
		return fmt.Errorf("--provisioners: %w", err)
	}
	for _, text := range o.csi {
		if strings.Contains(text, nodeWord) {
			return fmt.Errorf("--csi-endpoint: %s: the sidecars that control runs call the driver's controller, and not its nodes: give one address without %s",
				text, nodeWord)
		}
	}
	_, err := readEndpoints(o.csi, []string{""})
	return err
}

// names returns the names of the controllers to run. There may be none only if a provisioner or a CSI driver is to run.
func (o *controlOptions) names() ([]string, error) {
	if len(o.only) == 0 && len(o.provisioners) == 0 && len(o.csi) == 0 {
		return nil, fmt.Errorf("--only: which controllers to run is required: %s; or give --provisioners or --csi-endpoint", strings.Join(shortNames(), ", "))
	}
	return controllersNamed(o.only)
}

// build makes all actors that the flags name. stop is to be called when they have ended.
func (o *controlOptions) build(ctx context.Context, cfg *rest.Config, names []string) (actors []control.Actor, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	snapshots, err := hasSnapshots(cfg)
	if err == nil && !snapshots && slices.Contains(names, storagesim.SnapshotController) {
		err = errors.New("--only: snapshot-controller: the server does not know VolumeSnapshots: apply the CustomResourceDefinitions of external-snapshotter first")
	}
	if err != nil {
		return nil, stop, err
	}
	if len(names) > 0 { // none would be all of them
		actors, err = storagesim.ControlPlane(storagesim.Config{Only: names, Scheduler: scheduler.Config{SchedulerName: o.scheduler}})
	}
	if err == nil && len(o.provisioners) > 0 {
		actors, err = o.addProvisioners(ctx, cfg, actors)
	}
	if err != nil {
		return nil, stop, err
	}
	endpoints, err := readEndpoints(o.csi, []string{""})
	for i := 0; i < len(endpoints) && err == nil; i++ {
		var sidecars []control.Actor
		var end func()
		if sidecars, end, err = endpoints[i].sidecars(ctx, snapshots); err == nil {
			stops, actors = append(stops, end), append(actors, sidecars...)
		}
	}
	return actors, stop, err
}

// actorsOf returns the names of actors.
func actorsOf(actors []control.Actor) (names []string) {
	for _, a := range actors {
		names = append(names, a.Name)
	}
	return names
}

// addProvisioners adds the actors of --provisioners.
func (o *controlOptions) addProvisioners(ctx context.Context, cfg *rest.Config, actors []control.Actor) ([]control.Actor, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	more, err := bundled.Actors(ctx, client, rand.Uint64(), o.provisioners...) // no other process has its identity
	return append(actors, more...), err
}

// hasSnapshots reports whether the server has the CustomResourceDefinitions of snapshots.
func hasSnapshots(cfg *rest.Config) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return false, err
	}
	found, err := client.ServerResourcesForGroupVersion(snapshotv1.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot reach the API server at %s: %w", cfg.Host, err)
	}
	return len(found.APIResources) > 0, nil
}

// sidecars returns the actors that run beside the controller of a driver.
func (e csiEndpoint) sidecars(ctx context.Context, withSnapshots bool) ([]control.Actor, func(), error) {
	d, err := e.driver(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	actors, stop, err := d.ControlPlane(withSnapshots)
	if err != nil {
		err = fmt.Errorf("%s: %w", e.label, err)
	}
	return actors, stop, err
}
