package rest_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// canned is a transport that answers every request with one answer of another transport.
type canned struct {
	next   http.RoundTripper
	answer *http.Response
	body   []byte
}

func (t *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.answer == nil {
		answer, err := t.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if t.body, err = io.ReadAll(answer.Body); err != nil {
			return nil, err
		}
		t.answer = answer
	}
	answer := *t.answer
	answer.Request, answer.Body = r, io.NopCloser(bytes.NewReader(t.body))
	return &answer, nil
}

// BenchmarkClientAlone measures client-go's own part of BenchmarkClaim's Get: making the request
// and decoding the answer, which is there already.
func BenchmarkClientAlone(b *testing.B) {
	for name, content := range map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf} {
		b.Run(name, func(b *testing.B) {
			server := api.NewServer(api.Config{})
			_, err := fake.NewWithoutActions(server, "bench").CoreV1().PersistentVolumeClaims("default").Create(b.Context(), claim("c"), metav1.CreateOptions{})
			require.NoError(b, err)
			config := handler(server).Config("bench")
			config.ContentType, config.AcceptContentTypes = content, content
			config.Transport = &canned{next: config.Transport}
			client, err := kubernetes.NewForConfig(config)
			require.NoError(b, err)
			claims := client.CoreV1().PersistentVolumeClaims("default")
			for b.Loop() {
				_, err := claims.Get(b.Context(), "c", metav1.GetOptions{})
				require.NoError(b, err)
			}
		})
	}
}
