package api

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	eventsv1 "k8s.io/api/events/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
)

// appsKinds returns those of apps.
func appsKinds() []Kind {
	return in(appsv1.SchemeGroupVersion,
		Kind{Kind: "ControllerRevision", OtherVersions: names("v1beta2", "v1beta1")},
		Kind{
			Kind: "DaemonSet", ShortNames: names("ds"), Categories: inAll(), OtherVersions: names("v1beta2"), Generations: true,
			Strategy: strategy.DaemonSets(), Validation: validation.DaemonSets(),
		},
		Kind{
			Kind: "Deployment", ShortNames: names("deploy"), Categories: inAll(), OtherVersions: names("v1beta2", "v1beta1"), Generations: true,
			Strategy: strategy.Deployments(), Validation: validation.Deployments(), subresources: deploymentScale(),
		},
		Kind{
			Kind: "ReplicaSet", ShortNames: names("rs"), Categories: inAll(), OtherVersions: names("v1beta2"), Generations: true,
			Strategy: strategy.ReplicaSets(), Validation: validation.ReplicaSets(), subresources: replicaSetScale(),
		},
		Kind{
			Kind: "StatefulSet", ShortNames: names("sts"), Categories: inAll(), OtherVersions: names("v1beta2", "v1beta1"), Generations: true,
			Strategy: strategy.StatefulSets(), Validation: validation.StatefulSets(), subresources: statefulSetScale(),
		},
	)
}

// workloadKinds returns those of autoscaling, batch and certificates.k8s.io.
func workloadKinds() []Kind {
	return slices.Concat(
		in(autoscalingv2.SchemeGroupVersion,
			Kind{Kind: "HorizontalPodAutoscaler", ShortNames: names("hpa"), Categories: inAll(), OtherVersions: names("v1"), Generations: true},
		),
		in(batchv1.SchemeGroupVersion,
			Kind{Kind: "CronJob", ShortNames: names("cj"), Categories: inAll(), OtherVersions: names("v1beta1"), Generations: true},
			Kind{
				Kind: "Job", Categories: inAll(), Generations: true,
				Strategy: strategy.Jobs(), Validation: validation.Jobs(),
				Fields: selectable{"status.successful": of(func(job *batchv1.Job) string { return itoa(job.Status.Succeeded) })},
			},
		),
		in(certificatesv1.SchemeGroupVersion,
			Kind{
				Kind: "CertificateSigningRequest", ShortNames: names("csr"), OtherVersions: names("v1beta1"), ClusterScoped: true,
				Fields: selectable{"spec.signerName": of(func(csr *certificatesv1.CertificateSigningRequest) string { return csr.Spec.SignerName })},
			},
			Kind{Kind: "ClusterTrustBundle", OtherVersions: names("v1beta1", "v1alpha1"), ClusterScoped: true, Conditional: true},
			Kind{Kind: "PodCertificateRequest", OtherVersions: names("v1beta1"), Conditional: true},
		),
	)
}

// oldKinds returns kinds in groups that they have moved from, or exist in twice. Those that a cluster
// does not serve any more have no short names, or kubectl would warn that a name means two kinds.
func oldKinds() []Kind {
	return append(
		in(extensionsv1beta1.SchemeGroupVersion,
			Kind{Kind: "DaemonSet", Generations: true},
			Kind{Kind: "Deployment", Generations: true},
			Kind{Kind: "Ingress", Generations: true},
			Kind{Kind: "NetworkPolicy", Generations: true},
			Kind{Kind: "ReplicaSet", Generations: true},
		),
		in(eventsv1.SchemeGroupVersion, Kind{Kind: "Event", ShortNames: names("ev"), OtherVersions: names("v1beta1")})...,
	)
}
