package provisioner

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/csi/internal/capacity"
	"github.com/storagesim/storagesim/provisioner"
)

// provisionWrapper triggers a new GetCapacity where volumes come and go.
//
// Upstream: pkg/capacity/provision.go provisionWrapper, v6.4.
type provisionWrapper struct {
	*csiProvisioner
	capacity *capacity.Controller
}

// withCapacity returns the provisioner, with a controller beside it that publishes the capacity.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go main, v6.4.
func (p *csiProvisioner) withCapacity() *provisionWrapper {
	cfg := capacity.Config{
		Driver: p.cfg.Driver, Controller: p.driver, Namespace: p.cfg.Capacity.Namespace, Owner: p.cfg.Capacity.Owner,
		PollInterval: p.cfg.Capacity.PollInterval, ImmediateBinding: p.cfg.Capacity.ImmediateBinding,
		Timeout: p.cfg.Timeout, RetryIntervalStart: p.cfg.RetryIntervalStart, RetryIntervalMax: p.cfg.RetryIntervalMax,
	}
	if p.cfg.NodeDeployment != nil {
		cfg.ManagedBy = getNameWithMaxLength("external-provisioner", p.cfg.NodeDeployment.Node, validation.DNS1035LabelMaxLength)
	}
	return &provisionWrapper{p, capacity.New(cfg, p.env, p.classes, p.nodeCache, p.csiNodeCache)}
}

// Start implements provisioner.Starter.
func (p *provisionWrapper) Start(ctx context.Context) {
	p.csiProvisioner.Start(ctx)
	p.capacity.Start(p.segment)
}

// Provision implements provisioner.Provisioner. It refreshes the capacity of the volume's topology; the next poll
// finds other changes.
func (p *provisionWrapper) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	pv, state, err := p.csiProvisioner.Provision(ctx, options)
	switch {
	case err == nil && pv != nil && pv.Spec.NodeAffinity != nil:
		p.capacity.RefreshTopology(pv.Spec.NodeAffinity)
	case options.StorageClass != nil && (err == nil && pv != nil || state != provisioner.ProvisioningNoChange):
		p.capacity.RefreshSC(options.StorageClass.Name)
	}
	return pv, state, err
}

// Delete implements provisioner.Provisioner.
func (p *provisionWrapper) Delete(ctx context.Context, pv *v1.PersistentVolume) error {
	err := p.csiProvisioner.Delete(ctx, pv)
	if err == nil {
		p.capacity.RefreshTopology(pv.Spec.NodeAffinity)
	}
	return err
}
