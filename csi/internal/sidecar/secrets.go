package sidecar

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Credentials returns the values of a secret, read from the API server; none if ref is nil. The error is the API
// server's.
func Credentials(ctx context.Context, client kubernetes.Interface, ref *v1.SecretReference) (map[string]string, error) {
	if ref == nil {
		return nil, nil
	}
	secret, err := client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	credentials := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		credentials[key] = string(value)
	}
	return credentials, nil
}
