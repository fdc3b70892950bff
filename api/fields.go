package api

import (
	"reflect"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
)

// selectable are the fields that objects of a type can be selected by, besides
// metadata.name and metadata.namespace, with how to read them.
// Upstream: AddFieldLabelConversionsFor* in pkg/apis/*/v1/conversion.go, v1.36.
var selectable = map[reflect.Type]map[string]func(object) string{
	reflect.TypeFor[v1.Pod](): {
		fieldNodeName:              podField(func(p *v1.Pod) string { return p.Spec.NodeName }),
		"spec.restartPolicy":       podField(func(p *v1.Pod) string { return string(p.Spec.RestartPolicy) }),
		"spec.schedulerName":       podField(func(p *v1.Pod) string { return p.Spec.SchedulerName }),
		"spec.serviceAccountName":  podField(func(p *v1.Pod) string { return p.Spec.ServiceAccountName }),
		"spec.hostNetwork":         podField(func(p *v1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) }),
		"status.phase":             podField(func(p *v1.Pod) string { return string(p.Status.Phase) }),
		"status.podIP":             podField(func(p *v1.Pod) string { return p.Status.PodIP }),
		"status.podIPs":            podField(func(p *v1.Pod) string { return p.Status.PodIP }),
		"status.nominatedNodeName": podField(func(p *v1.Pod) string { return p.Status.NominatedNodeName }),
	},
	reflect.TypeFor[v1.Event](): {
		"involvedObject.kind":            eventField(func(e *v1.Event) string { return e.InvolvedObject.Kind }),
		"involvedObject.namespace":       eventField(func(e *v1.Event) string { return e.InvolvedObject.Namespace }),
		"involvedObject.name":            eventField(func(e *v1.Event) string { return e.InvolvedObject.Name }),
		"involvedObject.uid":             eventField(func(e *v1.Event) string { return string(e.InvolvedObject.UID) }),
		"involvedObject.apiVersion":      eventField(func(e *v1.Event) string { return e.InvolvedObject.APIVersion }),
		"involvedObject.resourceVersion": eventField(func(e *v1.Event) string { return e.InvolvedObject.ResourceVersion }),
		"involvedObject.fieldPath":       eventField(func(e *v1.Event) string { return e.InvolvedObject.FieldPath }),
		"reason":                         eventField(func(e *v1.Event) string { return e.Reason }),
		"reportingComponent":             eventField(func(e *v1.Event) string { return e.ReportingController }),
		"source":                         eventField(eventSource),
		"type":                           eventField(func(e *v1.Event) string { return e.Type }),
	},
	reflect.TypeFor[v1.Node](): {
		"spec.unschedulable": func(o object) string { return strconv.FormatBool(o.(*v1.Node).Spec.Unschedulable) },
	},
	reflect.TypeFor[v1.Namespace](): {
		"status.phase": func(o object) string { return string(o.(*v1.Namespace).Status.Phase) },
	},
	reflect.TypeFor[v1.Secret](): {
		"type": func(o object) string { return string(o.(*v1.Secret).Type) },
	},
	reflect.TypeFor[v1.Service](): {
		"spec.clusterIP": func(o object) string { return o.(*v1.Service).Spec.ClusterIP },
		"spec.type":      func(o object) string { return string(o.(*v1.Service).Spec.Type) },
	},
	reflect.TypeFor[v1.ReplicationController](): {
		"status.replicas": func(o object) string { return itoa(o.(*v1.ReplicationController).Status.Replicas) },
	},
	reflect.TypeFor[appsv1.ReplicaSet](): {
		"status.replicas": func(o object) string { return itoa(o.(*appsv1.ReplicaSet).Status.Replicas) },
	},
	reflect.TypeFor[batchv1.Job](): {
		"status.successful": func(o object) string { return itoa(o.(*batchv1.Job).Status.Succeeded) },
	},
	reflect.TypeFor[certificatesv1.CertificateSigningRequest](): {
		"spec.signerName": func(o object) string { return o.(*certificatesv1.CertificateSigningRequest).Spec.SignerName },
	},
}

func podField(get func(*v1.Pod) string) func(object) string {
	return func(o object) string { return get(o.(*v1.Pod)) }
}

func eventField(get func(*v1.Event) string) func(object) string {
	return func(o object) string { return get(o.(*v1.Event)) }
}

func eventSource(e *v1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
