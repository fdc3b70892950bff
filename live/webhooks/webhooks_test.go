package webhooks_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/live/webhooks"
	"github.com/storagesim/storagesim/trace"
)

// reviewer answers the review of a ConfigMap in the words of its data.
type reviewer struct{ asked []string }

func (h *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &struct {
		metav1.TypeMeta
		Request struct {
			UID    string
			Object v1.ConfigMap
		}
	}{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		panic(err)
	}
	h.asked = append(h.asked, r.Host+r.URL.String()+" "+review.APIVersion)
	answer := map[string]any{"uid": review.Request.UID, "allowed": true}
	switch said := review.Request.Object.Data["answer"]; {
	case said == "late":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	case said == "broken":
		w.WriteHeader(http.StatusTeapot)
	case said == "no":
		answer["allowed"], answer["status"] = false, metav1.Status{Message: "never"}
	case said == "nonsense":
		_, _ = io.WriteString(w, "hello")
		return
	case strings.HasPrefix(said, "["):
		answer["patchType"], answer["patch"] = admissionv1.PatchTypeJSONPatch, []byte(said)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": "AdmissionReview", "response": answer})
}

// serving returns a server of webhooks with the certificate for a Service, and that certificate.
func serving(t *testing.T, h http.Handler, service string) (backend *httptest.Server, ca []byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	ca, err := webhooks.WriteCertificate(dir, []string{service})
	require.NoError(t, err)
	for _, file := range []string{webhooks.CertificateFile, webhooks.KeyFile} {
		info, err := os.Stat(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	_, err = webhooks.WriteCertificate(dir, []string{service})
	require.ErrorIs(t, err, os.ErrExist)
	backend = httptest.NewUnstartedServer(h)
	backend.Config.ErrorLog = log.New(io.Discard, "", 0)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, webhooks.CertificateFile), filepath.Join(dir, webhooks.KeyFile))
	require.NoError(t, err)
	backend.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	backend.StartTLS()
	t.Cleanup(backend.Close)
	return backend, ca
}

// configured returns the client of a server with one webhook, whose fields are given.
func configured(t *testing.T, cfg webhooks.Config, fields string) *fake.Clientset {
	t.Helper()
	server := api.NewServer(api.Config{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
	asks, err := webhooks.New(cfg)
	require.NoError(t, err)
	server.AskWebhooks(asks)
	client := fake.New(server, "test")
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict([]byte("metadata: {name: m}\nwebhooks:\n- name: a.example.com\n  sideEffects: None\n"+
		"  rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]\n"+fields), config))
	_, err = client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), config, metav1.CreateOptions{})
	require.NoError(t, err)
	return client
}

func create(t *testing.T, client *fake.Clientset, answer string) (*v1.ConfigMap, error) {
	t.Helper()
	obj := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}, Data: map[string]string{"answer": answer}}
	return client.CoreV1().ConfigMaps("default").Create(t.Context(), obj, metav1.CreateOptions{})
}

const service = "shop/webhook"

// byService configures a webhook of the Service, with a bundle unless it is empty.
func byService(ca []byte) string {
	return "  admissionReviewVersions: [v1]\n  timeoutSeconds: 30\n" +
		"  clientConfig: {service: {namespace: shop, name: webhook, path: /change, port: 8443}, caBundle: '" +
		base64.StdEncoding.EncodeToString(ca) + "'}\n"
}

func TestAWebhookOfAServiceIsAskedOverHTTPS(t *testing.T) {
	h := &reviewer{}
	backend, ca := serving(t, h, service)
	var told []string
	client := configured(t, webhooks.Config{
		Services: map[string]string{service: backend.Listener.Addr().String()},
		Tell:     func(about trace.Ref, text string) { told = append(told, about.Kind+" "+text) },
	}, byService(ca))
	made, err := create(t, client, `[{"op":"add","path":"/data/more","value":"x"}]`)
	require.NoError(t, err)
	assert.Equal(t, "x", made.Data["more"])
	assert.Equal(t, []string{"ConfigMap webhook a.example.com changes what is to be stored: add /data/more"}, told)
	assert.Equal(t, []string{"webhook.shop.svc:8443/change?timeout=30s admission.k8s.io/v1"}, h.asked)

	const failed = `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: `
	for answer, want := range map[string]string{
		"no":       `admission webhook "a.example.com" denied the request: never`,
		"broken":   failed + "the server responded with the status code 418 but did not return more information",
		"nonsense": failed + "couldn't get version/kind; json parse error: ",
	} {
		_, err := create(t, client, answer)
		assert.ErrorContains(t, err, want, answer)
	}
	client = configured(t, webhooks.Config{Services: map[string]string{service: backend.Listener.Addr().String()}},
		strings.Replace(byService(ca), "timeoutSeconds: 30", "timeoutSeconds: 1", 1))
	_, err = create(t, client, "late")
	assert.ErrorContains(t, err, failed+`Post "https://webhook.shop.svc:8443/change?timeout=1s": `)
	client = configured(t, webhooks.Config{Services: map[string]string{service: "127.0.0.1:1"}}, byService(ca)) // where no program listens
	_, err = create(t, client, "yes")
	assert.ErrorContains(t, err, failed+`Post "https://webhook.shop.svc:8443/change?timeout=30s": dial tcp 127.0.0.1:1: `)
}

func TestAWebhookIsAskedOnlyIfItsCertificateIsTrusted(t *testing.T) {
	h := &reviewer{}
	backend, ca := serving(t, h, service)
	_, other := serving(t, h, service)
	for _, tt := range []struct {
		about          string
		bundle, common []byte
		works          bool
	}{
		{"the configuration's bundle", ca, nil, true},
		{"another bundle", other, nil, false},
		{"another bundle, which counts for more", other, ca, false},
		{"no bundle", nil, nil, false},
		{"the bundle of all that have none", nil, ca, true},
	} {
		client := configured(t, webhooks.Config{
			Services: map[string]string{service: backend.Listener.Addr().String()}, CABundle: tt.common,
		}, byService(tt.bundle))
		if _, err := create(t, client, "yes"); tt.works {
			assert.NoError(t, err, tt.about)
		} else {
			assert.ErrorContains(t, err, "tls: failed to verify certificate: x509: certificate signed by unknown authority", tt.about)
		}
	}
	// The certificate is for another Service.
	client := configured(t, webhooks.Config{Services: map[string]string{"shop/other": backend.Listener.Addr().String()}},
		strings.Replace(byService(ca), "name: webhook", "name: other", 1))
	_, err := create(t, client, "yes")
	assert.ErrorContains(t, err, "x509: certificate is valid for localhost, webhook.shop.svc, not other.shop.svc")
}

func TestAWebhookWithAURLIsAskedInTheVersionThatItKnowsIfItsConditionsHold(t *testing.T) {
	h := &reviewer{}
	backend, ca := serving(t, h, service)
	client := configured(t, webhooks.Config{URLs: true}, "  admissionReviewVersions: [v1beta1, v1]\n  timeoutSeconds: 30\n"+
		"  clientConfig: {url: '"+backend.URL+"/x', caBundle: '"+
		base64.StdEncoding.EncodeToString(ca)+"'}\n  matchConditions: [{name: asks, expression: \"object.data.answer != 'skip'\"}]\n")
	_, err := create(t, client, "skip")
	require.NoError(t, err)
	require.Empty(t, h.asked)
	made, err := create(t, client, `[{"op":"add","path":"/data/more","value":"x"}]`)
	require.NoError(t, err)
	assert.Equal(t, "x", made.Data["more"])
	assert.Equal(t, []string{strings.TrimPrefix(backend.URL, "https://") + "/x?timeout=30s admission.k8s.io/v1beta1"}, h.asked)
}

func TestOtherServicesAndURLsAreNotAsked(t *testing.T) {
	h := &reviewer{}
	backend, ca := serving(t, h, service)
	for _, fields := range []string{
		byService(ca), "  admissionReviewVersions: [v1]\n  clientConfig: {url: '" + backend.URL + "', caBundle: '" + base64.StdEncoding.EncodeToString(ca) + "'}\n",
	} {
		client := configured(t, webhooks.Config{Services: map[string]string{"shop/other": backend.Listener.Addr().String()}}, fields)
		_, err := create(t, client, "no")
		require.NoError(t, err)
		assert.Empty(t, h.asked)
	}
}

func TestAWrongServiceIsNamed(t *testing.T) {
	for service, want := range map[string]string{
		"shop=127.0.0.1:1":        `"shop" is not namespace/name`,
		"a/b/c=127.0.0.1:1":       `"a/b/c" is not namespace/name`,
		"shop/webhook=":           `shop/webhook: "" is not an address and a port such as 127.0.0.1:9443`,
		"shop/webhook=https://x":  `shop/webhook: "https://x" is not an address and a port such as 127.0.0.1:9443`,
		"shop/webhook=127.0.0.1:": `shop/webhook: "127.0.0.1:" is not an address and a port such as 127.0.0.1:9443`,
	} {
		name, address, _ := strings.Cut(service, "=")
		_, err := webhooks.New(webhooks.Config{Services: map[string]string{name: address}})
		assert.ErrorContains(t, err, want)
	}
}
