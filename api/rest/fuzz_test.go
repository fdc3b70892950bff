package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// FuzzRequests checks that no request panics or hangs, that a refusal is a Status (a text for
// unknown paths), and that a refused request stores nothing.
func FuzzRequests(f *testing.F) {
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	var seeds [][]any
	for _, seed := range [][5]string{
		{"GET", claims + "?limit=1&labelSelector=a", "", "application/json;as=Table;v=v1;g=meta.k8s.io", ""},
		{"GET", claims + "?watch=1&timeoutSeconds=1&resourceVersion=0", "", "application/json;stream=watch", ""},
		{"POST", claims, "application/json", "", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
		{"POST", claims, "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf", "k8s\x00\x0a\x00"},
		{"POST", "/api/v1/namespaces/default/pods/a/binding", "application/yaml", "application/yaml", "target: {name: n}"},
		{"PUT", "/apis/apps/v1/namespaces/default/statefulsets/a/scale", "application/json", "", `{"spec":{"replicas":2}}`},
		{"PATCH", "/api/v1/namespaces/default", "application/strategic-merge-patch+json", "", `{"metadata":{"labels":{"a":"b"}}}`},
		{"PATCH", "/api/v1/namespaces/default", "application/json-patch+json", "", `[{"op":"add","path":"/metadata/labels","value":{}}]`},
		{"PATCH", "/api/v1/namespaces/default/configmaps/a?fieldManager=m", "application/apply-patch+yaml", "", "{apiVersion: v1, kind: ConfigMap}"},
		{"DELETE", claims + "?propagationPolicy=Foreground", "application/json", "", `{"kind":"DeleteOptions","apiVersion":"v1"}`},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", "", "{}"},
		{"POST", "/api/v1/namespaces/default/serviceaccounts/a/token", "application/json", "", "{}"},
		{"GET", "/api/v1/namespaces/default/pods/a/log?tailLines=x", "", "", ""},
		{"POST", "/api/v1/namespaces/default/pods/a/exec?stdout=1", "", "", ""},
		{"GET", "/openapi/v3/apis/apps/v1", "", "", ""},
		{"GET", "/openapi/v2", "", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", ""},
		{"GET", "/apis", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", ""},
	} {
		seeds = append(seeds, []any{seed[0], seed[1], seed[2], seed[3], seed[4]})
	}
	seedtest.Corpus(f, 100, seeds...)
	f.Fuzz(func(t *testing.T, method, path, contentType, accept, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://host", strings.NewReader(body))
		if err != nil {
			t.Skip("no HTTP client would send this")
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			t.Skip("no HTTP client would send this")
		}
		if query := r.URL.Query(); query.Has("watch") || strings.Contains(r.URL.Path, "/watch") {
			query.Set("timeoutSeconds", "1")
			r.URL.RawQuery = query.Encode()
			ctx, cancel := contextFor(t, 20*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Accept", accept)
		server := api.NewServer(api.Config{})
		before := len(server.Objects(false))
		w := httptest.NewRecorder()
		handler(server).ServeHTTP(w, r)
		if w.Code < 400 {
			return
		}
		if after := len(server.Objects(false)); after != before {
			t.Errorf("refused with %d, and there are %d objects instead of %d", w.Code, after, before)
		}
		isStatus(t, w)
	})
}

// isStatus checks that a refusal in JSON is a Status that says its code.
func isStatus(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Body.Len() == 0 || w.Header().Get("Content-Type") != "application/json" {
		return
	}
	var status metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || int(status.Code) != w.Code || status.Status != metav1.StatusFailure {
		t.Errorf("%d is answered with %s (%v)", w.Code, w.Body, err)
	}
}

// contextFor ends after a while, so that no watch goes on.
func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}
