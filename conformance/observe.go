package conformance

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/trace"
)

// observer watches a replay as the audit log watched the recording.
type observer struct {
	cluster   *storagesim.Cluster
	uids      *uids
	lastWrite time.Time

	step     *observed
	err      error           // the first write that could not be observed
	seen     map[string]bool // the keys of Event objects seen before
	known    map[string]bool // those known to newEvents
	said     map[said]bool   // the events seen before
	heard    int             // how much of the trace has been read
	steering *steering       // is told of each write
	// simulated reports, in a case with kubelets, whether an actor's writes count; nil means all do.
	simulated func(actor string) bool
}

// observed holds the writes, events, refusals and calls of one step.
type observed struct {
	writes   []write
	events   []said          // first occurrences
	repeated []said          // later ones
	combined map[said]string // the first message of events that tell of similar ones, of which it is the only field that changes
	refusals []refusal
	files    []File
	calls    []DriverCall
	left     *Left
	ended    []string // programs, by themselves
	gone     []string // the UIDs of pods that went
	// said is, in a recorded step, how many of its writes there were before an event, by its text.
	said map[string]int
}

// write is a controller's successful write that changed something.
type write struct {
	object  string // "persistentvolumeclaims default/data"
	actor   string
	verb    string
	sub     string // subresource
	changed map[string]any
	created map[string]any // the whole object, of a create
	removed bool
	node    string // of a binding
	number  int    // in its step, from 1
}

// refusal is a request of the user's that was refused.
type refusal struct {
	request string // "patch persistentvolumes pv"
	code    int
	reason  string
	message string   // as texts are compared
	fields  []string // for 422
	cut     bool     // the recorder cut the message, and so perhaps fields
}

func newObserver(cluster *storagesim.Cluster, uids *uids, steering *steering) *observer {
	o := &observer{cluster: cluster, uids: uids, steering: steering, seen: map[string]bool{}, known: map[string]bool{}, said: map[said]bool{}}
	cluster.Engine().Server().OnWrite(o.onWrite)
	return o
}

func (o *observer) begin() { o.step = &observed{} }

// end returns all that was observed since begin.
func (o *observer) end() (*observed, error) {
	if o.err != nil {
		return nil, o.err
	}
	o.listen()
	// Repeats are counted as client-go's recorders do, so the first occurrences are
	// the Event objects that are new.
	list, err := o.cluster.Client().CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, e := range list.Items {
		about := o.uids.hide(objectKey(e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name))
		actor := actorOf(cmp.Or(e.Source.Component, e.ReportingController), cmp.Or(e.Source.Host, e.ReportingInstance))
		event := said{actor, e.Type, e.Reason, about, comparedText(o.uids.hide(e.Message))}
		if first := o.step.combined[said{actor, e.Type, e.Reason, about, ""}]; first != "" && strings.HasPrefix(e.Message, combinedFrom) {
			event.message = first
		}
		if key := e.Namespace + "/" + e.Name; !o.seen[key] {
			o.seen[key] = true
			if o.simulated != nil && o.said[event] { // of an earlier object of that name
				o.step.repeated = append(o.step.repeated, event)
				continue
			}
			o.step.events = append(o.step.events, event)
		}
	}
	for _, event := range o.step.events {
		o.said[event] = true
	}
	return o.step, nil
}

// listen reads what has been said since it was called last. A new Event object is a write for
// which the recorder waited, also if its text was said before; a repeated event is not.
func (o *observer) listen() {
	log := o.cluster.Engine().Trace()
	var fresh map[eventKey]bool
	for _, entry := range log.Since(o.heard) {
		e, ok := entry.Record.(trace.Event)
		if !ok || e.Dropped {
			continue
		}
		if fresh == nil {
			fresh = o.newEvents()
		}
		key := eventKey{e.About.Kind, e.About.Namespace, e.About.Name, e.Reason, e.Message}
		if !e.Repeated || fresh[key] {
			o.lastWrite = later(o.lastWrite, entry.Time)
			delete(fresh, key) // what repeats it is none
		}
		if o.step != nil {
			about := o.uids.hide(objectKey(e.About.Kind, e.About.Namespace, e.About.Name))
			event := said{recordedActor(entry.Actor), e.Type, e.Reason, about, ""}
			if e.Combined {
				e.Message = combinedFrom + e.Message
				if o.step.combined == nil {
					o.step.combined = map[said]string{}
				}
				o.step.combined[event] = cmp.Or(o.step.combined[event], comparedText(o.uids.hide(e.Message)))
			}
			event.message = comparedText(o.uids.hide(e.Message))
			o.step.repeated = append(o.step.repeated, event)
		}
	}
	o.heard = log.Len()
}

// combinedFrom begins the message of an event by which client-go's recorders tell of similar ones.
//
// Upstream: client-go tools/record/event.go EventAggregatorByReasonMessageFunc, v1.37.
const combinedFrom = "(combined from similar events): "

// eventKey is by what a record of an event is found to be that of an Event object.
type eventKey struct{ kind, namespace, name, reason, message string }

// newEvents returns the Event objects that were not there when it was called last.
func (o *observer) newEvents() map[eventKey]bool {
	found := map[eventKey]bool{}
	list, err := o.cluster.Client().CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return found // the server always lists
	}
	for _, e := range list.Items {
		if key := e.Namespace + "/" + e.Name; !o.known[key] {
			o.known[key] = true
			found[eventKey{e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message}] = true
		}
	}
	return found
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// actorOf returns the user agent of the program that signs its events so.
func actorOf(component, host string) string {
	switch component {
	case "persistentvolume-controller":
		return storagesim.PVController
	case "default-scheduler":
		return storagesim.Scheduler
	case "volume_expand":
		return storagesim.VolumeExpansion
	case "ephemeral_volume":
		return storagesim.EphemeralVolumes
	case "kubelet":
		return component + "/" + host
	case "external-provisioner": // of a claim that another program is to fill
		return "csi-provisioner"
	}
	for _, driver := range knownDrivers() {
		switch {
		case strings.HasPrefix(component, driver):
			return "csi-provisioner"
		case component == "external-resizer "+driver:
			return "csi-resizer"
		case component == "csi-snapshotter "+driver:
			return "csi-snapshotter"
		}
	}
	return userAgent(component)
}

// userAgent returns the name under which an actor calls a real API server: the taint eviction controller
// there has the client of the node lifecycle controller.
func userAgent(actor string) string {
	if actor == storagesim.TaintEviction {
		return storagesim.NodeLifecycle
	}
	return actor
}

// compared reports whether writes to a resource count.
func compared(resource string) bool {
	switch resource {
	case "events", "statefulsets", "controllerrevisions":
		return false
	}
	return true
}

func (o *observer) onWrite(w trace.Write) {
	if w.Old != nil {
		o.uids.learn(w.Kind, w.Old)
	}
	if w.New != nil {
		o.uids.learn(w.Kind, w.New)
	}
	if w.Resource.Resource == "leases" || w.Actor == "kube-apiserver" || trace.IsHeartbeat(w.Old, w.New) {
		return // of these recordings say nothing
	}
	if w.Err == nil && w.Old != w.New {
		o.lastWrite = w.Time
	}
	if o.step == nil {
		return
	}
	object := o.uids.hide(w.Resource.Resource + " " + nameOf(w.Namespace, w.Name))
	o.steering.ahead.made(w, object)
	if !compared(w.Resource.Resource) {
		return
	}
	if pod, ok := w.Old.(*v1.Pod); ok && w.New == nil && w.Err == nil {
		o.step.gone = append(o.step.gone, o.uids.hide(string(pod.UID)))
	}
	switch {
	case w.Actor == storagesim.User && w.Err != nil:
		r := refusal{request: o.uids.hide(w.Verb + " " + slash(w.Resource.Resource, w.Subresource) + " " + nameOf(w.Namespace, w.Name)), code: w.Code}
		r.reason, r.message = string(apierrors.ReasonForError(w.Err)), problems(comparedText(o.uids.hide(w.Err.Error())))
		if r.code == 422 {
			r.fields = invalidFields(w.Err.Error())
		}
		o.step.refusals = append(o.step.refusals, r)
	case w.Actor == storagesim.User || w.Err != nil:
	default:
		got := write{object: object, actor: recordedActor(w.Actor), verb: w.Verb, sub: w.Subresource, removed: w.New == nil}
		if err := o.describe(&got, w); err != nil {
			o.err = fmt.Errorf("%s %s: %w", w.Verb, object, err)
			return
		}
		if !got.changesNothing() {
			got.number = len(o.step.writes) + 1
			o.step.writes = append(o.step.writes, got)
			o.steering.wrote()
		}
	}
}

// describe adds what the write did to the object.
func (o *observer) describe(got *write, w trace.Write) error {
	var old, new map[string]any
	var err error
	if w.Old != nil {
		if old, err = o.normal(w.Old); err != nil {
			return err
		}
	}
	after := w.New
	if after == nil {
		after = w.Last
	}
	if after != nil {
		if new, err = o.normal(after); err != nil {
			return err
		}
	}
	switch {
	case w.Subresource == "binding":
		spec, _ := new["spec"].(map[string]any)
		got.node, _ = spec["nodeName"].(string)
	case old == nil: // as the audit log has it, which the stored object has not
		new["apiVersion"], new["kind"] = w.Resource.GroupVersion().String(), w.Kind
		got.created = new
	case new != nil:
		got.changed = differences(old, new)
	}
	return nil
}

// normal returns the object as recordings have it. Those with kubelets have of a node's
// status no more than whether it is ready, and its volumes.
func (o *observer) normal(obj runtime.Object) (map[string]any, error) {
	m, err := o.uids.normal(obj)
	node, ok := obj.(*v1.Node)
	if err != nil || !ok || o.simulated == nil {
		return m, err
	}
	status, _ := m["status"].(map[string]any)
	for field := range status {
		if field != "volumesInUse" && field != "volumesAttached" {
			delete(status, field)
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			status["<ready>"] = string(c.Status)
		}
	}
	return m, nil
}

// changesNothing reports whether a write has no effect of its own. Such is the deletion of an
// object that is being deleted already: what else its answer shows, others changed.
func (w write) changesNothing() bool {
	if w.verb == "delete" {
		_, begins := w.changed["/metadata/deletionTimestamp"]
		_, sooner := w.changed["/metadata/deletionGracePeriodSeconds"]
		return !w.removed && w.changed != nil && !begins && !sooner
	}
	return w.sub != "binding" && w.created == nil && len(w.changed) == 0
}

func nameOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func slash(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

// invalidField finds the field paths in the message of a 422, which is
// "Kind "name" is invalid: path: what: detail", or a list of those in brackets.
var invalidField = regexp.MustCompile(`(?:is invalid: \[?|, )([^\s:,]+): (?:Required value|Invalid value|Forbidden|Unsupported value|Not found|Duplicate ` +
	`value|Too long|Too many|Too few|Internal error)`)

// invalidFields returns the fields that a refusal names. It looks at the first line, and at most 3000 characters of it, since recordings
// keep no more of a message.
func invalidFields(message string) []string {
	message, _, _ = strings.Cut(message, "\n")
	message = message[:min(len(message), 3000)]
	var fields []string
	for _, m := range invalidField.FindAllStringSubmatch(message, -1) {
		fields = append(fields, m[1])
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// recordedKinds returns the kinds whose objects a recording lists at its end, except
// StatefulSets, which are not compared.
func recordedKinds() []string {
	return []string{"PersistentVolume", "PersistentVolumeClaim", "Pod", "StorageClass", "VolumeAttachment", "CSINode", "Node"}
}

// objects returns the objects at rest, by key.
func (o *observer) objects() (map[string]map[string]any, error) {
	objects := map[string]map[string]any{}
	for _, obj := range o.cluster.Engine().Server().Objects(false) {
		kind := obj.GetObjectKind().GroupVersionKind()
		if _, known := manifest.ResourceForKind(o.cluster.Engine().Server().Registry(), kind); !known || !slices.Contains(recordedKinds(), kind.Kind) {
			continue
		}
		m, err := o.normal(obj)
		if err != nil {
			return nil, err
		}
		objects[keyOf(m)] = m
	}
	return objects, nil
}

// keyOf returns the key of an object in JSON.
func keyOf(m map[string]any) string {
	kind, _ := m["kind"].(string)
	metadata, _ := m["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return objectKey(kind, namespace, name)
}
