// Package services gives services their addresses and the ports of nodes. Begin at [Allocator.Allocate].
package services

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
)

// Services get an address each, and ports of nodes, from the ranges that kubeadm gives a cluster: 10.96.0.0/12 and 30000-32767. Nothing
// listens there. Which of them depends on the name, so that it is the same in each run.

// The range of addresses that are given out: the first 256 are for those that clients choose.
const (
	firstAddress = 10<<24 | 96<<16 | 256
	addresses    = 1<<20 - 257
)

// Allocate gives a service the addresses and ports that it needs and does not have. old is the service that it replaces, nil if it is new. In a
// dry run another service may have the addresses.
// Upstream: registry/core/service/storage REST.beginCreate, beginUpdate and Allocators.initIPFamilyFields, v1.37.
// It returns what it has reserved for the service, nil if that is nothing: the caller releases it once the service is stored.
func (a *Allocator) Allocate(service, old *v1.Service, dry bool) (reserved *v1.Service, err error) {
	spec := &service.Spec
	if old != nil {
		keepAllocated(spec, &old.Spec)
	}
	pairAddresses(spec, old)
	if spec.Type == v1.ServiceTypeExternalName {
		dropPolicy(spec)
		return nil, nil
	}
	errs := cluster.ClusterIPs(spec, old)
	if len(errs) == 0 {
		errs = families(spec, old)
	}
	if len(errs) > 0 {
		return nil, invalid(service, errs)
	}
	return a.reserve(service, old, dry)
}

// dropPolicy drops a good policy that means nothing for services with an external name.
// Upstream: registry/core/service/storage defaultOnReadInternalTrafficPolicy, v1.37.2.
func dropPolicy(spec *v1.ServiceSpec) {
	if policy := spec.InternalTrafficPolicy; policy != nil &&
		(*policy == v1.ServiceInternalTrafficPolicyCluster || *policy == v1.ServiceInternalTrafficPolicyLocal) {
		spec.InternalTrafficPolicy = nil
	}
}

// invalid returns the error for a service that cannot have what it asks for.
func invalid(service *v1.Service, errs field.ErrorList) error {
	return refusal.Invalid(v1.SchemeGroupVersion.WithKind("Service").GroupKind(), service.Name, errs)
}

// reserve gives a service addresses and ports that no other has, and keeps them for it until Release.
// Upstream: registry/core/service/storage Allocators.allocateCreate and allocateUpdate, v1.37.
func (a *Allocator) reserve(service, old *v1.Service, dry bool) (*v1.Service, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	spec, first := &service.Spec, true
	if old != nil {
		first = len(old.Spec.ClusterIPs) == 0 // a change of an address is refused by validation
		a.count(old, -1)
		defer a.count(old, 1)
	}
	if spec.ClusterIP == "" && len(spec.ClusterIPs) == 0 {
		for range spec.IPFamilies {
			spec.ClusterIPs = append(spec.ClusterIPs, a.address(keyOf(service), spec.ClusterIPs))
		}
		if len(spec.ClusterIPs) > 0 {
			spec.ClusterIP = spec.ClusterIPs[0]
		}
	} else if first && spec.ClusterIP != v1.ClusterIPNone {
		for _, ip := range spec.ClusterIPs {
			if why := a.refuses(ip, dry); why != "" {
				return nil, invalid(service, field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), spec.ClusterIPs,
					fmt.Sprintf("failed to allocate IP %s: %s", ip, why))})
			}
		}
	}
	if err := a.allocatePorts(service, old, dry); err != nil {
		return nil, err
	}
	reserved := &v1.Service{Spec: v1.ServiceSpec{
		ClusterIPs: slices.Clone(spec.ClusterIPs), Ports: slices.Clone(spec.Ports), HealthCheckNodePort: spec.HealthCheckNodePort,
	}}
	a.count(reserved, 1)
	return reserved, nil
}

// refuses returns why a service cannot have an address that a client chose, "" if it can. The caller holds the lock. A ServiceCIDR adds a range from
// when it is stored: upstream takes one without a condition for ready.
// Upstream: registry/core/service/ipallocator MetaAllocator.AllocateService and DryRun, Allocator.allocateService, v1.37.2.
func (a *Allocator) refuses(ip string, dry bool) string {
	addr, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(ip))
	addr = addr.Unmap()
	within := kubeadms()
	outside, usable := !within.Contains(addr), holds(within, addr)
	for added := range a.ranges { // in any order: each is asked
		outside = outside && !added.Contains(addr)
		usable = usable || holds(added, addr)
	}
	switch {
	case outside && !dry:
		return "the provided network does not match the current range"
	case !usable:
		return fmt.Sprintf("the provided IP (%v) is not in the valid range. The range of valid IPs is %v", addr, within)
	case a.addresses[ip] > 0 && !dry:
		return "provided IP is already allocated"
	}
	return ""
}

// kubeadms returns the range of addresses that kubeadm gives a cluster.
func kubeadms() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96}), 12) }

// holds reports whether an address is one of a range's, whose first and last are given to no service.
func holds(within netip.Prefix, addr netip.Addr) bool {
	return within.Contains(addr) && within.Contains(addr.Prev()) && within.Contains(addr.Next())
}

// Release ends what Allocate has kept, which may be nil: what a stored service has is counted with the service.
func (a *Allocator) Release(reserved *v1.Service) {
	if reserved != nil {
		a.Replace(reserved, nil)
	}
}

// keepAllocated fills in what the service has already, where the client left it out, and takes away what its type does not need any more.
// Upstream: registry/core/service patchAllocatedValues and dropTypeDependentFields, v1.37.2.
func keepAllocated(spec, old *v1.ServiceSpec) {
	needsIP := func(s *v1.ServiceSpec) bool { return s.Type != v1.ServiceTypeExternalName }
	switch {
	case needsIP(old) && needsIP(spec):
		if spec.ClusterIP == "" {
			spec.ClusterIP = old.ClusterIP
		}
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = slices.Clone(old.ClusterIPs)
		}
	case needsIP(old):
		if slices.Equal(spec.ClusterIPs, old.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if slices.Equal(spec.IPFamilies, old.IPFamilies) {
			spec.IPFamilies = nil
		}
		if spec.IPFamilyPolicy != nil && old.IPFamilyPolicy != nil && *spec.IPFamilyPolicy == *old.IPFamilyPolicy {
			spec.IPFamilyPolicy = nil
		}
	}
	byName := map[string]int32{}
	for _, port := range old.Ports {
		byName[port.Name] = port.NodePort
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		switch {
		case needsNodePort(old) && needsNodePort(spec) && port.NodePort == 0:
			port.NodePort = byName[port.Name]
		case needsNodePort(old) && !needsNodePort(spec) && port.NodePort == byName[port.Name]:
			port.NodePort = 0
		}
	}
	balances := func(s *v1.ServiceSpec) bool { return s.Type == v1.ServiceTypeLoadBalancer }
	if balances(old) && !balances(spec) { // what else a client asks for is refused
		if validation.SamePtr(spec.AllocateLoadBalancerNodePorts, old.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if validation.SamePtr(spec.LoadBalancerClass, old.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	if reachable(old) && !reachable(spec) && spec.ExternalTrafficPolicy == old.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if !balances(spec) || spec.ExternalTrafficPolicy != v1.ServiceExternalTrafficPolicyLocal {
		if spec.HealthCheckNodePort == old.HealthCheckNodePort {
			spec.HealthCheckNodePort = 0
		}
	} else if spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = old.HealthCheckNodePort
	}
}

func needsNodePort(spec *v1.ServiceSpec) bool {
	return spec.Type == v1.ServiceTypeNodePort ||
		spec.Type == v1.ServiceTypeLoadBalancer && (spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts)
}

// reachable reports whether a service can be reached from outside of the cluster.
func reachable(spec *v1.ServiceSpec) bool {
	return spec.Type == v1.ServiceTypeLoadBalancer || spec.Type == v1.ServiceTypeNodePort || spec.Type == v1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

// pairAddresses gives a service that names one address only, as old clients do, the list of its addresses.
// Upstream: registry/core/service/storage normalizeClusterIPs, v1.37.
func pairAddresses(spec *v1.ServiceSpec, old *v1.Service) {
	if old == nil {
		if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
		return
	}
	if spec.ClusterIP == old.Spec.ClusterIP || !slices.Equal(spec.ClusterIPs, old.Spec.ClusterIPs) {
		return
	}
	spec.ClusterIPs = nil
	if spec.ClusterIP != "" {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
}

// families completes which families of addresses a service has. The cluster has IPv4 only.
// Upstream: registry/core/service/storage Allocators.initIPFamilyFields, v1.37.
func families(spec *v1.ServiceSpec, old *v1.Service) (errs field.ErrorList) {
	bare := spec.ClusterIP == v1.ClusterIPNone && len(spec.Selector) == 0
	if spec.IPFamilyPolicy == nil {
		policy := v1.IPFamilyPolicySingleStack
		switch {
		case old != nil && old.Spec.IPFamilyPolicy != nil:
			policy = *old.Spec.IPFamilyPolicy
		case bare:
			policy = v1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
	policyAt := field.NewPath("spec", "ipFamilyPolicy")
	if *spec.IPFamilyPolicy == v1.IPFamilyPolicySingleStack {
		const both = "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
		if len(spec.ClusterIPs) == 2 {
			errs = append(errs, field.Invalid(policyAt, spec.IPFamilyPolicy, both+"cluster IPs are specified"))
		}
		if len(spec.IPFamilies) == 2 {
			errs = append(errs, field.Invalid(policyAt, spec.IPFamilyPolicy, both+"IP families are specified"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if bare {
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
		}
		if len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != v1.IPFamilyPolicySingleStack {
			other := v1.IPv6Protocol
			if spec.IPFamilies[0] == other {
				other = v1.IPv4Protocol
			}
			spec.IPFamilies = append(spec.IPFamilies, other)
		}
		return nil
	}
	for i, ip := range spec.ClusterIPs {
		if i >= len(spec.IPFamilies) && ip != v1.ClusterIPNone && netutils.IsIPv6String(ip) {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), spec.ClusterIPs, "IPv6 is not configured on this cluster")}
		}
	}
	if *spec.IPFamilyPolicy == v1.IPFamilyPolicyRequireDualStack {
		errs = append(errs, field.Invalid(policyAt, spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range spec.IPFamilies {
		if family == v1.IPv6Protocol {
			errs = append(errs, field.Invalid(field.NewPath("spec", "ipFamilies").Index(i), family, "not configured on this cluster"))
		}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	}
	return errs
}

// Allocator counts how often services have each address and each port of the nodes, and which ranges of addresses ServiceCIDRs add. It is safe
// for concurrent use.
type Allocator struct {
	digest func(n uint64, parts ...string) [32]byte

	mu        sync.Mutex
	addresses map[string]int
	ports     map[int32]int
	ranges    map[netip.Prefix]int
}

// New returns an allocator that has given out nothing. What it gives out depends on the digest of names.
func New(digest func(n uint64, parts ...string) [32]byte) *Allocator {
	return &Allocator{digest: digest, addresses: map[string]int{}, ports: map[int32]int{}, ranges: map[netip.Prefix]int{}}
}

// Replace counts what a stored object has that takes the place of another; either may be nil. Only services and ServiceCIDRs have anything.
func (a *Allocator) Replace(old, obj runtime.Object) {
	if !counts(old) && !counts(obj) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.countAny(old, -1)
	a.countAny(obj, 1)
}

// counts reports whether an object has addresses, ports or ranges.
func counts(obj runtime.Object) bool {
	switch obj.(type) {
	case *v1.Service, *networkingv1.ServiceCIDR:
		return true
	}
	return false
}

// countAny adds what an object has as many times as by says. The caller holds the lock.
func (a *Allocator) countAny(obj runtime.Object, by int) {
	switch obj := obj.(type) {
	case *v1.Service:
		a.count(obj, by)
	case *networkingv1.ServiceCIDR:
		if obj.DeletionTimestamp != nil || !ready(obj) {
			return
		}
		for _, cidr := range obj.Spec.CIDRs {
			if within, err := netip.ParsePrefix(cidr); err == nil {
				add(a.ranges, within, by)
			}
		}
	}
}

// ready reports whether services may have addresses of a ServiceCIDR.
// Upstream: registry/core/service/ipallocator isReady, v1.37.2.
func ready(obj *networkingv1.ServiceCIDR) bool {
	for _, c := range obj.Status.Conditions {
		if c.Type == networkingv1.ServiceCIDRConditionReady {
			return c.Status == metav1.ConditionTrue
		}
	}
	return true
}

// count adds what a service has as many times as by says. The caller holds the lock.
func (a *Allocator) count(service *v1.Service, by int) {
	for _, ip := range service.Spec.ClusterIPs {
		if ip != v1.ClusterIPNone {
			add(a.addresses, ip, by)
		}
	}
	for _, port := range service.Spec.Ports {
		add(a.ports, port.NodePort, by)
	}
	add(a.ports, service.Spec.HealthCheckNodePort, by)
}

// add counts in a map that holds what is there; the zero value, such as no port, does not count.
func add[K comparable](counts map[K]int, k K, by int) {
	var none K
	if k == none {
		return
	}
	if counts[k] += by; counts[k] == 0 {
		delete(counts, k)
	}
}

// keyOf returns the key of a service in the store.
func keyOf(service *v1.Service) string { return service.Namespace + "/" + service.Name }

// address returns an address that no service has, and that is not among own. Its place in the range comes from the name; if that is taken, it is
// the next free one.
func (a *Allocator) address(name string, own []string) string {
	sum := a.digest(0, "address", name)
	for i := binary.BigEndian.Uint32(sum[:]); ; i++ {
		n := firstAddress + i%addresses
		if ip := fmt.Sprintf("%d.%d.%d.%d", n>>24, n>>16&255, n>>8&255, n&255); a.addresses[ip] == 0 && !slices.Contains(own, ip) {
			return ip
		}
	}
}
