package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheTraceDoesNotShowTheDataOfASecret(t *testing.T) {
	secret := func(data map[string][]byte) *v1.Secret {
		return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}, Data: data}
	}
	w := Write{
		Verb: "update", Kind: "Secret", Namespace: "default", Name: "s",
		Old: secret(map[string][]byte{"a": []byte("old"), "b": []byte("old")}), New: secret(map[string][]byte{"a": []byte("new")}),
	}.cutDown()
	require.Equal(t, "updates secret default/s: data.a = (not shown), data.b removed", w.String())

	kept := secret(nil)
	kept.Annotations = map[string]string{v1.LastAppliedConfigAnnotation: "new", "note": "shown"}
	w = Write{Verb: "update", Kind: "Secret", Namespace: "default", Name: "s", Old: secret(nil), New: kept}
	require.Equal(t, "updates secret default/s: metadata.annotations[kubectl.kubernetes.io/last-applied-configuration] = (not shown), "+
		"metadata.annotations.note = shown", w.String())
}
