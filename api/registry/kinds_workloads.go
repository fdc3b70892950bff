package registry

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
	"github.com/storagesim/storagesim/api/internal/validation/workloads"
	"github.com/storagesim/storagesim/api/internal/warnings"
	"github.com/storagesim/storagesim/api/views"
)

// appsKinds returns the kinds of the group apps.
func appsKinds() []Kind {
	return in(appsv1.SchemeGroupVersion,
		Kind{Kind: "ControllerRevision", Validation: workloads.ControllerRevisions()},
		Kind{
			Kind: "DaemonSet", ShortNames: names("ds"), Categories: inAll(), Generations: true,
			Strategy: strategy.DaemonSets(), Validation: workloads.DaemonSets(), Warnings: warnings.DaemonSets(),
		},
		Kind{
			Kind: "Deployment", ShortNames: names("deploy"), Categories: inAll(), Generations: true, AnnotationsCount: true,
			StatusKeeps: names("metadata.labels"),
			Strategy:    strategy.Deployments(), Validation: workloads.Deployments(), Warnings: warnings.Deployments(),
			Subresources: views.DeploymentScale(),
		},
		Kind{
			Kind: "ReplicaSet", ShortNames: names("rs"), Categories: inAll(), Generations: true,
			Strategy: strategy.ReplicaSets(), Validation: workloads.ReplicaSets(), Warnings: warnings.ReplicaSets(), Subresources: views.ReplicaSetScale(),
		},
		Kind{
			Kind: "StatefulSet", ShortNames: names("sts"), Categories: inAll(), Generations: true,
			Strategy: strategy.StatefulSets(), Validation: workloads.StatefulSets(), Warnings: warnings.StatefulSets(),
			Subresources: views.StatefulSetScale(),
		},
	)
}

// warnApart returns the warning for autoscalers of the first version, which kubectl, that asks for the second, does not show.
func warnApart(_, _ runtime.Object) []string {
	return []string{"the simulation stores autoscalers of autoscaling/v1 apart from those of autoscaling/v2: read them as horizontalpodautoscalers.v1.autoscaling"}
}

// workloadKinds returns the kinds of autoscaling, batch and certificates.k8s.io.
func workloadKinds() []Kind {
	return slices.Concat(
		in(autoscalingv2.SchemeGroupVersion,
			Kind{
				Kind: "HorizontalPodAutoscaler", ShortNames: names("hpa"), Categories: inAll(), Generations: true,
				Strategy: strategy.Autoscalers(), Validation: workloads.Autoscalers(),
			},
		),
		in(autoscalingv1.SchemeGroupVersion, // a store of its own: nothing is converted
			Kind{
				Kind: "HorizontalPodAutoscaler", ShortNames: names("hpa"), Categories: inAll(), Generations: true, NotPreferred: true,
				HashAs: autoscalingv2.SchemeGroupVersion, Strategy: strategy.AutoscalersV1(), Validation: workloads.AutoscalersV1(),
				Warnings: warnings.Kind{Write: warnApart},
			},
		),
		in(batchv1.SchemeGroupVersion,
			Kind{Kind: "CronJob", ShortNames: names("cj"), Categories: inAll(), Generations: true, Strategy: strategy.CronJobs(),
				Validation: workloads.CronJobs(),
				Warnings:   warnings.CronJobs()},
			Kind{
				Kind: "Job", Categories: inAll(), Generations: true,
				Strategy: strategy.Jobs(), Validation: workloads.Jobs(), Warnings: warnings.Jobs(),
				Fields: Selectable{"status.successful": of(func(job *batchv1.Job) string { return itoa(job.Status.Succeeded) })},
			},
		),
		in(certificatesv1.SchemeGroupVersion,
			Kind{
				Kind: "CertificateSigningRequest", ShortNames: names("csr"), ClusterScoped: true, Subresources: views.SigningSubresources(),
				Fields: Selectable{"spec.signerName": of(func(csr *certificatesv1.CertificateSigningRequest) string { return csr.Spec.SignerName })},
			},
			Kind{Kind: "ClusterTrustBundle", ClusterScoped: true, Conditional: true, Validation: storage.ClusterTrustBundles(), HashAs: certificatesBeta},
			Kind{Kind: "PodCertificateRequest", StatusKeeps: names("metadata"), Conditional: true, HashAs: certificatesBeta},
		),
	)
}

// certificatesBeta is the version in which a real server stores the newer kinds of the group.
var certificatesBeta = schema.GroupVersion{Group: certificatesv1.GroupName, Version: "v1beta1"}

// eventKinds returns events in the group to which they have moved; those of the core group are another kind.
func eventKinds() []Kind {
	return in(eventsv1.SchemeGroupVersion, Kind{Kind: "Event", ShortNames: names("ev"), HashAs: v1.SchemeGroupVersion})
}
