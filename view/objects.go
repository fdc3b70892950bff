package view

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/trace"
)

// objects numbers the objects of a page in the order in which steps name them.
type objects struct {
	list  []Object
	index map[trace.Ref]int
	// byText finds an object by the text of its reference, which records of queues have.
	byText map[string]trace.Ref
	// before has each object as it was before the first step, with the write that names its API.
	before map[trace.Ref]version
	// changed are the objects that a step has written, and based those that base has returned.
	changed, based map[trace.Ref]bool
	// uids has the UID of the first object of each name.
	uids map[trace.Ref]string
}

// version is an object and its API version, which typed objects do not carry.
type version struct {
	object     runtime.Object
	apiVersion string
}

func newObjects() *objects {
	return &objects{index: map[trace.Ref]int{}, byText: map[string]trace.Ref{}, before: map[trace.Ref]version{}, changed: map[trace.Ref]bool{},
		based: map[trace.Ref]bool{}, uids: map[trace.Ref]string{}}
}

// read notes what an entry says of its object, before it becomes a step, if it does.
func (o *objects) read(e trace.Entry, becomesStep bool) {
	w, ok := e.Record.(trace.Write)
	if !ok || w.Err != nil {
		return
	}
	about := w.About()
	o.byText[about.String()] = about
	api := w.Resource.GroupVersion().String()
	switch {
	case !becomesStep && w.New == nil:
		delete(o.before, about)
	case !becomesStep:
		o.before[about] = version{w.New, api}
	case !o.changed[about] && w.Old != nil:
		o.before[about] = version{w.Old, api}
	}
	o.changed[about] = o.changed[about] || becomesStep
	for _, obj := range []runtime.Object{w.Old, w.New} {
		if m, err := meta.Accessor(obj); obj != nil && err == nil && o.uids[about] == "" {
			o.identify(about, string(m.GetUID()))
		}
	}
}

// identify notes the UID of an object, which a step may have named before it was there.
func (o *objects) identify(r trace.Ref, uid string) {
	o.uids[r] = uid
	if i, ok := o.index[r]; ok {
		o.list[i].UID = printable(uid)
	}
}

// number returns the index of an object.
func (o *objects) number(r trace.Ref) int {
	if i, ok := o.index[r]; ok {
		return i
	}
	i := len(o.list)
	o.index[r] = i
	o.list = append(o.list, Object{Kind: printable(r.Kind), Short: printable(trace.ShortKind(r.Kind)), Namespace: printable(r.Namespace),
		Name: printable(r.Name), UID: printable(o.uids[r])})
	return i
}

// knows reports whether a write has told of an object.
func (o *objects) knows(r trace.Ref) bool {
	_, ok := o.byText[r.String()]
	return ok
}

// named returns the index of the object with this text, "pvc default/data"; nil if there is none.
func (o *objects) named(text string) *int {
	r, ok := o.byText[text]
	if !ok {
		return nil
	}
	return new(o.number(r))
}

// base returns the objects that existed before the first step, without those that it returned earlier: the nodes, and what a step is about.
func (o *objects) base() []Base {
	var refs []trace.Ref
	for r := range o.before {
		if _, used := o.index[r]; !o.based[r] && (used || r.Kind == "Node") {
			refs = append(refs, r)
		}
	}
	slices.SortFunc(refs, func(a, b trace.Ref) int { return strings.Compare(a.String()+a.Kind, b.String()+b.Kind) })
	var base []Base
	for _, r := range refs {
		was := o.before[r]
		o.based[r] = true
		var rv uint64
		if m, err := meta.Accessor(was.object); err == nil {
			rv, _ = strconv.ParseUint(m.GetResourceVersion(), 10, 64) // 0 if it has none
		}
		base = append(base, Base{Object: o.number(r), Value: valueOf(was.object, r.Kind, was.apiVersion), RV: rv})
	}
	return base
}

// related returns the objects that an object names: the volume of a claim, the claims and the node of a pod.
func related(obj runtime.Object) (refs []trace.Ref) {
	add := func(kind, namespace, name string) {
		if name != "" {
			refs = append(refs, trace.Ref{Kind: kind, Namespace: namespace, Name: name})
		}
	}
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		add("PersistentVolume", "", o.Spec.VolumeName)
	case *v1.PersistentVolume:
		if o.Spec.ClaimRef != nil {
			add("PersistentVolumeClaim", o.Spec.ClaimRef.Namespace, o.Spec.ClaimRef.Name)
		}
	case *v1.Pod:
		for _, volume := range o.Spec.Volumes {
			if volume.PersistentVolumeClaim != nil {
				add("PersistentVolumeClaim", o.Namespace, volume.PersistentVolumeClaim.ClaimName)
			}
		}
		add("Node", "", o.Spec.NodeName)
	case *storagev1.VolumeAttachment:
		if name := o.Spec.Source.PersistentVolumeName; name != nil {
			add("PersistentVolume", "", *name)
		}
		add("Node", "", o.Spec.NodeName)
	}
	return refs
}
