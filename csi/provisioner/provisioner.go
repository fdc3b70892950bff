package provisioner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/provisioner"
)

// csiProvisioner creates and deletes the volumes of one driver.
//
// Upstream: pkg/controller/controller.go csiProvisioner, v6.4.
type csiProvisioner struct {
	cfg    Config
	env    control.Env
	client kubernetes.Interface
	events control.Recorder

	conn   grpc.ClientConnInterface
	driver csi.ControllerClient
	// reported holds the driver's name and capabilities at the start of the provisioner.
	reported sidecar.Driver
	// identity distinguishes this life of the provisioner from others. It is written to volumes.
	identity string

	classes *control.Cache[*storage.StorageClass]
	// csiNodes and nodes read these caches, which are nil with NodeDeployment, or then the one node.
	csiNodeCache *control.Cache[*storage.CSINode]
	nodeCache    *control.Cache[*v1.Node]
	csiNodes     lister[*storage.CSINode]
	nodes        lister[*v1.Node]
	// segment is the topology of the one node; nil without NodeDeployment.
	segment     map[string]string
	attachments *control.Cache[*storage.VolumeAttachment]

	// claims is the library's cache. cloned holds claims that are being deleted and may have pending clones.
	claims *control.Cache[*v1.PersistentVolumeClaim]
	cloned control.Queue

	topologies topologyStore
}

var (
	_ provisioner.BlockProvisioner = (*csiProvisioner)(nil)
	_ provisioner.Starter          = (*csiProvisioner)(nil)
	_ provisioner.ClaimFollower    = (*csiProvisioner)(nil)
)

func newCSIProvisioner(cfg Config, env control.Env) *csiProvisioner {
	conn := cfg.Dial(env)
	p := &csiProvisioner{
		cfg: cfg, env: env, client: env.Client(), conn: conn, driver: csi.NewControllerClient(conn),
		events:     env.Recorder("external-provisioner"),
		identity:   identityOf(cfg.Driver, env),
		classes:    control.NewCache[*storage.StorageClass](env, control.StorageClasses()),
		topologies: topologyStore{},
	}
	if cfg.NodeDeployment == nil {
		p.csiNodeCache = control.NewCache[*storage.CSINode](env, control.CSINodes())
		p.nodeCache = control.NewCache[*v1.Node](env, control.Nodes())
		p.csiNodes, p.nodes = p.csiNodeCache, p.nodeCache
	} else {
		p.identity += "-" + cfg.NodeDeployment.Node
	}
	p.attachments = control.NewCache[*storage.VolumeAttachment](env, control.VolumeAttachments())
	p.attachments.AddIndex(byVolume, volumeNames)
	return p
}

// identityOf returns the time in milliseconds, a number, and the driver's name.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go main, v6.4, where the number is random.
func identityOf(driver string, env control.Env) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(driver))
	return fmt.Sprintf("%d-%d-%s", env.Now().UnixMilli(), h.Sum32()%10000, driver)
}

// Start implements provisioner.Starter.
func (p *csiProvisioner) Start(ctx context.Context) {
	if p.cfg.NodeDeployment == nil {
		p.reported = p.meet(ctx)
	}
	p.protect(ctx)
}

// meet waits for the driver.
func (p *csiProvisioner) meet(ctx context.Context) sidecar.Driver {
	return sidecar.Meet(ctx, p.env, p.conn, p.cfg.Driver, p.cfg.Timeout)
}

// SupportsBlock implements provisioner.BlockProvisioner. CSI has no call for it; a driver without block volumes
// refuses CreateVolume.
func (p *csiProvisioner) SupportsBlock(context.Context) bool { return true }

func (p *csiProvisioner) supportsTopology() bool { return p.reported.SupportsTopology() }

func (p *csiProvisioner) can(what csi.ControllerServiceCapability_RPC_Type) bool {
	return p.reported.Controller[what]
}

// requiredCapabilities holds the capabilities that a claim needs beside creating and deleting volumes.
type requiredCapabilities struct{ snapshot, clone, modifyVolume bool }

// checkDriverCapabilities returns an error if the driver lacks a capability.
//
// Upstream: controller.go checkDriverCapabilities, v6.4.
func (p *csiProvisioner) checkDriverCapabilities(rc requiredCapabilities) error {
	switch {
	case !p.reported.HasController():
		return errors.New("CSI driver does not support dynamic provisioning: plugin CONTROLLER_SERVICE capability is not reported")
	case !p.can(csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME):
		return errors.New("CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported")
	case rc.snapshot && !p.can(csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT):
		return errors.New("CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported")
	case rc.clone && !p.can(csi.ControllerServiceCapability_RPC_CLONE_VOLUME):
		return errors.New("CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported")
	case rc.modifyVolume && !p.can(csi.ControllerServiceCapability_RPC_MODIFY_VOLUME):
		return errors.New("CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported")
	}
	return nil
}

// makeVolumeName returns the name of a claim's volume, the same at every try. length 0 keeps the whole UID.
//
// Upstream: controller.go makeVolumeName, v6.4.
func makeVolumeName(prefix, uid string, length int) (string, error) {
	switch {
	case prefix == "":
		return "", errors.New("volume name prefix cannot be of length 0")
	case uid == "":
		return "", errors.New("corrupted PVC object, it is missing UID")
	}
	if length > 0 {
		uid = strings.ReplaceAll(uid, "-", "")
		uid = uid[:min(length, len(uid))]
	}
	return prefix + "-" + uid, nil
}
