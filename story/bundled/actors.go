package bundled

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// errReferenceDriver is why "csi" runs in a Cluster only.
var errReferenceDriver = errors.New(`provisioner "csi": the reference driver keeps its volumes in this process, where no other kubelet can mount them; ` +
	`run a driver of your own`)

// CheckActors says what is wrong with names for Actors: "csi", which only a Cluster can run, or
// a name that does not exist.
func CheckActors(names []string) error {
	for _, name := range names {
		switch name {
		case "openebs", "local-path", "nfs":
		case "csi":
			return errReferenceDriver
		default:
			return fmt.Errorf("there is no provisioner %q%s", name, prose.OneOf(name, []string{"local-path", "nfs", "openebs"}))
		}
	}
	return nil
}

// Actors returns provisioners of this library, by their short names, for a driver other than a
// Cluster's: package live/remote runs them against another API server. With client, a client of
// that server, it creates the objects that helper pods need, if they are missing: the namespace,
// the service account and, for "local-path", the default ConfigMap. The identities of the provisioners depend on the seed.
func Actors(ctx context.Context, client kubernetes.Interface, seed uint64, names ...string) (actors []control.Actor, err error) {
	if err := CheckActors(names); err != nil {
		return nil, err
	}
	for _, name := range names {
		var cfg provisioner.Config
		switch name {
		case "openebs":
			cfg = openebs.Controller(openebs.Config{})
			err = cfg.Setup(ctx, client)
		case "local-path":
			cfg = localpath.Controller(localpath.Config{})
			err = cfg.Setup(ctx, client)
		case "nfs":
			cfg = provisioner.Config{Name: nfsprovisioner.StaticName, Provisioner: nfsprovisioner.Static{}}
		}
		if err != nil {
			return nil, fmt.Errorf("provisioner %q: %w", name, err)
		}
		cfg.Identity = provisioner.IdentityOf(cfg.Name, seed)
		actors = append(actors, control.Actor{Name: cfg.Name, Factory: provisioner.New(cfg)})
	}
	return actors, nil
}
