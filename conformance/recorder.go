package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/manifest"
)

// Recorder records a real control plane: it plays the steps of a case with the requests of a user, and
// reads in the API server's audit log what was written. The control plane must do nothing else meanwhile.
type Recorder struct {
	// API is the address of the API server, "https://127.0.0.1:6443", and Client sends requests to it in the name of a user who may do everything.
	API    string
	Client *http.Client
	// Audit is the file of its audit log, of policy level RequestResponse and stage ResponseComplete.
	Audit string
	// Version is the release that is recorded, "v1.37.2".
	Version string
	// Stack holds the programs beside the control plane; nil if there are none.
	Stack Stack

	kinds *registry.Registry
	uids  *uids
	last  map[string]map[string]any // each object as last written, by how writes name it
	read  int64                     // how far the audit log was read
	heard []auditEvent              // what was read in this step
	wrote time.Time                 // when something that counts was read last
	began time.Time                 // when the step did
	nodes map[string]string         // the nodes of the whole stack as last written
}

// Record plays a case, of which only the steps' actions count, and returns it with what was written. In the end, also after an error, it deletes
// all objects that a case may have made. The error is one of the case or of the connection; a refused request is none.
func (r *Recorder) Record(ctx context.Context, rec *Recording) (*Recording, error) {
	r.kinds, r.uids, r.last, r.heard, r.nodes = registry.New(), newUIDs(), map[string]map[string]any{}, nil, map[string]string{}
	before, err := os.Stat(r.Audit)
	if err != nil {
		return nil, err
	}
	r.read = before.Size()
	got, err := r.play(ctx, rec)
	if r.Stack == nil { // else it ends with the case
		err = errors.Join(err, r.clear(ctx))
	}
	if err != nil {
		return nil, err
	}
	return got, nil
}

// play plays a case's steps, and lists the objects that there are in the end.
func (r *Recorder) play(ctx context.Context, rec *Recording) (*Recording, error) {
	got := &Recording{Case: rec.Case, About: rec.About, Kubernetes: r.Version, Steps: make([]Step, len(rec.Steps))}
	if r.Stack != nil {
		var err error
		if got.Before, err = r.before(ctx); err != nil {
			return nil, err
		}
	}
	for i, step := range rec.Steps {
		var err error
		if got.Steps[i], err = r.step(ctx, step.Action); err != nil {
			return nil, fmt.Errorf("%s: step %d: %w", rec.Case, i+1, err)
		}
	}
	for _, kind := range recordedKinds() {
		list, err := r.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, obj := range list {
			r.learn(obj)
			got.Objects = append(got.Objects, r.normal(obj))
		}
	}
	return got, nil
}

// step plays a step and returns it with what came of it.
func (r *Recorder) step(ctx context.Context, a Action) (Step, error) {
	r.began = time.Now()
	err := r.perform(ctx, a)
	quiet := 3 * time.Second
	if r.Stack != nil {
		quiet = 4 * time.Second
		if err == nil {
			err = r.until(ctx, a)
		}
	}
	if err == nil {
		err = r.rest(ctx, a.quiet(quiet))
	}
	if err != nil {
		return Step{}, err
	}
	step := Step{Action: a, Writes: r.entries()}
	if r.Stack != nil {
		err = r.see(ctx, &step)
	}
	return step, err
}

// perform does what the user does in a step.
func (r *Recorder) perform(ctx context.Context, a Action) error {
	switch {
	case len(a.Nodes) > 0:
		for _, n := range a.Nodes {
			node := newNode(n)
			node.Status = readyStatus()
			node.APIVersion, node.Kind = "v1", "Node"
			data, err := json.Marshal(node)
			if err != nil {
				return err
			}
			if _, err := r.createOne(ctx, data); err != nil {
				return err
			}
		}
		return nil
	case len(a.Create) > 0:
		for _, data := range a.Create {
			refused, err := r.createOne(ctx, data)
			if err != nil {
				return err
			}
			quiet := time.Second
			if r.Stack != nil {
				quiet = 600 * time.Millisecond
			}
			if refused {
				quiet = afterRefusal
			}
			if err := r.rest(ctx, quiet); err != nil {
				return err
			}
		}
		return nil
	case a.Delete != "":
		for _, ref := range strings.Fields(a.Delete) {
			if err := r.delete(ctx, ref, a.Grace); err != nil {
				return err
			}
		}
		return nil
	case a.Patch != nil:
		return r.patch(ctx, *a.Patch)
	case a.Attach != "":
		return r.attachments(ctx, a.Attach, func(name string) error {
			return r.patch(ctx, Patch{Object: "volumeattachment/" + name, Patch: []byte(`{"status":{"attached":true}}`), Subresource: "status"})
		})
	case a.Detach != "":
		return r.attachments(ctx, a.Detach, func(name string) error { return r.delete(ctx, "volumeattachment/"+name, nil) })
	case a.Wait > 0:
		return sleep(ctx, seconds(a.Wait))
	case r.Stack != nil:
		return r.performWhole(ctx, a)
	}
	return errors.New("the step has no action that can be recorded without kubelets; expected nodes, create, delete, patch, attach, detach or wait")
}

func (r *Recorder) createOne(ctx context.Context, data []byte) (refused bool, err error) {
	filled, err := r.uids.fill(string(data))
	if err != nil {
		return false, err
	}
	var obj struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace string }
	}
	if err := json.Unmarshal([]byte(filled), &obj); err != nil {
		return false, err
	}
	res, err := manifest.FindResource(r.kinds, obj.Kind)
	if err != nil {
		return false, err
	}
	code, _, err := r.request(ctx, http.MethodPost, r.address(res, obj.Metadata.Namespace, ""), "application/json", filled)
	return code >= 400, err
}

func (r *Recorder) delete(ctx context.Context, text string, grace *int64) error {
	at, err := r.resolve(text)
	if err != nil {
		return err
	}
	options := ""
	if grace == nil && r.Stack == nil {
		grace = new(int64(0))
	}
	if at.Resource.Kind == "Pod" && grace != nil {
		options = fmt.Sprintf(`{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":%d}`, *grace)
	}
	_, _, err = r.request(ctx, http.MethodDelete, r.address(at.Resource, at.Namespace, at.Name), "application/json", options)
	return err
}

func (r *Recorder) patch(ctx context.Context, p Patch) error {
	at, err := r.resolve(p.Object)
	if err != nil {
		return err
	}
	filled, err := r.uids.fill(string(p.Patch))
	if err != nil {
		return err
	}
	url := r.address(at.Resource, at.Namespace, at.Name)
	if p.Subresource != "" {
		url += "/" + p.Subresource
	}
	kind := string(patchTypes[p.Type])
	if p.Type == "apply" {
		url += "?fieldManager=kubectl"
	}
	_, _, err = r.request(ctx, http.MethodPatch, url, kind, filled)
	return err
}

func (r *Recorder) attachments(ctx context.Context, node string, do func(name string) error) error {
	list, err := r.list(ctx, "VolumeAttachment")
	for _, va := range list {
		spec, _ := va["spec"].(map[string]any)
		metadata, _ := va["metadata"].(map[string]any)
		if name, _ := metadata["name"].(string); err == nil && spec["nodeName"] == node {
			err = do(name)
		}
	}
	return err
}

func (r *Recorder) resolve(text string) (manifest.Ref, error) {
	filled, err := r.uids.fill(text)
	if err != nil {
		return manifest.Ref{}, err
	}
	return manifest.ParseRef(r.kinds, "", filled)
}

// address returns the URL of an object, or without a name that of the collection.
func (r *Recorder) address(res manifest.Resource, namespace, name string) string {
	gv := res.GroupVersionResource().GroupVersion()
	parts := []string{"/apis", gv.Group, gv.Version}
	if gv.Group == "" {
		parts = []string{"/api", gv.Version}
	}
	if res.Namespaced {
		if namespace == "" {
			namespace = "default"
		}
		parts = append(parts, "namespaces", namespace)
	}
	return r.API + path.Join(append(parts, res.GroupVersionResource().Resource, name)...)
}

// request makes one request, as "user".
func (r *Recorder) request(ctx context.Context, method, url, contentType, body string) (code int, answer map[string]any, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("User-Agent", storagesim.User)
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	data, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, answer, json.Unmarshal(data, &answer)
}

// list returns all objects of a kind.
func (r *Recorder) list(ctx context.Context, kind string) ([]map[string]any, error) {
	res, err := manifest.FindResource(r.kinds, kind)
	if err != nil {
		return nil, err
	}
	code, answer, err := r.request(ctx, http.MethodGet, r.address(res, "", ""), "", "")
	if err != nil || code != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("list %s: %d %v", kind, code, answer["message"]))
	}
	items, _ := answer["items"].([]any)
	list := make([]map[string]any, len(items))
	for i, item := range items {
		list[i], _ = item.(map[string]any)
		list[i]["apiVersion"], list[i]["kind"] = res.GroupVersionResource().GroupVersion().String(), kind
	}
	return list, nil
}

// restEnds bounds the wait for rest in a step: of a control plane that never rests there is no recording.
const restEnds = 5 * time.Minute

// rest listens until nothing was written for so long.
func (r *Recorder) rest(ctx context.Context, quiet time.Duration) error {
	began := time.Now()
	r.wrote = began
	for time.Since(r.wrote) < quiet {
		if time.Since(began) > restEnds {
			return fmt.Errorf("writes have not ended after %s", restEnds)
		}
		if err := r.listen(); err != nil {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// auditEvent holds the fields of a line of the audit log that are read.
type auditEvent struct {
	Verb, UserAgent string
	ObjectRef       *struct{ Resource, Namespace, Name, APIGroup, Subresource string }
	ResponseStatus  struct {
		Code                    int
		Reason, Message, Status string
	}
	RequestObject, ResponseObject auditObject
	RequestReceivedTimestamp      time.Time
}

// auditObject is an object of the audit log; nil for a JSON patch, which is a list.
type auditObject map[string]any

func (o *auditObject) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return nil
	}
	return json.Unmarshal(data, (*map[string]any)(o))
}

// listen reads the lines that the audit log has more than when it was called last.
func (r *Recorder) listen() error {
	file, err := os.Open(r.Audit)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(r.read, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1] // the last line may still be being written
	r.read += int64(len(whole))
	for line := range bytes.Lines(whole) {
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s: %w", r.Audit, err)
		}
		if e.counts() && !r.nothingNew(e) {
			r.heard, r.wrote = append(r.heard, e), time.Now()
			r.learn(e.ResponseObject)
		}
	}
	return nil
}

// entries returns what was heard since it was called last, in the order in which it was asked for: the log is in that of the answers, and a controller may act
// on an object before the answer to its creation is written. The writes of one object are in the order in which they were done, which its versions tell.
func (r *Recorder) entries() []Entry {
	slices.SortStableFunc(r.heard, func(a, b auditEvent) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	places := map[string][]int{}
	for i, e := range r.heard {
		if e.version() > 0 {
			key := slash(e.ObjectRef.Resource, nameOf(e.ObjectRef.Namespace, e.ObjectRef.Name))
			places[key] = append(places[key], i)
		}
	}
	for _, key := range sortedKeys(places) {
		var done []auditEvent
		for _, i := range places[key] {
			done = append(done, r.heard[i])
		}
		slices.SortStableFunc(done, func(a, b auditEvent) int {
			return cmp.Or(cmp.Compare(a.version(), b.version()), cmp.Compare(a.again(), b.again()))
		})
		for n, i := range places[key] {
			r.heard[i] = done[n]
		}
	}
	var entries []Entry
	for _, e := range r.heard {
		if entry, ok := r.entry(e); ok {
			if !e.RequestReceivedTimestamp.IsZero() {
				entry.At = round(e.RequestReceivedTimestamp.Sub(r.began))
			}
			entries = append(entries, entry)
		}
	}
	r.heard = nil
	return entries
}

// again returns the rank of a write among those that leave the same version: a deletion of an object that is being deleted already leaves that of the write
// before it, and a write that takes the last finalizer away, with which the object goes, leaves that of what it found.
func (e auditEvent) again() int {
	metadata, _ := e.ResponseObject["metadata"].(map[string]any)
	switch {
	case e.Verb == "delete":
		return 1
	case metadata["deletionGracePeriodSeconds"] == float64(0) && metadata["finalizers"] == nil:
		return 2
	}
	return 0
}

// version returns the version of the object that a write left; 0 if there is none.
func (e auditEvent) version() int64 {
	metadata, _ := e.ResponseObject["metadata"].(map[string]any)
	text, _ := metadata["resourceVersion"].(string)
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// round returns a duration in seconds, to the hundredth.
func round(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }

// counts reports whether a line is about a write that recordings have. A repeated event is none: a resync repeats some for ever.
func (e auditEvent) counts() bool {
	switch {
	case e.ObjectRef == nil || strings.HasPrefix(e.UserAgent, "kube-apiserver/") || e.ObjectRef.Resource == "leases":
		return false
	case e.ObjectRef.Resource == "events":
		return e.Verb == "create" && e.ResponseStatus.Code < 400
	}
	return slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb)
}

// entry returns a line as recordings have it; of an event only its first occurrence.
func (r *Recorder) entry(e auditEvent) (Entry, bool) {
	agent, _, _ := strings.Cut(e.UserAgent, "/")
	agent = strings.Replace(agent, ":", "/", 1) // "kubelet:node-1/"
	if program, is := strings.CutPrefix(e.UserAgent, "kube-controller-manager/"); is {
		agent = program[strings.LastIndex(program, "/")+1:]
	}
	resource, code := e.ObjectRef.Resource, e.ResponseStatus.Code
	if resource == "events" {
		return r.event(agent, e)
	}
	metadata, _ := e.ResponseObject["metadata"].(map[string]any)
	name := e.ObjectRef.Name
	if given, _ := metadata["name"].(string); name == "" {
		name = given
	}
	if requested, _ := e.RequestObject["metadata"].(map[string]any); name == "" {
		name, _ = requested["name"].(string)
	}
	entry := Entry{Actor: agent, Verb: e.Verb, Resource: slash(resource, e.ObjectRef.Subresource), Name: nameOf(e.ObjectRef.Namespace, name), Code: code}
	if code >= 400 {
		entry.Reason, entry.Message = e.ResponseStatus.Reason, r.uids.hide(e.ResponseStatus.Message)
		entry.Name = r.uids.hide(entry.Name)
		return entry, true
	}
	key := resource + " " + entry.Name
	before := r.last[key]
	if before == nil {
		before = map[string]any{}
	}
	kind, _ := e.ResponseObject["kind"].(string)
	switch {
	case e.ObjectRef.Subresource == "binding":
		target, _ := e.RequestObject["target"].(map[string]any)
		entry.Node, _ = target["name"].(string)
		r.last[key] = bound(before, entry.Node)
	case kind == "Status":
		entry.Removed = e.Verb == "delete"
		delete(r.last, key)
	default:
		after := r.normal(e.ResponseObject)
		r.last[key] = after
		switch {
		case e.Verb == "create" && agent != storagesim.User:
			entry.Object = after
		case e.Verb != "create" && (e.Verb != "delete" || agent != storagesim.User):
			entry.Changed = differences(before, after)
		}
		if meta, _ := after["metadata"].(map[string]any); e.Verb == "delete" && meta["deletionTimestamp"] == nil { // the last state of some kinds is returned
			entry.Removed = true
			delete(r.last, key)
		}
	}
	entry.Name = r.uids.hide(entry.Name)
	return entry, true
}

// bound returns the pod as it is after its binding to a node. The audit log has only the answer to a binding, not the pod.
func bound(pod map[string]any, node string) map[string]any {
	pod = runtime.DeepCopyJSON(pod)
	if spec, ok := pod["spec"].(map[string]any); ok {
		spec["nodeName"] = node
	}
	if status, ok := pod["status"].(map[string]any); ok {
		status["conditions"] = []any{map[string]any{"type": "PodScheduled", "status": "True"}}
		delete(status, "nominatedNodeName")
	}
	return pod
}

// event returns an event's first occurrence. Events about objects of earlier cases, which the scheduler writes anew once they are old, are no part of this one.
func (r *Recorder) event(agent string, e auditEvent) (Entry, bool) {
	about, is := e.RequestObject["regarding"].(map[string]any)
	if !is {
		about, _ = e.RequestObject["involvedObject"].(map[string]any)
	}
	text := func(m map[string]any, keys ...string) string {
		for _, key := range keys {
			if s, ok := m[key].(string); ok {
				return s
			}
		}
		return ""
	}
	uid, reason := text(about, "uid"), text(e.RequestObject, "reason")
	if _, ours := r.uids.byUID[uid]; uid != "" && !ours || routineOfNode(reason) {
		return Entry{}, false
	}
	object := r.uids.hide(objectKey(text(about, "kind"), text(about, "namespace"), text(about, "name")))
	return Entry{Actor: agent, Event: reason, Type: text(e.RequestObject, "type"),
		Object: object, Message: r.uids.hide(text(e.RequestObject, "note", "message"))}, true
}

// routineOfNode reports whether programs that start say so of a node. They said it before the case, too, and a recording has first occurrences only.
func routineOfNode(reason string) bool {
	return slices.Contains([]string{"NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeAllocatableEnforced",
		"Starting", "RegisteredNode", "NodeReady"}, reason)
}

// learn remembers the UID of an object, and the names that are made of a volume's handle.
func (r *Recorder) learn(obj map[string]any) {
	u := &unstructured.Unstructured{Object: obj}
	kind := u.GetKind()
	if len(obj) == 0 || kind == "Event" {
		return
	}
	var object runtime.Object = u
	if kind == "PersistentVolume" {
		pv := &v1.PersistentVolume{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(obj, pv) == nil {
			object = pv
		}
	}
	r.uids.learn(kind, object)
}

// normal returns an object as recordings have it.
func (r *Recorder) normal(obj map[string]any) map[string]any {
	data, err := json.Marshal(obj)
	var m map[string]any
	if err == nil {
		err = json.Unmarshal([]byte(r.uids.hide(string(data))), &m)
	}
	if err != nil { // it was read from JSON
		panic(err)
	}
	if m["kind"] == "Node" && r.Stack != nil {
		status, _ := m["status"].(map[string]any)
		m["status"] = nodeStatus(status)
	}
	return normalise(m)
}

// clear deletes all objects that a case may have made, and waits until they are gone.
func (r *Recorder) clear(ctx context.Context) error {
	kinds := []string{"StatefulSet", "Pod", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment", "StorageClass", "CSINode", "CSIDriver",
		"CSIStorageCapacity", "VolumeAttributesClass", "Node", "ControllerRevision", "PriorityClass", "ResourceQuota", "LimitRange"}
	for range 100 {
		left := 0
		for _, kind := range kinds {
			res, err := manifest.FindResource(r.kinds, kind)
			if err != nil {
				return err
			}
			list, err := r.list(ctx, kind)
			if err != nil {
				return err
			}
			for _, obj := range list {
				metadata, _ := obj["metadata"].(map[string]any)
				name, _ := metadata["name"].(string)
				if strings.HasPrefix(name, "system-") {
					continue
				}
				left++
				namespace, _ := metadata["namespace"].(string)
				url := r.address(res, namespace, name)
				options := `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}`
				if _, _, err := r.request(ctx, http.MethodDelete, url, "application/json", options); err != nil {
					return err
				}
				if metadata["finalizers"] == nil {
					continue
				}
				if _, _, err := r.request(ctx, http.MethodPatch, url, "application/merge-patch+json", `{"metadata":{"finalizers":null}}`); err != nil {
					return err
				}
			}
		}
		if left == 0 {
			return sleep(ctx, 2*time.Second)
		}
		if err := sleep(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("objects that the case made are still there after they were deleted")
}
