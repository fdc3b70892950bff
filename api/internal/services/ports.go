package services

import (
	"encoding/binary"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

// The range of ports of nodes.
const (
	firstNodePort = 30000
	nodePorts     = 2768
)

// portOperation gives ports of the nodes to one service.
// Upstream: registry/core/service/portallocator PortAllocationOperation, v1.37.2.
type portOperation struct {
	*Allocator
	service *v1.Service
	dry     bool
	own     map[int32]bool // what the service has got
}

// allocatePorts gives a service the ports of the nodes that it needs. old is the service that it replaces, which is not counted, nil if it is new.
// Upstream: registry/core/service/storage Allocators.txnAllocNodePorts and txnUpdateNodePorts, v1.37.2.
func (a *Allocator) allocatePorts(service, old *v1.Service, dry bool) error {
	p := &portOperation{Allocator: a, service: service, dry: dry, own: map[int32]bool{}}
	if kind := service.Spec.Type; kind == v1.ServiceTypeNodePort || kind == v1.ServiceTypeLoadBalancer {
		var err error
		if old == nil {
			err = p.initNodePorts()
		} else {
			err = p.updateNodePorts(old)
		}
		if err != nil {
			return err
		}
	}
	if needsHealthCheck(&service.Spec) && (old == nil || !needsHealthCheck(&old.Spec)) {
		return p.allocHealthCheckNodePort()
	}
	return nil
}

// initNodePorts gives a new service its ports. Two of its ports with one number, such as one for TCP and one for UDP, get one port of the nodes.
// Upstream: registry/core/service/storage initNodePorts, v1.37.2.
func (p *portOperation) initNodePorts() error {
	byPort, all := map[int32]int32{}, p.service.Spec.Ports
	for i := range all {
		port := &all[i]
		if port.NodePort == 0 && !needsNodePort(&p.service.Spec) {
			continue
		}
		shared, asked := byPort[port.Port], port.NodePort
		switch {
		case shared == 0:
			for j := 0; asked == 0 && j < len(all); j++ { // one that is named further on
				if all[j].Port == port.Port {
					asked = all[j].NodePort
				}
			}
		case asked == 0 || asked == shared:
			port.NodePort = shared
			continue
		}
		given, err := p.give(i, asked)
		if err != nil {
			return err
		}
		port.NodePort = given
		if shared == 0 {
			byPort[port.Port] = given
		}
	}
	return nil
}

// updateNodePorts gives a service that changes the ports that it has not had.
// Upstream: registry/core/service/storage Allocators.updateNodePorts, v1.37.2.
func (p *portOperation) updateNodePorts(old *v1.Service) error {
	type nodePort struct {
		protocol v1.Protocol
		port     int32
	}
	had, has := map[int32]bool{}, map[nodePort]bool{}
	for _, port := range old.Spec.Ports {
		had[port.NodePort] = true
		p.own[port.NodePort] = true
	}
	for i := range p.service.Spec.Ports {
		port := &p.service.Spec.Ports[i]
		if port.NodePort == 0 && !needsNodePort(&p.service.Spec) {
			continue
		}
		if port.NodePort == 0 || !had[port.NodePort] {
			given, err := p.give(i, port.NodePort)
			if err != nil {
				return err
			}
			port.NodePort, had[given] = given, true
		}
		is := nodePort{port.Protocol, port.NodePort}
		if has[is] {
			return refusal.Internal(fmt.Sprintf("duplicate nodePort: {%s %d}", is.protocol, is.port))
		}
		has[is] = true
	}
	return nil
}

// give returns the port that port i asks for, or, if that is 0, one that no service has. Which one depends on the names.
func (p *portOperation) give(i int, asked int32) (int32, error) {
	if asked == 0 {
		port := &p.service.Spec.Ports[i]
		given, ok := p.next(fmt.Sprint(port.Name, port.Port, port.Protocol))
		if !ok {
			return 0, apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))
		}
		return given, nil
	}
	if why := p.take(asked); why != "" {
		return 0, invalid(p.service, field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(i).Child("nodePort"), asked, why)})
	}
	return asked, nil
}

// take takes a port that a client chose, and returns why it cannot, "" if it can. In a dry run it may be one that is out of range.
// Upstream: registry/core/service/portallocator PortAllocationOperation.Allocate, v1.37.2.
func (p *portOperation) take(port int32) string {
	switch {
	case !p.dry && (port < firstNodePort || port >= firstNodePort+nodePorts):
		return "provided port is not in the valid range. The range of valid ports is 30000-32767"
	case p.ports[port] > 0 || p.own[port]:
		return "provided port is already allocated"
	}
	p.own[port] = true
	return ""
}

// next returns a port that no service has, false if there is none. Its place in the range comes from the names; if that is taken, it is the next
// free one. What the service asks for further on is not given away.
func (p *portOperation) next(name string) (int32, bool) {
	asked := map[int32]bool{p.service.Spec.HealthCheckNodePort: true}
	for _, port := range p.service.Spec.Ports {
		asked[port.NodePort] = true
	}
	sum := p.digest(0, "nodePort", keyOf(p.service), name)
	start := binary.BigEndian.Uint32(sum[:])
	for i := range uint32(nodePorts) {
		if port := int32(firstNodePort + (start+i)%nodePorts); p.ports[port] == 0 && !p.own[port] && !asked[port] {
			p.own[port] = true
			return port, true
		}
	}
	return 0, false
}

// needsHealthCheck reports whether a service has a port that says whether a node serves it.
func needsHealthCheck(spec *v1.ServiceSpec) bool {
	return spec.Type == v1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
}

// allocHealthCheckNodePort gives a service the port that says whether a node serves it.
// Upstream: registry/core/service/storage Allocators.allocHealthCheckNodePort, v1.37.2.
func (p *portOperation) allocHealthCheckNodePort() error {
	spec := &p.service.Spec
	if spec.HealthCheckNodePort != 0 {
		if why := p.take(spec.HealthCheckNodePort); why != "" {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %d: %s", spec.HealthCheckNodePort, why))
		}
		return nil
	}
	given, ok := p.next("healthCheck")
	if !ok {
		return apierrors.NewInternalError(errors.New("failed to allocate a HealthCheck NodePort 0: range is full"))
	}
	spec.HealthCheckNodePort = given
	return nil
}
