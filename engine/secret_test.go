package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
)

func TestTheTraceDoesNotShowTheDataOfASecret(t *testing.T) {
	secret := func(data map[string][]byte) *v1.Secret {
		return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}, Data: data}
	}
	w := newWrite(api.Write{
		Verb: "update", Kind: "Secret", Namespace: "default", Name: "s",
		Old: secret(map[string][]byte{"a": []byte("old"), "b": []byte("old")}), New: secret(map[string][]byte{"a": []byte("new")}),
	})
	require.Equal(t, "updates secret default/s: data.a = (not shown), data.b removed", w.String())
}
