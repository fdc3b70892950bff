package trace

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEachRecordIsALineOfJSONWithItsSentenceAndItsFields(t *testing.T) {
	claim := Ref{"PersistentVolumeClaim", "default", "data"}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = "node-1"
	secret := &v1.Secret{Data: map[string][]byte{"a": []byte("old")}}
	changed := &v1.Secret{Data: map[string][]byte{"a": []byte("new")}}
	for want, record := range map[string]Record{
		`"type":"Write","topic":"write","text":"updates pod default/web: spec.nodeName = node-1","record":{"verb":"update",` +
			`"about":{"kind":"Pod","namespace":"default","name":"web"},"rv":7,"code":200,"changes":[{"path":"/spec/nodeName","value":"node-1"}]}`: Write{
			Verb: "update", Kind: "Pod", Namespace: "default", Name: "web", RV: 7, Code: 200, Old: pod, New: placed,
		},
		`"type":"Write","topic":"write","text":"is refused: create pod web: 404 NotFound: pods \"web\" not found","record":{"verb":"create",` +
			`"about":{"kind":"Pod","name":"web"},"code":404,"reason":"NotFound","err":"pods \"web\" not found"}`: Write{
			Verb: "create", Kind: "Pod", Name: "web", Code: 404, Err: apierrors.NewNotFound(v1.Resource("pods"), "web"),
		},
		`"type":"Write","topic":"write","text":"updates secret s: data.a = (not shown)","record":{"verb":"update",` +
			`"about":{"kind":"Secret","name":"s"},"changes":[{"path":"/data/a","value":"(not shown)"}]}`: Write{Verb: "update", Kind: "Secret", Name: "s", Old: secret,
			New: changed},
		`"type":"Retry","topic":"retry","text":"will retry pvc default/data in 1m30s: no","record":{"about":"pvc default/data","delay":"1m30s","err":"no",` +
			`"queue":"claims"}`: Retry{
			Queue: "claims", About: "pvc default/data", Delay: 90 * time.Second, Err: errors.New("no"),
		},
		`"type":"Asset","topic":"asset","text":"makes /a on node/n for pvc default/data","record":{"about":{"kind":"PersistentVolumeClaim",` +
			`"namespace":"default","name":"data"},"machine":"node/n","op":"make","path":"/a","volume":"pv"}`: Asset{Made, "node/n", "/a", "pv", claim},
		`"type":"Restarted","topic":"fault","text":"starts again","record":{}`: Restarted{},
	} {
		line, err := JSON([]Entry{{Time: time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC), Actor: "me", Record: record}})
		require.NoError(t, err)
		require.Equal(t, `{"version":1,"time":"2026-01-01T00:00:01Z","actor":"me",`+want+"}\n", line)
	}
}
