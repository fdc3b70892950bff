package registry

import (
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
	"github.com/storagesim/storagesim/api/internal/validation/workloads"
	"github.com/storagesim/storagesim/api/internal/warnings"
	"github.com/storagesim/storagesim/api/views"
)

// eventTTL is the time that kube-apiserver keeps an event, without its flag --event-ttl.
const eventTTL = time.Hour

// coreKinds returns the kinds of the group without a name.
func coreKinds() []Kind {
	return in(v1.SchemeGroupVersion,
		Kind{Kind: "ComponentStatus", ShortNames: names("cs"), ClusterScoped: true, Verbs: metav1.Verbs{"get", "list"}},
		Kind{Kind: "ConfigMap", ShortNames: names("cm"), Validation: cluster.ConfigMaps()},
		Kind{Kind: "Endpoints", CreatesOnUpdate: true, ShortNames: names("ep"), Strategy: strategy.Endpoints(), Validation: cluster.Endpoints(),
			Warnings: warnings.Endpoints()},
		Kind{Kind: "Event", TTL: eventTTL, CreatesOnUpdate: true, ShortNames: names("ev"), Validation: cluster.Events(), Fields: eventFields()},
		Kind{
			Kind: "LimitRange", CreatesOnUpdate: true, ShortNames: names("limits"),
			Strategy: strategy.LimitRanges(), Validation: cluster.LimitRanges(),
		},
		Kind{
			Kind: "Namespace", AnswersDeleted: true, ShortNames: names("ns"), ClusterScoped: true, Verbs: oneByOne,
			Strategy: strategy.Namespaces(), Validation: cluster.Namespaces(),
			Fields:       Selectable{"status.phase": of(func(ns *v1.Namespace) string { return string(ns.Status.Phase) })},
			Subresources: views.NamespaceSubresources(),
		},
		Kind{
			Kind: "Node", ShortNames: names("no"), ClusterScoped: true,
			Strategy: strategy.Nodes(), Validation: cluster.Nodes(), Warnings: warnings.Nodes(),
			Fields:       Selectable{"spec.unschedulable": of(func(node *v1.Node) string { return strconv.FormatBool(node.Spec.Unschedulable) })},
			Subresources: views.NodeSubresources(),
		},
		Kind{
			Kind: "PersistentVolumeClaim", AnswersDeleted: true, ShortNames: names("pvc"),
			Strategy: strategy.Claims(), Validation: storage.Claims(), Warnings: warnings.Claims(),
		},
		Kind{
			Kind: "PersistentVolume", AnswersDeleted: true, ShortNames: names("pv"), ClusterScoped: true,
			Strategy: strategy.Volumes(), Validation: storage.Volumes(), Warnings: warnings.Volumes(),
		},
		Kind{
			Kind: "Pod", AnswersDeleted: true, ShortNames: names("po"), Categories: inAll(), Generations: true,
			StatusKeeps: names("metadata.deletionTimestamp", "metadata.ownerReferences"),
			Strategy:    strategy.Pods(), Validation: pods.Pods(), Warnings: warnings.Pods(), Fields: podFields(),
			Subresources: views.PodSubresources(),
		},
		Kind{Kind: "PodTemplate", AnswersDeleted: true, Generations: true, AllCounts: true, Strategy: strategy.PodTemplates(), Validation: workloads.PodTemplates(),
			Warnings: warnings.PodTemplates()},
		Kind{
			Kind: "ReplicationController", ShortNames: names("rc"), Categories: inAll(), Generations: true,
			Strategy: strategy.ReplicationControllers(), Validation: workloads.ReplicationControllers(), Warnings: warnings.ReplicationControllers(),
			Subresources: views.ControllerScale(),
			Fields:       Selectable{"status.replicas": of(func(rc *v1.ReplicationController) string { return itoa(rc.Status.Replicas) })},
		},
		Kind{Kind: "ResourceQuota", AnswersDeleted: true, ShortNames: names("quota"), Validation: cluster.ResourceQuotas(), Warnings: warnings.ResourceQuotas()},
		Kind{
			Kind: "Secret", Strategy: strategy.Secrets(), Validation: cluster.Secrets(), Warnings: warnings.Secrets(),
			Fields: Selectable{"type": of(func(secret *v1.Secret) string { return string(secret.Type) })},
		},
		Kind{Kind: "ServiceAccount", AnswersDeleted: true, ShortNames: names("sa"), Strategy: strategy.ServiceAccounts(), Validation: cluster.ServiceAccounts(),
			Subresources: views.AccountSubresources()},
		Kind{
			Kind: "Service", AnswersDeleted: true, CreatesOnUpdate: true, ShortNames: names("svc"), Categories: inAll(),
			Strategy: strategy.Services(), Validation: cluster.Services(), Warnings: warnings.Services(),
			Fields: Selectable{
				"spec.clusterIP": of(func(s *v1.Service) string { return s.Spec.ClusterIP }),
				"spec.type":      of(func(s *v1.Service) string { return string(s.Spec.Type) }),
			},
			Subresources: views.ServiceSubresources(),
		},
	)
}

// Selectable holds the fields that objects can be selected by.
// Upstream: AddFieldLabelConversionsFor* in pkg/apis/*/v1/conversion.go, v1.37.
type Selectable = map[string]func(runtime.Object) string

// of reads a field of objects of one type.
func of[T runtime.Object](get func(T) string) func(runtime.Object) string {
	return func(obj runtime.Object) string { return get(obj.(T)) }
}

func podFields() Selectable {
	return Selectable{
		"spec.host":                of(func(p *v1.Pod) string { return p.Spec.NodeName }), // its older name
		"spec.nodeName":            of(func(p *v1.Pod) string { return p.Spec.NodeName }),
		"spec.restartPolicy":       of(func(p *v1.Pod) string { return string(p.Spec.RestartPolicy) }),
		"spec.schedulerName":       of(func(p *v1.Pod) string { return p.Spec.SchedulerName }),
		"spec.serviceAccountName":  of(func(p *v1.Pod) string { return p.Spec.ServiceAccountName }),
		"spec.hostNetwork":         of(func(p *v1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) }),
		"status.phase":             of(func(p *v1.Pod) string { return string(p.Status.Phase) }),
		"status.podIP":             of(func(p *v1.Pod) string { return p.Status.PodIP }),
		"status.podIPs":            of(func(p *v1.Pod) string { return p.Status.PodIP }),
		"status.nominatedNodeName": of(func(p *v1.Pod) string { return p.Status.NominatedNodeName }),
	}
}

func eventFields() Selectable {
	return Selectable{
		"involvedObject.kind":            of(func(e *v1.Event) string { return e.InvolvedObject.Kind }),
		"involvedObject.namespace":       of(func(e *v1.Event) string { return e.InvolvedObject.Namespace }),
		"involvedObject.name":            of(func(e *v1.Event) string { return e.InvolvedObject.Name }),
		"involvedObject.uid":             of(func(e *v1.Event) string { return string(e.InvolvedObject.UID) }),
		"involvedObject.apiVersion":      of(func(e *v1.Event) string { return e.InvolvedObject.APIVersion }),
		"involvedObject.resourceVersion": of(func(e *v1.Event) string { return e.InvolvedObject.ResourceVersion }),
		"involvedObject.fieldPath":       of(func(e *v1.Event) string { return e.InvolvedObject.FieldPath }),
		"reason":                         of(func(e *v1.Event) string { return e.Reason }),
		"reportingComponent":             of(func(e *v1.Event) string { return e.ReportingController }),
		"source":                         of(eventSource),
		"type":                           of(func(e *v1.Event) string { return e.Type }),
	}
}

func eventSource(e *v1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
