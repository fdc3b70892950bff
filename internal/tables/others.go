package tables

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// otherTables returns the tables of the kinds of networks, roles, webhooks and the rest of workloads.
// Upstream: pkg/printers/internalversion/printers.go, v1.37.2.
func otherTables() map[schema.GroupKind]table {
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	network := func(kind string) schema.GroupKind { return schema.GroupKind{Group: networkingv1.GroupName, Kind: kind} }
	hooks := func(kind string) schema.GroupKind {
		return schema.GroupKind{Group: admissionregistrationv1.GroupName, Kind: kind}
	}
	all := map[schema.GroupKind]table{
		core("PodTemplate"): listing(columns("Name", "Containers", "Images", "Pod Labels"), func(t *v1.PodTemplate, _ time.Time) []string {
			names, images := containers(t.Template.Spec)
			return []string{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
		}),
		core("ReplicationController"): listing(columns("Name", "##Desired", "##Current", "##Ready", "Age", "*Containers", "*Images", "*Selector"),
			replicationController),
		core("Service"): listing(columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "*Selector"), service),
		//nolint:staticcheck // deprecated, and served
		core("Endpoints"): listing(columns("Name", "Endpoints", "Age"), func(e *v1.Endpoints, now time.Time) []string {
			return []string{e.Name, endpointsOf(e), age(e, now)}
		}),
		{Group: discoveryv1.GroupName, Kind: "EndpointSlice"}: listing(columns("Name", "AddressType", "Ports", "Endpoints", "Age"), endpointSlice),
		{Group: batchv1.GroupName, Kind: "CronJob"}: listing(columns("Name", "Schedule", "Timezone", "?Suspend", "##Active", "Last Schedule", "Age",
			"*Containers", "*Images", "*Selector"), cronJob),
		{Group: appsv1.GroupName, Kind: "ControllerRevision"}: listing(columns("Name", "Controller", "#Revision", "Age"), controllerRevision),
		{Group: nodev1.GroupName, Kind: "RuntimeClass"}: listing(columns("Name", "Handler", "Age"), func(c *nodev1.RuntimeClass, now time.Time) []string {
			return []string{c.Name, c.Handler, age(c, now)}
		}),
		{Group: autoscalingv1.GroupName, Kind: "Scale"}: listing(columns("Name", "##Desired", "##Available", "Age"),
			func(s *autoscalingv1.Scale, now time.Time) []string {
				return []string{s.Name, fmt.Sprint(s.Spec.Replicas), fmt.Sprint(s.Status.Replicas), age(s, now)}
			}),
		network("Ingress"):      listing(columns("Name", "Class", "Hosts", "Address", "Ports", "Age"), ingress),
		network("IngressClass"): listing(columns("Name", "Controller", "Parameters", "Age"), ingressClass),
		network("NetworkPolicy"): listing(columns("Name", "Pod-Selector", "Age"), func(p *networkingv1.NetworkPolicy, now time.Time) []string {
			return []string{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), age(p, now)}
		}),
		network("IPAddress"): listing(columns("Name", "ParentRef", "Age"), func(a *networkingv1.IPAddress, now time.Time) []string {
			return []string{a.Name, parentOf(a.Spec.ParentRef), age(a, now)}
		}),
		network("ServiceCIDR"): listing(columns("Name", "CIDRs", "Age"), func(c *networkingv1.ServiceCIDR, now time.Time) []string {
			return []string{c.Name, strings.Join(c.Spec.CIDRs, ","), age(c, now)}
		}),
		hooks("ValidatingWebhookConfiguration"): listing(columns("Name", "##Webhooks", "Age"),
			func(c *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) []string {
				return []string{c.Name, fmt.Sprint(len(c.Webhooks)), age(c, now)}
			}),
		hooks("ValidatingAdmissionPolicy"): listing(columns("Name", "##Validations", "ParamKind", "Age"),
			func(policy *admissionregistrationv1.ValidatingAdmissionPolicy, now time.Time) []string {
				kind := "<unset>"
				if of := policy.Spec.ParamKind; of != nil {
					kind = of.APIVersion + "/" + of.Kind
				}
				return []string{policy.Name, fmt.Sprint(len(policy.Spec.Validations)), kind, age(policy, now)}
			}),
		hooks("ValidatingAdmissionPolicyBinding"): listing(columns("Name", "PolicyName", "ParamRef", "Age"),
			func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding, now time.Time) []string {
				return []string{b.Name, b.Spec.PolicyName, paramsOf(b.Spec.ParamRef), age(b, now)}
			}),
		hooks("MutatingWebhookConfiguration"): listing(columns("Name", "##Webhooks", "Age"),
			func(c *admissionregistrationv1.MutatingWebhookConfiguration, now time.Time) []string {
				return []string{c.Name, fmt.Sprint(len(c.Webhooks)), age(c, now)}
			}),
	}
	bindings := columns("Name", "Role", "Age", "*Users", "*Groups", "*ServiceAccounts")
	all[schema.GroupKind{Group: rbacv1.GroupName, Kind: "RoleBinding"}] = listing(bindings, func(b *rbacv1.RoleBinding, now time.Time) []string {
		return append([]string{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, age(b, now)}, subjects(b.Subjects)...)
	})
	all[schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}] = listing(bindings, func(b *rbacv1.ClusterRoleBinding, now time.Time) []string {
		return append([]string{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, age(b, now)}, subjects(b.Subjects)...)
	})
	for _, kind := range []schema.GroupKind{{Group: "rbac.authorization.k8s.io", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, {Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}, core("LimitRange")} {
		all[kind] = listing(columns("Name", "@Created At"), func(obj object, _ time.Time) []string {
			return []string{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
		})
	}
	return all
}

// Upstream: printIPAddress.
func parentOf(r *networkingv1.ParentReference) string {
	if r == nil {
		return "<none>"
	}
	name := strings.ToLower(schema.GroupResource{Group: r.Group, Resource: r.Resource}.String())
	if r.Namespace != "" {
		name += "/" + r.Namespace
	}
	return name + "/" + r.Name
}

// Upstream: printValidatingAdmissionPolicyBinding.
func paramsOf(r *admissionregistrationv1.ParamRef) string {
	switch {
	case r == nil || r.Name == "" && r.Selector == nil:
		return "<unset>"
	case r.Name == "":
		return r.Selector.String()
	}
	return cmp.Or(r.Namespace, "*") + "/" + r.Name
}

// Upstream: printReplicationController.
func replicationController(rc *v1.ReplicationController, now time.Time) []string {
	var names, images string
	if rc.Spec.Template != nil {
		names, images = containers(rc.Spec.Template.Spec)
	}
	return []string{
		rc.Name, text(rc.Spec.Replicas, "0"), fmt.Sprint(rc.Status.Replicas), fmt.Sprint(rc.Status.ReadyReplicas), age(rc, now),
		names, images, labels.FormatLabels(rc.Spec.Selector),
	}
}

// Upstream: printService.
func service(s *v1.Service, now time.Time) []string {
	ip := "<none>"
	if len(s.Spec.ClusterIPs) > 0 {
		ip = s.Spec.ClusterIPs[0]
	}
	ports := make([]string, len(s.Spec.Ports))
	for i, p := range s.Spec.Ports {
		ports[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			ports[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
	}
	return []string{s.Name, string(s.Spec.Type), ip, externalIP(s), orNone(strings.Join(ports, ",")), age(s, now), labels.FormatLabels(s.Spec.Selector)}
}

// Upstream: getServiceExternalIP.
func externalIP(s *v1.Service) string {
	switch s.Spec.Type {
	case v1.ServiceTypeClusterIP, v1.ServiceTypeNodePort:
		return orNone(strings.Join(s.Spec.ExternalIPs, ","))
	case v1.ServiceTypeLoadBalancer:
		var given []string
		for _, at := range s.Status.LoadBalancer.Ingress {
			given = append(given, cmp.Or(at.IP, at.Hostname))
		}
		return or(strings.Join(append(balancers(given), s.Spec.ExternalIPs...), ","), "<pending>")
	case v1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return "<unknown>"
}

// balancers returns addresses of a load balancer in order, each once.
// Upstream: loadBalancerStatusStringer, which without -o wide cuts the list at 16 characters.
func balancers(given []string) []string {
	slices.Sort(given)
	return slices.DeleteFunc(slices.Compact(given), func(address string) bool { return address == "" })
}

// mostListed is the number of addresses, ports or hosts that a cell lists.
const mostListed = 3

// listed joins the first items of a list, and says how many more there are.
// Upstream: listWithMoreString.
func listed(list []string) string {
	if len(list) == 0 {
		return "<unset>"
	}
	if more := len(list) - mostListed; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:mostListed], ","), more)
	}
	return strings.Join(list, ",")
}

// Upstream: formatEndpoints.
func endpointsOf(e *v1.Endpoints) string { //nolint:staticcheck // deprecated, and served
	if len(e.Subsets) == 0 {
		return "<none>"
	}
	var list []string
	for _, set := range e.Subsets {
		if len(set.Ports) == 0 { // of a headless service
			for _, at := range set.Addresses {
				list = append(list, at.IP)
			}
		}
		for _, port := range set.Ports {
			for _, at := range set.Addresses {
				list = append(list, net.JoinHostPort(at.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return listed(list)
}

// Upstream: printEndpointSlice, formatDiscoveryPorts and formatDiscoveryEndpoints.
func endpointSlice(s *discoveryv1.EndpointSlice, now time.Time) []string {
	var ports, addresses []string
	for _, p := range s.Ports {
		if p.Port != nil {
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		} else {
			ports = append(ports, text(p.Name, "*"))
		}
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return []string{s.Name, string(s.AddressType), listed(ports), listed(addresses), age(s, now)}
}

// Upstream: printCronJob.
func cronJob(c *batchv1.CronJob, now time.Time) []string {
	last := "<none>"
	if at := c.Status.LastScheduleTime; at != nil {
		last = since(at.Time, now)
	}
	suspend := "<unset>"
	if c.Spec.Suspend != nil {
		suspend = map[bool]string{true: "True", false: "False"}[*c.Spec.Suspend]
	}
	names, images := containers(c.Spec.JobTemplate.Spec.Template.Spec)
	return []string{
		c.Name, c.Spec.Schedule, text(c.Spec.TimeZone, "<none>"), suspend, fmt.Sprint(len(c.Status.Active)), last, age(c, now),
		names, images, metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector),
	}
}

// Upstream: printControllerRevision.
func controllerRevision(r *appsv1.ControllerRevision, now time.Time) []string {
	owner := "<none>"
	if ref := metav1.GetControllerOf(r); ref != nil {
		group, _, _ := strings.Cut(ref.APIVersion, "/")
		owner = strings.ToLower(schema.GroupKind{Group: group, Kind: ref.Kind}.String()) + "/" + ref.Name
		if group == ref.APIVersion { // the core group
			owner = strings.ToLower(ref.Kind) + "/" + ref.Name
		}
	}
	return []string{r.Name, owner, fmt.Sprint(r.Revision), age(r, now)}
}

// Upstream: printIngress.
func ingress(i *networkingv1.Ingress, now time.Time) []string {
	var hosts, given []string
	more := false
	for _, rule := range i.Spec.Rules {
		more = more || len(hosts) == mostListed
		if !more && rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	list := or(strings.Join(hosts, ","), "*")
	if more {
		list = fmt.Sprintf("%s + %d more...", list, len(i.Spec.Rules)-mostListed)
	}
	for _, at := range i.Status.LoadBalancer.Ingress {
		given = append(given, cmp.Or(at.IP, at.Hostname))
	}
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []string{i.Name, text(i.Spec.IngressClassName, "<none>"), list, strings.Join(balancers(given), ","), ports, age(i, now)}
}

// Upstream: printIngressClass.
func ingressClass(c *networkingv1.IngressClass, now time.Time) []string {
	name, parameters := c.Name, "<none>"
	if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
		name += " (default)"
	}
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []string{name, c.Spec.Controller, parameters, age(c, now)}
}

// subjects returns the users, groups and service accounts of a binding.
// Upstream: pkg/apis/rbac SubjectsStrings, v1.37.2.
func subjects(list []rbacv1.Subject) []string {
	var users, groups, accounts []string
	for _, s := range list {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []string{strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}
