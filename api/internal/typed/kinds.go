package typed

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applyappsv1beta2 "k8s.io/client-go/applyconfigurations/apps/v1beta2"
	applyautoscalingv1 "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	applycertificatesv1 "k8s.io/client-go/applyconfigurations/certificates/v1"
	applycertificatesv1beta1 "k8s.io/client-go/applyconfigurations/certificates/v1beta1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applyextensionsv1beta1 "k8s.io/client-go/applyconfigurations/extensions/v1beta1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedappsv1beta2 "k8s.io/client-go/kubernetes/typed/apps/v1beta2"
	typedcertificatesv1 "k8s.io/client-go/kubernetes/typed/certificates/v1"
	typedcertificatesv1beta1 "k8s.io/client-go/kubernetes/typed/certificates/v1beta1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedextensionsv1beta1 "k8s.io/client-go/kubernetes/typed/extensions/v1beta1"
)

// The clients of kinds with methods of their own; those of pods and events are in files of
// their own.

// scaled adds the methods of kinds with a scale.
type scaled[T object, S object, A any] struct{ of *typed[T] }

func (c *scaled[T, S, A]) GetScale(ctx context.Context, name string, opts metav1.GetOptions) (S, error) {
	req := c.of.request("get", "scale", name)
	req.Get = opts
	return do[S](ctx, c.of.client, req)
}

func (c *scaled[T, S, A]) UpdateScale(ctx context.Context, name string, scale S, opts metav1.UpdateOptions) (S, error) {
	req := c.of.request("update", "scale", name)
	req.Object, req.Write = scale, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	return do[S](ctx, c.of.client, req)
}

func (c *scaled[T, S, A]) ApplyScale(ctx context.Context, name string, config A, opts metav1.ApplyOptions) (S, error) {
	if isNil(config) {
		return *new(S), errors.New("there is nothing to apply: the configuration is nil")
	}
	return applyTo[S](ctx, c.of.client, c.of.request("patch", "scale", name), config, opts)
}

// workload is the client of a kind that can be scaled.
type workload[T object, L runtime.Object, A configuration, S object, SA any] struct {
	*listed[T, L, A]
	scaled[T, S, SA]
}

func newWorkload[S object, SA any, T object, L runtime.Object, A configuration](of *listed[T, L, A]) *workload[T, L, A, S, SA] {
	return &workload[T, L, A, S, SA]{of, scaled[T, S, SA]{&of.typed}}
}

func (g appsV1) Deployments(namespace string) typedappsv1.DeploymentInterface {
	return newWorkload[*autoscalingv1.Scale, *applyautoscalingv1.ScaleApplyConfiguration](
		newListed[*appsv1.Deployment, *appsv1.DeploymentList, *applyappsv1.DeploymentApplyConfiguration](g.of, appsv1.SchemeGroupVersion, "deployments", namespace))
}

func (g appsV1) ReplicaSets(namespace string) typedappsv1.ReplicaSetInterface {
	return newWorkload[*autoscalingv1.Scale, *applyautoscalingv1.ScaleApplyConfiguration](
		newListed[*appsv1.ReplicaSet, *appsv1.ReplicaSetList, *applyappsv1.ReplicaSetApplyConfiguration](g.of, appsv1.SchemeGroupVersion, "replicasets", namespace))
}

func (g appsV1) StatefulSets(namespace string) typedappsv1.StatefulSetInterface {
	return newWorkload[*autoscalingv1.Scale, *applyautoscalingv1.ScaleApplyConfiguration](
		newListed[*appsv1.StatefulSet, *appsv1.StatefulSetList, *applyappsv1.StatefulSetApplyConfiguration](g.of, appsv1.SchemeGroupVersion,
			"statefulsets", namespace))
}

func (g appsV1beta2) StatefulSets(namespace string) typedappsv1beta2.StatefulSetInterface {
	return newWorkload[*appsv1beta2.Scale, *applyappsv1beta2.ScaleApplyConfiguration](
		newListed[*appsv1beta2.StatefulSet, *appsv1beta2.StatefulSetList, *applyappsv1beta2.StatefulSetApplyConfiguration](g.of, appsv1beta2.SchemeGroupVersion,
			"statefulsets", namespace))
}

func (g coreV1) ReplicationControllers(namespace string) typedcorev1.ReplicationControllerInterface {
	return newWorkload[*autoscalingv1.Scale, *applyautoscalingv1.ScaleApplyConfiguration](
		newListed[*corev1.ReplicationController, *corev1.ReplicationControllerList, *applycorev1.ReplicationControllerApplyConfiguration](g.of,
			corev1.SchemeGroupVersion, "replicationcontrollers", namespace))
}

func (g extensionsV1beta1) ReplicaSets(namespace string) typedextensionsv1beta1.ReplicaSetInterface {
	return newWorkload[*extensionsv1beta1.Scale, *applyextensionsv1beta1.ScaleApplyConfiguration](
		newListed[*extensionsv1beta1.ReplicaSet, *extensionsv1beta1.ReplicaSetList, *applyextensionsv1beta1.ReplicaSetApplyConfiguration](g.of,
			extensionsv1beta1.SchemeGroupVersion, "replicasets", namespace))
}

// oldDeployments can also be rolled back.
type oldDeployments struct {
	*workload[*extensionsv1beta1.Deployment, *extensionsv1beta1.DeploymentList, *applyextensionsv1beta1.DeploymentApplyConfiguration, *extensionsv1beta1.Scale,
		*applyextensionsv1beta1.ScaleApplyConfiguration]
}

func (g extensionsV1beta1) Deployments(namespace string) typedextensionsv1beta1.DeploymentInterface {
	return &oldDeployments{newWorkload[*extensionsv1beta1.Scale, *applyextensionsv1beta1.ScaleApplyConfiguration](
		newListed[*extensionsv1beta1.Deployment, *extensionsv1beta1.DeploymentList, *applyextensionsv1beta1.DeploymentApplyConfiguration](g.of,
			extensionsv1beta1.SchemeGroupVersion, "deployments", namespace))}
}

func (c *oldDeployments) Rollback(ctx context.Context, rollback *extensionsv1beta1.DeploymentRollback, opts metav1.CreateOptions) error {
	if rollback == nil {
		return errors.New("there is no DeploymentRollback")
	}
	req := c.request("create", "rollback", rollback.Name)
	req.Object, req.Write = rollback, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	_, err := c.client.Do(ctx, req)
	return err
}

type signingRequests struct {
	*listed[*certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList,
		*applycertificatesv1.CertificateSigningRequestApplyConfiguration]
}

func (g certificatesV1) CertificateSigningRequests() typedcertificatesv1.CertificateSigningRequestInterface {
	return &signingRequests{newListed[*certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList,
		*applycertificatesv1.CertificateSigningRequestApplyConfiguration](
		g.of, certificatesv1.SchemeGroupVersion, "certificatesigningrequests", "")}
}

func (c *signingRequests) UpdateApproval(ctx context.Context, name string, csr *certificatesv1.CertificateSigningRequest,
	opts metav1.UpdateOptions) (*certificatesv1.CertificateSigningRequest, error) {
	return c.update(ctx, "approval", name, csr, opts)
}

type oldSigningRequests struct {
	*listed[*certificatesv1beta1.CertificateSigningRequest, *certificatesv1beta1.CertificateSigningRequestList,
		*applycertificatesv1beta1.CertificateSigningRequestApplyConfiguration]
}

func (g certificatesV1beta1) CertificateSigningRequests() typedcertificatesv1beta1.CertificateSigningRequestInterface {
	return &oldSigningRequests{newListed[*certificatesv1beta1.CertificateSigningRequest, *certificatesv1beta1.CertificateSigningRequestList,
		*applycertificatesv1beta1.CertificateSigningRequestApplyConfiguration](
		g.of, certificatesv1beta1.SchemeGroupVersion, "certificatesigningrequests", "")}
}

func (c *oldSigningRequests) UpdateApproval(ctx context.Context, csr *certificatesv1beta1.CertificateSigningRequest,
	opts metav1.UpdateOptions) (*certificatesv1beta1.CertificateSigningRequest, error) {
	return c.update(ctx, "approval", "", csr, opts)
}

type accounts struct {
	*listed[*corev1.ServiceAccount, *corev1.ServiceAccountList, *applycorev1.ServiceAccountApplyConfiguration]
}

func (g coreV1) ServiceAccounts(namespace string) typedcorev1.ServiceAccountInterface {
	return &accounts{newListed[*corev1.ServiceAccount, *corev1.ServiceAccountList, *applycorev1.ServiceAccountApplyConfiguration](
		g.of, corev1.SchemeGroupVersion, "serviceaccounts", namespace)}
}

func (c *accounts) CreateToken(ctx context.Context, name string, token *authenticationv1.TokenRequest,
	opts metav1.CreateOptions) (*authenticationv1.TokenRequest, error) {
	req := c.request("create", "token", name)
	req.Object, req.Write = token, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	return do[*authenticationv1.TokenRequest](ctx, c.client, req)
}

type namespaces struct {
	*listed[*corev1.Namespace, *corev1.NamespaceList, *applycorev1.NamespaceApplyConfiguration]
}

func (g coreV1) Namespaces() typedcorev1.NamespaceInterface {
	return &namespaces{newListed[*corev1.Namespace, *corev1.NamespaceList, *applycorev1.NamespaceApplyConfiguration](
		g.of, corev1.SchemeGroupVersion, "namespaces", "")}
}

func (c *namespaces) Finalize(ctx context.Context, ns *corev1.Namespace, opts metav1.UpdateOptions) (*corev1.Namespace, error) {
	req := c.request("create", "finalize", "") // client-go's fakes call it so
	req.Object, req.Write = ns, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	return do[*corev1.Namespace](ctx, c.client, req)
}

type nodes struct {
	*listed[*corev1.Node, *corev1.NodeList, *applycorev1.NodeApplyConfiguration]
}

func (g coreV1) Nodes() typedcorev1.NodeInterface {
	return &nodes{newListed[*corev1.Node, *corev1.NodeList, *applycorev1.NodeApplyConfiguration](g.of, corev1.SchemeGroupVersion, "nodes", "")}
}

func (c *nodes) PatchStatus(ctx context.Context, name string, data []byte) (*corev1.Node, error) {
	return c.Patch(ctx, name, strategic, data, metav1.PatchOptions{}, "status")
}
