package helperpod

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// CreateNamespace creates the namespace of helper pods, unless there is one of that name.
func CreateNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return unlessThere(err)
}

// CreateAccount creates a service account, unless it is there: the API server refuses pods without theirs.
func CreateAccount(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	_, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	return unlessThere(err)
}

// CreateConfigMap creates the ConfigMap with a provisioner's configuration, unless there is one
// of that name.
func CreateConfigMap(ctx context.Context, client kubernetes.Interface, m *v1.ConfigMap) error {
	_, err := client.CoreV1().ConfigMaps(m.Namespace).Create(ctx, m, metav1.CreateOptions{})
	return unlessThere(err)
}

// unlessThere returns err, or nil if it says that the object exists.
func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
