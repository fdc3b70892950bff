package serve

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// furnishing is the server with what each namespace has on a cluster beside the service
// account that api.Server makes: the certificate by which programs in pods trust the server.
// On a cluster a controller makes it a moment later; here it is there before a client has
// the answer about its new namespace, so that nothing depends on time.
// Upstream: pkg/controller/certificates/rootcacertpublisher Publisher, v1.37.
type furnishing struct {
	api.Handler
	certificate []byte
}

// Do implements api.Handler.
func (f furnishing) Do(ctx context.Context, req api.Request) (runtime.Object, error) {
	obj, err := f.Handler.Do(ctx, req)
	if err != nil || req.Resource != v1.SchemeGroupVersion.WithResource("namespaces") || req.Subresource != "" || len(req.Write.DryRun) > 0 {
		return obj, err
	}
	ns, ok := obj.(*v1.Namespace)
	if created := req.Created != nil && *req.Created; !ok || req.Verb != "create" && !created {
		return obj, nil
	}
	return obj, f.furnish(ctx, ns.Name)
}

// furnishAll furnishes the namespaces that are there.
func (f furnishing) furnishAll(ctx context.Context) error {
	list, err := fake.NewWithoutActions(f, "kube-controller-manager").CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := f.furnish(ctx, list.Items[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func (f furnishing) furnish(ctx context.Context, namespace string) error {
	_, err := fake.NewWithoutActions(f, "root-ca-cert-publisher").CoreV1().ConfigMaps(namespace).Create(ctx,
		&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(f.certificate)}}, metav1.CreateOptions{})
	return unlessThere(err)
}

// unlessThere returns err, or nil if it says that the object exists already or that its
// namespace is being deleted.
func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
