package main

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/live/webhooks"
)

// A program outside, such as a manager of controller-runtime, changes what a user applies.
func TestServeAsksTheWebhooksOfAProgramOutside(t *testing.T) {
	dir := t.TempDir()
	config, certs := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "certs")
	manifest := file(t, "webhooks.yaml", `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sizes}
webhooks:
- name: sizes.example.com
  clientConfig: {service: {namespace: shop, name: webhook, path: /mutate}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [persistentvolumeclaims]}]
  sideEffects: None
  timeoutSeconds: 30
  admissionReviewVersions: [v1]
`)
	claim := &v1.PersistentVolumeClaim{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(
		"{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"), claim))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, errOut := served(t, func(string) {
		pair, err := tls.LoadX509KeyPair(filepath.Join(certs, webhooks.CertificateFile), filepath.Join(certs, webhooks.KeyFile))
		require.NoError(t, err)
		backend := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			review := &admissionv1.AdmissionReview{}
			_ = json.NewDecoder(r.Body).Decode(review)
			kind := admissionv1.PatchTypeJSONPatch
			review.Response = &admissionv1.AdmissionResponse{
				UID: review.Request.UID, Allowed: true, PatchType: &kind, Patch: []byte(`[{"op":"add","path":"/spec/storageClassName","value":"fast"}]`),
			}
			_ = json.NewEncoder(w).Encode(review)
		}))
		assert.NoError(t, backend.Listener.Close())
		backend.Listener, backend.TLS = listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		backend.StartTLS()
		defer backend.Close()
		loaded, err := clientcmd.BuildConfigFromFlags("", config)
		require.NoError(t, err)
		client, err := kubernetes.NewForConfig(loaded)
		require.NoError(t, err)
		made, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, metav1.CreateOptions{})
		require.NoError(t, err)
		assert.Equal(t, "fast", *made.Spec.StorageClassName)
		story, err := client.RESTClient().Get().AbsPath("/storagesim/story").DoRaw(t.Context())
		require.NoError(t, err)
		assert.Contains(t, strings.Join(strings.Fields(string(story)), " "),
			"pvc default/data: webhook sizes.example.com changes what is to be stored: add /spec/storageClassName")
	}, "--speed", "step", "--kubeconfig", config, "-f", manifest, "--webhook-certs", certs,
		"--webhook-service", "shop/webhook="+listener.Addr().String())
	assert.Empty(t, errOut)
	assert.NoDirExists(t, certs)
}

func TestWrongFlagsOfWebhooksAreNamed(t *testing.T) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "x"), nil, 0o600))
	const shop, other = "--webhook-service=shop/webhook=127.0.0.1:1", "--webhook-service=shop/webhook=127.0.0.1:2"
	for want, args := range map[string][]string{
		`--webhook-service: "shop/webhook" is not NAMESPACE/NAME=ADDRESS:PORT`:                   {"--webhook-service", "shop/webhook"},
		`--webhook-service: the Service of a webhook: "shop" is not namespace/name`:              {"--webhook-service", "shop=127.0.0.1:1"},
		`--webhook-service: shop/webhook is given twice`:                                         {shop, other},
		`--webhook-certs: name the Services that the certificate is for, with --webhook-service`: {"--webhook-certs", filepath.Join(full, "new")},
		`--webhook-certs ` + full + `: the directory is not empty, it has "x"`:                   {"--webhook-certs", full, shop},
	} {
		code, _, errOut := command(t, "", append([]string{"serve"}, args...)...)
		assert.Equal(t, 2, code, want)
		assert.Contains(t, errOut, want)
	}
}
