package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/api/registry"
)

// auditedAPI answers as an API server of which a PV controller, a scheduler and a user are clients, and keeps an audit log.
type auditedAPI struct {
	t     *testing.T
	audit string
	asked []string
}

func (a *auditedAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	require.NoError(a.t, err)
	if req.Method != http.MethodGet {
		a.asked = append(a.asked, req.Method+" "+req.URL.String()+" "+string(body))
	}
	status := http.StatusOK
	answer := `{"kind":"List","items":[]}`
	switch {
	case req.Method == http.MethodPost:
		status, answer = http.StatusCreated, claim("Pending")
		a.log("create", "user", "persistentvolumeclaims", "d", "", 201, claim("Pending"))
		a.log("update", controllerManager+"persistent-volume-binder", "persistentvolumeclaims", "d", "status", 200, claim("Bound"))
		a.log("update", controllerManager+"leader-election", "leases", "l", "", 200, `{}`)
		a.log("create", "kube-scheduler/v1.37.2 (linux/amd64) kubernetes/f/scheduler", "events", "e", "", 201, `{"reason":"FailedScheduling",
			"type":"Warning","regarding":{"kind":"Pod","namespace":"default","name":"p","uid":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"},
			"note":"no place for f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}`)
		a.log("patch", "kube-scheduler/v1.37.2 (linux/amd64) kubernetes/f/scheduler", "events", "e", "", 200, `{"series":{"count":2}}`)
	case req.Method == http.MethodPatch:
		answer = claim("Bound")
		a.log("patch", "user", "persistentvolumeclaims", "d", "", 200, answer)
	case req.Method == http.MethodDelete:
		status, answer = http.StatusNotFound, `{"kind":"Status","reason":"NotFound","message":"it is not there"}`
		a.log("delete", "user", "persistentvolumes", "v", "", 404, answer)
	case strings.HasSuffix(req.URL.Path, "/persistentvolumeclaims") && len(a.asked) < 4:
		answer = `{"kind":"List","items":[` + claim("Bound") + `]}`
	}
	w.WriteHeader(status)
	_, err = io.WriteString(w, answer)
	require.NoError(a.t, err)
}

const controllerManager = "kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/f/"

func claim(phase string) string {
	return fmt.Sprintf(`{"kind":"PersistentVolumeClaim","metadata":{"name":"d","namespace":"default","uid":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"resourceVersion":"7"},"status":{"phase":%q}}`, phase)
}

func (a *auditedAPI) log(verb, agent, resource, name, subresource string, code int, object string) {
	var answer map[string]any
	require.NoError(a.t, json.Unmarshal([]byte(object), &answer))
	var request any = answer
	if agent == "user" && verb == "patch" {
		request = []any{map[string]any{"op": "test", "path": "/kind", "value": "PersistentVolumeClaim"}} // a JSON patch
	}
	line, err := json.Marshal(map[string]any{"verb": verb, "userAgent": agent, "requestObject": request, "responseObject": answer,
		"objectRef":      map[string]any{"resource": resource, "namespace": "default", "name": name, "subresource": subresource},
		"responseStatus": map[string]any{"code": code, "reason": answer["reason"], "message": answer["message"]}})
	require.NoError(a.t, err)
	file, err := os.OpenFile(a.audit, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(a.t, err)
	_, err = file.Write(append(line, '\n'))
	require.NoError(a.t, err)
	require.NoError(a.t, file.Close())
}

func TestARecorderReadsTheAuditLog(t *testing.T) {
	t.Parallel() // it waits for rest in real time
	api := &auditedAPI{t: t, audit: filepath.Join(t.TempDir(), "audit.log")}
	require.NoError(t, os.WriteFile(api.audit, []byte("what was before is not read\n"), 0o600))
	server := httptest.NewServer(api)
	defer server.Close()
	short := new(0.1)
	r := Recorder{API: server.URL, Client: server.Client(), Audit: api.audit, Version: "v1.37.2"}
	got, err := r.Record(t.Context(), &Recording{Case: "c", Steps: []Step{
		{Action: Action{Create: []json.RawMessage{[]byte(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"d"}}`)}, Quiet: short}},
		{Action: Action{Delete: "pv/<uid:persistentvolumeclaim/default/d>", Quiet: short}},
		{Action: Action{Patch: &Patch{Object: "pvc/d", Type: "json", Patch: []byte(`[]`)}, Quiet: short}},
	}})
	require.NoError(t, err)

	require.Equal(t, []string{
		`POST /api/v1/namespaces/default/persistentvolumeclaims {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"d"}}`,
		`DELETE /api/v1/persistentvolumes/f81d4fae-7dec-11d0-a765-00a0c91e6bf6 `,
	}, api.asked[:2])
	require.Equal(t, []Entry{
		{Actor: "user", Verb: "create", Resource: "persistentvolumeclaims", Name: "default/d", Code: 201},
		{Actor: "persistent-volume-binder", Verb: "update", Resource: "persistentvolumeclaims/status", Name: "default/d", Code: 200,
			Changed: map[string]any{"/status/phase": "Bound"}},
		{Actor: "kube-scheduler", Event: "FailedScheduling", Type: "Warning", Object: "pod/default/p", Message: "no place for <uid:persistentvolumeclaim/default/d>"},
	}, got.Steps[0].Writes)
	require.Equal(t, []Entry{
		{Actor: "user", Verb: "delete", Resource: "persistentvolumes", Name: "default/v", Code: 404, Reason: "NotFound", Message: "it is not there"},
	}, got.Steps[1].Writes)
	require.Equal(t, []Entry{
		{Actor: "user", Verb: "patch", Resource: "persistentvolumeclaims", Name: "default/d", Code: 200, Changed: map[string]any{}},
	}, got.Steps[2].Writes)
	require.Len(t, got.Objects, 1)
	require.Equal(t, "v1.37.2", got.Kubernetes)
}

// Of a case that cannot be played to its end nothing stays for the next one: neither an object nor what was read of the log.
func TestACaseThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	api := &auditedAPI{t: t, audit: filepath.Join(t.TempDir(), "audit.log")}
	require.NoError(t, os.WriteFile(api.audit, nil, 0o600))
	server := httptest.NewServer(api)
	defer server.Close()
	r := Recorder{API: server.URL, Client: server.Client(), Audit: api.audit}
	_, err := r.Record(t.Context(), &Recording{Case: "c", Steps: []Step{{Action: Action{Create: []json.RawMessage{
		[]byte(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"d"}}`), []byte(`"<uid:pod/default/none>"`),
	}}}}})
	require.EqualError(t, err, "c: step 1: <uid:pod/default/none>: no such object has existed")
	require.Contains(t, api.asked, `DELETE /api/v1/namespaces/default/persistentvolumeclaims/d {"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}`)

	got, err := r.Record(t.Context(), &Recording{Case: "next", Steps: []Step{{Action: Action{Wait: 0.1, Quiet: new(0.1)}}}})
	require.NoError(t, err)
	require.Empty(t, got.Steps[0].Writes)
}

func TestARecorderRefusesWhatNeedsKubelets(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	require.NoError(t, os.WriteFile(audit, nil, 0o600))
	server := httptest.NewServer(&auditedAPI{t: t, audit: audit})
	defer server.Close()
	r := Recorder{API: server.URL, Client: server.Client(), Audit: audit}
	_, err := r.Record(t.Context(), &Recording{Case: "c", Steps: []Step{{Action: Action{Host: []string{"true"}}}}})
	require.EqualError(t, err, "c: step 1: "+
		"the step has no action that can be recorded without kubelets; expected nodes, create, delete, patch, attach, detach or wait")
}

// The requests of several programs about one object may be done in another order than that in which they were received.
func TestARecorderKeepsTheOrderInWhichAnObjectWasWritten(t *testing.T) {
	write := func(verb, version string, after time.Duration, finalizers ...any) auditEvent {
		e := auditEvent{Verb: verb, UserAgent: verb + "er/v1", RequestReceivedTimestamp: time.Unix(100, 0).Add(after)}
		e.ObjectRef = &struct{ Resource, Namespace, Name, APIGroup, Subresource string }{Resource: "persistentvolumes", Name: "pv"}
		e.ResponseStatus.Code = 200
		metadata := map[string]any{"name": "pv", "resourceVersion": version, "deletionTimestamp": "now", "deletionGracePeriodSeconds": float64(0)}
		if len(finalizers) > 0 {
			metadata["finalizers"] = finalizers
		}
		e.ResponseObject = map[string]any{"kind": "PersistentVolume", "metadata": metadata}
		return e
	}
	r := &Recorder{kinds: registry.New(), uids: newUIDs(), last: map[string]map[string]any{}}
	r.heard = []auditEvent{ // of the first the state before is not known
		write("update", "9", time.Second, "a", "b", "c"), write("delete", "12", 2*time.Second, "a"), write("patch", "12", 3*time.Second, "a"),
		write("update", "11", 4*time.Second, "a", "b"), write("update", "12", 1500*time.Millisecond), // with which it goes
	}
	var order []string
	for _, e := range r.entries() {
		order = append(order, e.Verb+text(e.Changed["/metadata/finalizers"]))
	}
	assert.Equal(t, []string{`updatenothing`, `update["a","b"]`, `patch["a"]`, `deletenothing`, `updatenothing`}, order)
}
