package validation

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/internal/cron"
)

// Kinds with a few rules each.

// Leases returns the validation of leases.
// Upstream: pkg/apis/coordination/validation ValidateLease and ValidateLeaseUpdate, v1.37.
func Leases() Kind {
	return rules[*coordinationv1.Lease]{
		again: true, create: func(p *problems, lease *coordinationv1.Lease) { p.lease(&lease.Spec) },
		update: func(p *problems, lease, _ *coordinationv1.Lease) { p.lease(&lease.Spec) },
	}.kind()
}

func (p *problems) lease(spec *coordinationv1.LeaseSpec) {
	if n := spec.LeaseDurationSeconds; n != nil && *n <= 0 {
		p.invalid(specPath.Child("leaseDurationSeconds"), *n, "must be greater than 0")
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		p.invalid(specPath.Child("leaseTransitions"), *n, "must be greater than or equal to 0")
	}
	if spec.Strategy != nil {
		p.leaseStrategy(*spec.Strategy, specPath.Child("strategy"))
	}
	if spec.PreferredHolder != nil && *spec.PreferredHolder != "" && (spec.Strategy == nil || *spec.Strategy == "") {
		p.forbidden(specPath.Child("preferredHolder"), "may only be specified if `strategy` is defined")
	}
}

// leaseStrategy. Upstream: pkg/apis/coordination/validation ValidateCoordinatedLeaseStrategy, v1.37, also for the path.
func (p *problems) leaseStrategy(strategy coordinationv1.CoordinatedLeaseStrategy, at *field.Path) {
	at = at.Child("strategy")
	switch {
	case strings.Contains(string(strategy), "/"):
		p.qualifiedName(string(strategy), at)
	case strategy != coordinationv1.OldestEmulationVersion:
		p.add(field.NotSupported(at, strategy, []coordinationv1.CoordinatedLeaseStrategy{coordinationv1.OldestEmulationVersion}))
	}
}

// PriorityClasses returns the validation of priorityclasses.
// Upstream: pkg/apis/scheduling/validation ValidatePriorityClass and ValidatePriorityClassUpdate, v1.37.
func PriorityClasses() Kind {
	return rules[*schedulingv1.PriorityClass]{
		again: true,
		create: func(p *problems, class *schedulingv1.PriorityClass) {
			switch {
			case strings.HasPrefix(class.Name, "system-"):
				if text := systemPriority(class); text != "" {
					p.forbidden(metadataPath.Child("name"), "priority class names with 'system-' prefix are reserved for system use only. error: "+text)
				}
			case class.Value > highestPriority:
				p.forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", highestPriority))
			}
			p.preemptionPolicy(class.PreemptionPolicy, field.NewPath("preemptionPolicy"))
		},
		update: func(p *problems, class, old *schedulingv1.PriorityClass) {
			if class.Value != old.Value {
				p.forbidden(field.NewPath("value"), "may not be changed in an update.")
			}
			p.immutable(class.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))
		},
	}.kind()
}

// highestPriority is the highest priority of a class that is not the system's.
const highestPriority = 1_000_000_000

// systemPriority says why a class is none of the system's; empty for those.
// Upstream: pkg/apis/scheduling/v1 IsKnownSystemPriorityClass, v1.37.
func systemPriority(class *schedulingv1.PriorityClass) string {
	value := int32(0)
	switch class.Name {
	case "system-node-critical":
		value = 2_000_001_000
	case "system-cluster-critical":
		value = 2_000_000_000
	default:
		return class.Name + " is not a known system priority class"
	}
	switch {
	case class.Value != value:
		return fmt.Sprintf("value of %s PriorityClass must be %d", class.Name, value)
	case class.GlobalDefault:
		return fmt.Sprintf("globalDefault of %s PriorityClass must be false", class.Name)
	}
	return ""
}

// preemptionPolicy. Upstream: core/validation ValidatePreemptionPolicy, v1.37.
func (p *problems) preemptionPolicy(policy *v1.PreemptionPolicy, at *field.Path) {
	switch {
	case policy == nil || *policy == v1.PreemptLowerPriority || *policy == v1.PreemptNever:
	case *policy == "":
		p.required(at, "")
	default:
		p.add(field.NotSupported(at, *policy, []v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}))
	}
}

// DisruptionBudgets returns the validation of poddisruptionbudgets.
// Upstream: pkg/apis/policy/validation ValidatePodDisruptionBudgetSpec and ValidatePodDisruptionBudgetStatusUpdate, v1.37.
func DisruptionBudgets() Kind {
	return rules[*policyv1.PodDisruptionBudget]{
		again:  true,
		create: func(p *problems, budget *policyv1.PodDisruptionBudget) { p.disruptionBudget(&budget.Spec) },
		update: func(p *problems, budget, _ *policyv1.PodDisruptionBudget) { p.disruptionBudget(&budget.Spec) },
		status: func(p *problems, budget, _ *policyv1.PodDisruptionBudget) {
			status := &budget.Status
			p.add(metavalidation.ValidateConditions(status.Conditions, statusPath.Child("conditions"))...)
			p.notNegative(int64(status.DisruptionsAllowed), statusPath, "disruptionsAllowed")
			p.notNegative(int64(status.CurrentHealthy), statusPath, "currentHealthy")
			p.notNegative(int64(status.DesiredHealthy), statusPath, "desiredHealthy")
			p.notNegative(int64(status.ExpectedPods), statusPath, "expectedPods")
		},
	}.kind()
}

// internalBudget has the form that messages show.
type internalBudget struct {
	MinAvailable               *intstr.IntOrString
	Selector                   *metav1.LabelSelector
	MaxUnavailable             *intstr.IntOrString
	UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
}

func (p *problems) disruptionBudget(spec *policyv1.PodDisruptionBudgetSpec) {
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		p.invalid(specPath, internalBudget{spec.MinAvailable, spec.Selector, spec.MaxUnavailable, spec.UnhealthyPodEvictionPolicy},
			"minAvailable and maxUnavailable cannot be both set")
	}
	p.share(spec.MinAvailable, true, specPath.Child("minAvailable"))
	p.share(spec.MaxUnavailable, true, specPath.Child("maxUnavailable"))
	p.labelSelector(spec.Selector, specPath.Child("selector"))
	known := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
	if policy := spec.UnhealthyPodEvictionPolicy; policy != nil && !slices.Contains(known, *policy) {
		p.add(field.NotSupported(specPath.Child("unhealthyPodEvictionPolicy"), *policy, known))
	}
}

// EndpointSlices returns the validation of endpointslices.
// Upstream: pkg/apis/discovery/validation ValidateEndpointSlice and ValidateEndpointSliceUpdate, v1.37.
func EndpointSlices() Kind {
	return rules[*discoveryv1.EndpointSlice]{
		create: func(p *problems, slice *discoveryv1.EndpointSlice) { p.endpointSlice(slice, nil) },
		update: func(p *problems, slice, old *discoveryv1.EndpointSlice) {
			p.endpointSlice(slice, old)
			p.fixed(slice.AddressType, old.AddressType, field.NewPath("addressType"))
		},
	}.kind()
}

// The most that an EndpointSlice may have.
const (
	mostEndpoints = 1000
	mostAddresses = 100
	mostPorts     = 20000
	mostTopology  = 16
	mostHints     = 8
)

func (p *problems) endpointSlice(slice, old *discoveryv1.EndpointSlice) {
	types := []discoveryv1.AddressType{discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	switch at := field.NewPath("addressType"); {
	case slice.AddressType == "":
		p.required(at, "")
	case !slices.Contains(types, slice.AddressType):
		p.add(field.NotSupported(at, slice.AddressType, types))
	}
	p.slicePorts(slice.Ports, field.NewPath("ports"))
	before := len(p.list)
	p.sliceEndpoints(slice.Endpoints, slice.AddressType, field.NewPath("endpoints"))
	if len(p.list) > before && old != nil && equality.Semantic.DeepEqual(old.Endpoints, slice.Endpoints) {
		p.list = p.list[:before] // an older release took them
	}
}

func (p *problems) slicePorts(ports []discoveryv1.EndpointPort, path *field.Path) {
	if len(ports) > mostPorts {
		p.add(field.TooMany(path, len(ports), mostPorts))
		return
	}
	seen := map[string]bool{}
	for i, port := range ports {
		at, name := path.Index(i), ""
		if port.Name != nil {
			name = *port.Name
		}
		if name != "" {
			p.dnsLabel(name, at.Child("name"))
		}
		if seen[name] {
			p.duplicate(at.Child("name"), name)
		}
		seen[name] = true
		p.protocol(port.Protocol, at.Child("protocol"))
		if port.AppProtocol != nil {
			p.qualifiedName(*port.AppProtocol, at.Child("appProtocol"))
		}
	}
}

func (p *problems) protocol(protocol *v1.Protocol, at *field.Path) {
	known := []v1.Protocol{v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP}
	switch {
	case protocol == nil:
		p.required(at, "")
	case !slices.Contains(known, *protocol):
		p.add(field.NotSupported(at, *protocol, known))
	}
}

func (p *problems) sliceEndpoints(endpoints []discoveryv1.Endpoint, kind discoveryv1.AddressType, path *field.Path) {
	if len(endpoints) > mostEndpoints {
		p.add(field.TooMany(path, len(endpoints), mostEndpoints))
		return
	}
	for i := range endpoints {
		e, at := &endpoints[i], path.Index(i)
		switch {
		case len(e.Addresses) == 0:
			p.required(at.Child("addresses"), "must contain at least 1 address")
		case len(e.Addresses) > mostAddresses:
			p.add(field.TooMany(at.Child("addresses"), len(e.Addresses), mostAddresses))
		}
		for j, address := range e.Addresses {
			p.sliceAddress(address, kind, at.Child("addresses"), j)
		}
		if e.NodeName != nil {
			p.messages(at.Child("nodeName"), *e.NodeName, apivalidation.NameIsDNSSubdomain(*e.NodeName, false))
		}
		if n := len(e.DeprecatedTopology); n > mostTopology {
			p.add(field.TooMany(at.Child("deprecatedTopology"), n, mostTopology))
		}
		p.labels(e.DeprecatedTopology, at.Child("deprecatedTopology"))
		if e.Hostname != nil {
			p.dnsLabel(*e.Hostname, at.Child("hostname"))
		}
		if e.Hints != nil {
			p.hints(e.Hints, at.Child("hints"))
		}
	}
}

func (p *problems) sliceAddress(address string, kind discoveryv1.AddressType, list *field.Path, i int) {
	at := list.Index(i)
	var errs field.ErrorList
	switch kind {
	case discoveryv1.AddressTypeIPv4:
		errs = validation.IsValidIPForLegacyField(at, address, true, nil)
		if len(errs) == 0 && !netutils.IsIPv4String(address) {
			p.invalid(list, address, "must be an IPv4 address")
		}
	case discoveryv1.AddressTypeIPv6:
		errs = validation.IsValidIP(at, address)
		if len(errs) == 0 && !netutils.IsIPv6String(address) {
			p.invalid(list, address, "must be an IPv6 address")
		}
	case discoveryv1.AddressTypeFQDN:
		p.add(validation.IsFullyQualifiedDomainName(at, address)...)
		return
	default:
		return
	}
	p.add(errs...)
	if len(errs) == 0 {
		p.endpointIP(address, at)
	}
}

// endpointIP refuses an address that is for special use.
// Upstream: core/validation ValidateEndpointIP, v1.37.
func (p *problems) endpointIP(address string, at *field.Path) {
	ip := netutils.ParseIPSloppy(address)
	if ip == nil {
		p.invalid(at, address, "must be a valid IP address")
		return
	}
	if ip.IsUnspecified() {
		p.invalid(at, address, fmt.Sprintf("may not be unspecified (%v)", address))
	}
	if ip.IsLoopback() {
		p.invalid(at, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	}
	if ip.IsLinkLocalUnicast() {
		p.invalid(at, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	}
	if ip.IsLinkLocalMulticast() {
		p.invalid(at, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}

func (p *problems) hints(hints *discoveryv1.EndpointHints, at *field.Path) {
	zones := at.Child("forZones")
	if n := len(hints.ForZones); n > mostHints {
		p.add(field.TooMany(zones, n, mostHints))
		return
	}
	seen := map[string]bool{}
	for i, zone := range hints.ForZones {
		if seen[zone.Name] {
			p.duplicate(zones.Index(i).Child("name"), zone.Name)
		}
		seen[zone.Name] = true
		if !isLabelValue(zone.Name) {
			p.messages(zones.Index(i).Child("name"), zone.Name, validation.IsValidLabelValue(zone.Name))
		}
	}
	nodes := at.Child("forNodes")
	if n := len(hints.ForNodes); n > mostHints {
		p.add(field.TooMany(nodes, n, mostHints))
		return
	}
	clear(seen)
	for i, node := range hints.ForNodes {
		if seen[node.Name] {
			p.duplicate(nodes.Index(i).Child("name"), node.Name)
		}
		seen[node.Name] = true
		p.messages(nodes.Index(i).Child("name"), node.Name, apivalidation.NameIsDNSSubdomain(node.Name, false))
	}
}

// CronJobs returns the validation of cronjobs. Of the template of its Jobs the template of pods is validated.
// Upstream: pkg/apis/batch/validation ValidateCronJobCreate and ValidateCronJobUpdate, v1.37.
func CronJobs() Kind {
	return rules[*batchv1.CronJob]{
		create: func(p *problems, job *batchv1.CronJob) {
			p.cronJob(&job.Spec, nil)
			const most = 52 // a Job's name has eleven more
			if len(job.Name) > most {
				p.invalid(metadataPath.Child("name"), job.Name, "must be no more than 52 characters")
			}
		},
		update: func(p *problems, job, old *batchv1.CronJob) { p.cronJob(&job.Spec, &old.Spec) },
	}.kind()
}

func (p *problems) cronJob(spec, old *batchv1.CronJobSpec) {
	at := specPath.Child("schedule")
	zoned := old != nil && strings.Contains(old.Schedule, "TZ")
	if spec.Schedule == "" {
		p.required(at, "")
	} else {
		if _, err := cron.Parse(spec.Schedule); err != nil {
			p.invalid(at, spec.Schedule, err.Error())
		}
		switch {
		case !strings.Contains(spec.Schedule, "TZ"):
		case !zoned:
			p.invalid(at, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
		case spec.TimeZone != nil:
			p.invalid(at, spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
		}
	}
	if s := spec.StartingDeadlineSeconds; s != nil {
		p.notNegative(*s, specPath, "startingDeadlineSeconds")
	}
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if !slices.Contains(policies, spec.ConcurrencyPolicy) {
		p.add(field.NotSupported(specPath.Child("concurrencyPolicy"), spec.ConcurrencyPolicy, policies))
	}
	template := specPath.Child("jobTemplate", "spec", "template")
	p.template(&spec.JobTemplate.Spec.Template, template)
	switch policy := spec.JobTemplate.Spec.Template.Spec.RestartPolicy; policy {
	case v1.RestartPolicyOnFailure, v1.RestartPolicyNever:
	case v1.RestartPolicyAlways, "":
		p.required(template.Child("spec", "restartPolicy"), `valid values: "OnFailure", "Never"`)
	default:
		p.add(field.NotSupported(template.Child("spec", "restartPolicy"), policy, []v1.RestartPolicy{v1.RestartPolicyOnFailure, v1.RestartPolicyNever}))
	}
	p.count(spec.SuccessfulJobsHistoryLimit, "successfulJobsHistoryLimit")
	p.count(spec.FailedJobsHistoryLimit, "failedJobsHistoryLimit")
}
