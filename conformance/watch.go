package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/trace"
)

// Watcher observes a cluster that is driven live, as recordings are observed: step by step it
// takes down what was written, said and refused, and what was called of a CSI driver. So two runs
// of one scenario can be compared, for example one with the real sidecars and one with ours: see
// CompareRuns.
type Watcher struct {
	mu       sync.Mutex
	observer *observer
	driver   string
	calls    []DriverCall
	last     time.Time // the machine's, of the last write or call that counts
}

// Watch begins to observe a cluster, which is not driven yet. The driver is the one whose calls
// count; its Options must have the watcher's Intercept.
func Watch(cluster *storagesim.Cluster, driver string) *Watcher {
	o := &observer{cluster: cluster, uids: newUIDs(), seen: map[string]bool{}, known: map[string]bool{}, said: map[said]bool{},
		simulated: func(string) bool { return true }, steering: &steering{}} // it steers nothing
	w := &Watcher{observer: o, driver: driver, last: time.Now()}
	for _, obj := range cluster.Engine().Server().Objects(false) {
		o.uids.learn(obj.GetObjectKind().GroupVersionKind().Kind, obj)
		if node, ok := obj.(*v1.Node); ok {
			o.uids.nodes = append(o.uids.nodes, node.Name)
		}
	}
	cluster.Engine().Server().OnWrite(w.onWrite)
	return w
}

func (w *Watcher) onWrite(write trace.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.observer.lastWrite
	w.observer.onWrite(write)
	if write.Err == nil && w.observer.lastWrite != before {
		w.last = time.Now()
	}
}

// Intercept takes down the calls of the driver's servers.
func (w *Watcher) Intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, req)
	service, method, _ := strings.Cut(strings.TrimPrefix(info.FullMethod, "/csi.v1."), "/")
	if call.Routine(method) {
		return answer, err
	}
	c := DriverCall{Driver: w.driver, Method: method, Side: strings.ToLower(service), Code: status.Code(err).String()}
	if message, ok := req.(proto.Message); ok {
		c.Request = fields(message)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.last = append(w.calls, c), time.Now()
	return answer, err
}

// fields returns the fields of a request, by their names in the protocol.
func fields(message proto.Message) map[string]any {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	found := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return found
}

// Begin begins a step.
func (w *Watcher) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observer.begin()
	w.calls = nil
}

// Quiet says for how long, in the machine's time, nothing has been written or called.
func (w *Watcher) Quiet() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// End ends a step, and says what it brought.
func (w *Watcher) End(name string) (*Observation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, err := w.observer.end()
	if err != nil {
		return nil, err
	}
	for _, c := range w.calls {
		text, err := json.Marshal(c.Request)
		if err == nil {
			err = json.Unmarshal([]byte(w.observer.uids.hide(string(text))), &c.Request)
		}
		if err != nil {
			return nil, err
		}
		seen.calls = append(seen.calls, c)
	}
	w.observer.step = nil
	return &Observation{name: name, observed: seen}, nil
}

// Observation holds the writes, events and calls of one step of a scenario.
type Observation struct {
	name     string
	observed *observed
}

// Size returns the numbers of writes, kinds of events and calls.
func (o *Observation) Size() (writes, events, calls int) {
	return len(o.observed.writes), len(o.observed.events), len(o.observed.calls)
}

// Writers returns the actors whose writes count, in order of their names.
func (o *Observation) Writers() []string {
	var names []string
	for _, w := range o.observed.writes {
		names = append(names, w.actor)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CompareRuns compares two runs of one scenario, step by step; want is the run with the
// real programs. It follows the rules of recordings, and these for programs that ran at the same
// time:
//
//   - the writes of each actor to each object are compared in their order; in which order
//     different actors wrote is chance;
//   - of a write of a volume's or a claim's finalizers alone it counts whether the actor added or
//     removed its own: the other entries in the list depend on other writers, as in recordings;
//   - when a kubelet writes its node's status is left out: that depends on its rounds;
//   - the same write once more in a step is chance: a controller was set off again before its cache
//     knew the first one;
//   - an attachment that failed since the attacher's cache did not know the volume yet, and that came
//     about in the same step, counts as one that came about at once;
//   - of a deletion it counts that it was asked for: whether the object went with it depends on
//     whose finalizer was the last;
//   - an object whose name the server made is known by what it was created with;
//   - of an event the message is not compared: it may name what the server made up;
//   - an event about an object without a name is left out: snapshot-controller v8.7.0 records one
//     if the write before it was refused (updateSnapshotErrorStatusWithEvent), which it tries again.
func CompareRuns(want, got []*Observation) []Difference {
	var all []Difference
	wantNames, gotNames := generated(want), generated(got)
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) {
			return append(all, Difference{Step: i + 1, Of: len(want), Wanted: fmt.Sprint(len(want), " steps"), Got: fmt.Sprint(len(got), " steps")})
		}
		w, g := overcome(want[i].observed), overcome(got[i].observed)
		found := slices.Concat(
			compareRefusals(w.refusals, g.refusals),
			compareWrites(concurrent(w.writes, wantNames), concurrent(g.writes, gotNames)),
			compareEvents(named(w.events), without(named(g.events), textless(w.repeated)), textless(g.repeated)),
			compareCalls(w.calls, g.calls))
		for _, d := range found {
			d.Step, d.Of = i+1, len(want)
			d.Object = strings.TrimSpace(want[i].name + ": " + d.Object)
			all = append(all, d)
		}
	}
	return all
}

// attachError is the field into which an attacher writes why a volume could not be attached.
const attachError = "/status/attachError"

// overcome leaves out of a step the failures to attach that were overcome in it, and what
// attach/detach said of them.
func overcome(o *observed) *observed {
	attached := map[string]bool{}
	for _, w := range o.writes {
		attached[w.object] = attached[w.object] || w.changed["/status/attached"] == true
	}
	left := *o
	left.writes = nil
	failed := false
	for _, w := range o.writes {
		if attached[w.object] {
			before := len(w.changed)
			w.changed = maps.Clone(w.changed)
			maps.DeleteFunc(w.changed, func(path string, _ any) bool { return strings.HasPrefix(path, attachError) })
			failed = failed || len(w.changed) < before
		}
		if !w.changesNothing() {
			left.writes = append(left.writes, w)
		}
	}
	if failed {
		left.events = slices.DeleteFunc(slices.Clone(o.events), func(e said) bool { return e.actor == storagesim.AttachDetach && e.reason == "FailedAttachVolume" })
	}
	return &left
}

// generated returns the objects of a run whose names the server made, with what they were created
// with in place of the name.
func generated(run []*Observation) map[string]string {
	names := map[string]string{}
	for _, step := range run {
		for _, w := range step.observed.writes {
			metadata, _ := w.created["metadata"].(map[string]any)
			prefix, made := metadata["generateName"].(string)
			if !made {
				continue
			}
			spec := nameless(w.created)
			delete(spec, "metadata")
			resource, _, _ := strings.Cut(w.object, " ")
			text, _ := json.Marshal(spec) // it has been JSON before
			names[w.object] = resource + " " + prefix + string(text)
		}
	}
	return names
}

// nameless returns an object without its name, and its UID, which the name is in.
func nameless(object map[string]any) map[string]any {
	object = maps.Clone(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "name")
		delete(metadata, "uid")
		object["metadata"] = metadata
	}
	return object
}

// named returns the events about objects that have a name, without their messages.
func named(events []said) []said {
	return slices.DeleteFunc(textless(events), func(e said) bool { return strings.HasSuffix(e.object, "/") })
}

// claimGuards are the finalizers by which several components keep a claim, by who adds and
// removes them.
var claimGuards = map[string]string{
	"pvc-protection-controller": "kubernetes.io/pvc-protection",
	"csi-provisioner":           "provisioner.storage.kubernetes.io/cloning-protection",
	"snapshot-controller":       snapshots.PVCFinalizer,
}

// concurrent brings writes of programs that ran at the same time into a form that does not
// depend on their order. names maps names that the server made.
func concurrent(writes []write, names map[string]string) []write {
	var list []write
	for _, w := range apart(writes) {
		if strings.HasPrefix(w.object, "nodes ") && w.sub == "status" {
			continue // when, depends on the kubelet's rounds
		}
		if own := claimGuards[w.actor]; own != "" && strings.HasPrefix(w.object, "persistentvolumeclaims ") && w.onlyFinalizers() {
			w.changed = map[string]any{own: hasFinalizer(w.changed["/metadata/finalizers"], own)}
		}
		if name, made := names[w.object]; made {
			if w.object = name; w.created != nil {
				w.created = nameless(w.created)
			}
		}
		w.object += " by " + w.actor
		if w.verb == "delete" {
			w.changed, w.removed = map[string]any{}, false
		}
		again := func(other write) bool {
			return other.object == w.object && other.sub == w.sub && other.verb == w.verb && w.created == nil &&
				reflect.DeepEqual(other.changed, w.changed)
		}
		if !slices.ContainsFunc(list, again) {
			list = append(list, w)
		}
	}
	return list
}
