package conformance

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/storagesim/storagesim"
)

// Difference is one thing in which a replay differs from the recording.
type Difference struct {
	// Step counts from 1; 0 is the state at the end.
	Step, Of int
	// Object is the object that differs, "events" or "refusals".
	Object string
	// Wanted is the recorded value, Got the value of the simulation.
	Wanted, Got string

	// write is the number, from 1, of the write of the replay's step that differs; 0 if none does.
	write int
}

// same reports whether two differences read alike.
func (d Difference) same(e Difference) bool {
	d.write = e.write
	return d == e
}

func (d Difference) String() string {
	where := "at the end"
	if d.Step > 0 {
		where = fmt.Sprintf("step %d of %d", d.Step, d.Of)
	}
	if d.Object != "" {
		where += ", " + d.Object
	}
	return fmt.Sprintf("%s: wanted %s, got %s", where, d.Wanted, d.Got)
}

// compareStep compares what a step brought with what was recorded: refusals,
// then writes by object, then events.
func compareStep(want Step, got *observed) []Difference {
	recorded := expectations(want.Writes)
	return slices.Concat(
		compareRefusals(recorded.refusals, got.refusals),
		compareWrites(recorded.writes, got.writes),
		recorded.place(compareEvents(recorded.events, got.events, got.repeated)))
}

// compare compares step i, from 0, with its recording. In a case with kubelets it leaves
// out differences between two recorded runs, writes of actors that do not exist here, and the
// nodes' status, which depends on the time of the kubelet's rounds and is compared at the end.
func (r *replay) compare(i int, got *observed) []Difference {
	step := r.rec.Steps[i]
	if !r.rec.whole() {
		return compareStep(step, got)
	}
	step.Writes = slices.DeleteFunc(slices.Clone(step.Writes), func(e Entry) bool { return !r.simulated(e.Actor) })
	recorded := expectations(step.Writes)
	doubtful := r.rec.optionalWrites(i)
	optional := r.rec.optionalEvents(i)
	left := func(w write) bool { return strings.HasPrefix(w.object, "nodes ") && w.sub == "status" }
	return slices.Concat(
		compareRefusals(recorded.refusals, got.refusals),
		compareWrites(registered(apart(doubtful.leaveOut(slices.DeleteFunc(recorded.writes, left)))),
			registered(apart(doubtful.leaveOut(slices.DeleteFunc(got.writes, left))))),
		recorded.place(compareEvents(leaveOut(recorded.events, optional), leaveOut(got.events, optional), got.repeated)),
		r.compareFiles(step.Files, got.files),
		compareEnded(step.Ended, got.ended),
		compareLeft(step.Left, got.left, got.gone),
		r.compareCalls(i, got.calls))
}

// compareCalls compares the calls of drivers, unless two recorded runs had others.
func (r *replay) compareCalls(i int, got []DriverCall) []Difference {
	if r.rec.optionalCalls(i) {
		return nil
	}
	return compareCalls(r.rec.Steps[i].answered(), got)
}

// guards are the finalizers by which several components keep a PersistentVolume, by who
// adds and removes each.
var guards = map[string]string{
	storagesim.PVProtection: "kubernetes.io/pv-protection",
	"csi-provisioner":       "external-provisioner.volume.kubernetes.io/finalizer",
	"csi-attacher":          "external-attacher/",
}

// apart takes writes of nothing but such finalizers out of the order of a volume's writes:
// which component removes its finalizer first is chance, and with it what the others leave.
// Each component's own finalizer is compared: that it was added, or removed.
func apart(writes []write) []write {
	list := make([]write, 0, len(writes))
	for _, w := range writes {
		if own := guards[w.actor]; own != "" && strings.HasPrefix(w.object, "persistentvolumes ") && w.onlyFinalizers() {
			w.object += " finalizers by " + w.actor
			w.changed = map[string]any{own: hasFinalizer(w.changed["/metadata/finalizers"], own)}
		}
		list = append(list, w)
	}
	return list
}

// registered leaves out the registrations of drivers in a CSINode after which another one follows in the step: which driver registers first is chance.
// The last one has them all.
func registered(writes []write) []write {
	last := map[string]int{}
	registers := func(w write) bool {
		_, ok := w.changed["/spec/drivers"]
		return ok && len(w.changed) == 1 && strings.HasPrefix(w.object, "csinodes ")
	}
	for i, w := range writes {
		if registers(w) {
			last[w.object] = i
		}
	}
	list := make([]write, 0, len(writes))
	for i, w := range writes {
		if !registers(w) || last[w.object] == i {
			list = append(list, w)
		}
	}
	return list
}

// hasFinalizer reports whether a list of finalizers has one that begins so.
func hasFinalizer(list any, prefix string) bool {
	finalizers, _ := list.([]any)
	return slices.ContainsFunc(finalizers, func(f any) bool {
		name, _ := f.(string)
		return strings.HasPrefix(name, prefix)
	})
}

// onlyFinalizers reports whether a write changes nothing else.
func (w write) onlyFinalizers() bool {
	_, ok := w.changed["/metadata/finalizers"]
	return ok && len(w.changed) == 1 && w.created == nil && w.verb != "delete"
}

// compareEnd compares the state at the end. Nodes and what belongs to them were there
// before in a case with kubelets; of those it compares what has changed since.
func (r *replay) compareEnd(got map[string]map[string]any) []Difference {
	if !r.rec.whole() {
		return compareObjects(r.rec.Objects, got)
	}
	if r.rec.fromNothing() && len(r.rec.Objects) == 0 { // not even the nodes: the recorder did not look
		return nil
	}
	got = maps.Clone(got)
	recorded := map[string]map[string]any{}
	for _, obj := range r.rec.Before {
		recorded[keyOf(obj)] = obj
	}
	doubtful := r.rec.optionalAtEnd()
	var want []map[string]any
	for _, obj := range r.rec.Objects {
		key := keyOf(obj)
		if g, ok := got[key]; ok {
			obj, got[key] = doubtful.without(key, obj), doubtful.without(key, g)
		}
		before, there := recorded[key]
		if !there {
			want = append(want, obj)
			continue
		}
		if g, ok := got[key]; ok && text(differences(before, obj)) == text(differences(r.before[key], g)) {
			delete(got, key)
			continue
		}
		want = append(want, obj)
	}
	return compareObjects(want, got)
}

// expectations reads what counts out of a recorded step, in the form in which
// the simulation is observed.
func expectations(entries []Entry) *observed {
	want := &observed{said: map[string]int{}}
	for _, e := range entries {
		resource, sub, _ := strings.Cut(e.Resource, "/")
		switch {
		case e.Event != "":
			about, _ := e.Object.(string)
			if e.Event == "ImageGCFailed" { // the recorder's container runtime has no images that a kubelet could remove
				continue
			}
			if strings.HasSuffix(about, "/") { // of no object: a controller had the empty answer of a failed request in place of its object
				continue
			}
			event := said{e.Actor, e.Type, e.Event, about, comparedText(e.Message)}
			want.events = append(want.events, event)
			if _, there := want.said[event.String()]; !there {
				want.said[event.String()] = len(want.writes)
			}
		case !compared(resource):
		case e.Actor == storagesim.User && e.Code >= 400:
			r := refusal{request: e.Verb + " " + e.Resource + " " + e.Name, code: e.Code, reason: e.Reason, message: problems(comparedText(e.Message))}
			if e.Code == 422 {
				r.fields, r.cut = invalidFields(e.Message), isCut(e.Message)
			}
			want.refusals = append(want.refusals, r)
		case e.Actor == storagesim.User || e.Code >= 400:
		default:
			w := write{
				object: resource + " " + e.Name, actor: e.Actor, verb: e.Verb, sub: sub,
				changed: e.Changed, node: e.Node, removed: e.Removed,
			}
			if created, ok := e.Object.(map[string]any); ok {
				w.created = created
			}
			if !w.changesNothing() {
				want.writes = append(want.writes, w)
			}
		}
	}
	return want
}

// compareRefusals compares the refused requests in order. A request that only one
// side refused does not shift those after it.
func compareRefusals(want, got []refusal) []Difference {
	var all []Difference
	differ := func(w, g fmt.Stringer) {
		all = append(all, Difference{Object: refusals, Wanted: orNothing(w), Got: orNothing(g)})
	}
	for len(want) > 0 {
		w := want[0]
		want = want[1:]
		i := slices.IndexFunc(got, func(g refusal) bool { return g.request == w.request })
		if i < 0 {
			differ(w, nil)
			continue
		}
		for _, extra := range got[:i] {
			differ(nil, extra)
		}
		if !w.agrees(got[i]) {
			differ(w, got[i])
		}
		got = got[i+1:]
	}
	for _, extra := range got {
		differ(nil, extra)
	}
	return all
}

// refusals is the Object of differences between refusals.
const refusals = "refusals"

// agrees reports whether the simulation's refusal is the recorded one.
func (r refusal) agrees(got refusal) bool {
	if r.request != got.request || r.code != got.code || r.reason != got.reason {
		return false
	}
	if r.cut {
		return len(without(r.fields, got.fields)) == 0
	}
	return r.message == got.message && slices.Equal(r.fields, got.fields)
}

// isCut reports whether a message was cut by the recorder, which did so after 300
// characters, and later after 3,000.
func isCut(message string) bool {
	n := utf8.RuneCountInString(message)
	return n == 300 || n == 3000
}

// orNothing returns the text of something that may be missing.
func orNothing(s fmt.Stringer) string {
	if s == nil {
		return "nothing"
	}
	return s.String()
}

// compareWrites compares the writes to each object, in the order in which the
// objects were first written; those written only here come last. Of each object
// it tells the first difference: those after it may be but its consequences.
func compareWrites(want, got []write) []Difference {
	var all []Difference
	wanted, objects := byObject(want, nil)
	gotten, objects := byObject(got, objects)
	for _, object := range objects {
		w, g := wanted[object], gotten[object]
		for i := range max(len(w), len(g)) {
			if i < len(w) && i < len(g) && w[i].agrees(g[i]) {
				continue
			}
			d := Difference{Object: object, Wanted: at(w, i), Got: at(g, i)}
			if i < len(g) {
				d.write = g[i].number
			}
			all = append(all, d)
			break
		}
	}
	return all
}

func byObject(writes []write, objects []string) (map[string][]write, []string) {
	sorted := map[string][]write{}
	for _, w := range writes {
		if !slices.Contains(objects, w.object) {
			objects = append(objects, w.object)
		}
		sorted[w.object] = append(sorted[w.object], w)
	}
	return sorted, objects
}

// agrees reports whether the simulation's write is the recorded one.
func (w write) agrees(got write) bool {
	switch {
	case w.actor != got.actor || w.verb != got.verb || w.sub != got.sub:
		return false
	case w.sub == "binding":
		// The audit log shows a binding's answer, not the pod.
		return w.node == "" || w.node == got.node
	case w.verb == "delete":
		// What a delete's answer looks like depends on the kind (an object, or a
		// Status); that the object is gone, or is not, shows at the end.
		return !w.removed || got.removed
	case w.created != nil || got.created != nil:
		return reflect.DeepEqual(w.created, got.created)
	}
	return reflect.DeepEqual(w.changed, got.changed)
}

func (w write) String() string {
	s := w.actor + " " + w.verb
	if w.sub != "" {
		s += " " + w.sub
	}
	switch {
	case w.sub == "binding" && w.node != "":
		return s + " to " + w.node
	case w.created != nil:
		return s + " " + text(w.created)
	case len(w.changed) > 0:
		return s + " " + text(w.changed)
	}
	return s
}

func (r refusal) String() string {
	s := r.request + " refused with " + strconv.Itoa(r.code) + " " + r.reason
	if len(r.fields) > 0 {
		s += " for " + strings.Join(r.fields, ", ")
	}
	return withMessage(s, r.message)
}

// at returns the text of element i, "nothing" if there is none.
func at[T fmt.Stringer](list []T, i int) string {
	if i >= len(list) {
		return "nothing"
	}
	return list[i].String()
}

// compareEvents compares the sets of events. What the simulation only repeated may
// have been recorded as a first occurrence, or not at all.
func compareEvents(want, got, repeated []said) []Difference {
	missing, extra := without(without(want, got), repeated), without(got, want)
	var all []Difference
	for i := range max(len(missing), len(extra)) {
		d := Difference{Object: "events", Wanted: "nothing more", Got: "nothing"}
		if i < len(missing) {
			d.Wanted = missing[i].String()
		}
		if i < len(extra) {
			d.Got = extra[i].String()
		}
		all = append(all, d)
	}
	return all
}

// place says of differences between events which write follows the recorded one: the replay has about as many before.
func (o *observed) place(events []Difference) []Difference {
	for i, d := range events {
		if n, recorded := o.said[d.Wanted]; recorded {
			events[i].write = n + 1
		}
	}
	return events
}

// without returns the elements of list that are not in other.
func without[T comparable](list, other []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return slices.Contains(other, v) })
}

// compareObjects compares the state at the end.
func compareObjects(recorded []map[string]any, got map[string]map[string]any) []Difference {
	want := map[string]map[string]any{}
	for _, obj := range recorded {
		if kind, _ := obj["kind"].(string); slices.Contains(recordedKinds(), kind) {
			want[keyOf(obj)] = obj
		}
	}
	keys := maps.Clone(want)
	maps.Copy(keys, got)
	var all []Difference
	for _, key := range sortedKeys(keys) {
		w, wanted := want[key]
		g, there := got[key]
		switch {
		case !wanted:
			all = append(all, Difference{Object: key, Wanted: "no such object", Got: text(g)})
		case !there:
			all = append(all, Difference{Object: key, Wanted: text(w), Got: "no such object"})
		default:
			changed := differences(w, g)
			for _, at := range sortedKeys(changed) {
				all = append(all, Difference{Object: key + " " + at, Wanted: text(lookup(w, at)), Got: text(changed[at])})
			}
		}
	}
	return all
}

// lookup follows a JSON pointer through maps.
func lookup(m map[string]any, pointer string) any {
	var value any = m
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		m, _ := value.(map[string]any)
		value = m[unescape.Replace(part)]
	}
	return value
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")
