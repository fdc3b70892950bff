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
	// uids has the UID of the first object of each name.
	uids map[trace.Ref]string
}

// version is an object and its API version, which typed objects do not carry.
type version struct {
	object     runtime.Object
	apiVersion string
}

// newObjects reads what existed before the entry of index shown.
func newObjects(entries []trace.Entry, shown int) *objects {
	o := &objects{index: map[trace.Ref]int{}, byText: map[string]trace.Ref{}, before: map[trace.Ref]version{}, uids: map[trace.Ref]string{}}
	changed := map[trace.Ref]bool{}
	for i, e := range entries {
		w, ok := e.Record.(trace.Write)
		if !ok || w.Err != nil {
			continue
		}
		about := w.About()
		o.byText[about.String()] = about
		api := w.Resource.GroupVersion().String()
		switch {
		case i < shown && w.New == nil:
			delete(o.before, about)
		case i < shown:
			o.before[about] = version{w.New, api}
		case !changed[about] && w.Old != nil:
			o.before[about] = version{w.Old, api}
		}
		if i >= shown {
			changed[about] = true
		}
		for _, obj := range []runtime.Object{w.Old, w.New} {
			if m, err := meta.Accessor(obj); obj != nil && err == nil && o.uids[about] == "" {
				o.uids[about] = string(m.GetUID())
			}
		}
	}
	return o
}

// number returns the index of an object.
func (o *objects) number(r trace.Ref) int {
	if i, ok := o.index[r]; ok {
		return i
	}
	i := len(o.list)
	o.index[r] = i
	o.list = append(o.list, Object{Kind: printable(r.Kind), Short: printable(trace.ShortKind(r.Kind)), Namespace: printable(r.Namespace), Name: printable(r.Name), UID: printable(o.uids[r])})
	return i
}

// named returns the index of the object with this text, "pvc default/data"; nil if there is none.
func (o *objects) named(text string) *int {
	r, ok := o.byText[text]
	if !ok {
		return nil
	}
	return new(o.number(r))
}

// base returns the objects that existed before the first step: the nodes, and what a step is about.
func (o *objects) base() []Base {
	var refs []trace.Ref
	for r := range o.before {
		if _, used := o.index[r]; used || r.Kind == "Node" {
			refs = append(refs, r)
		}
	}
	slices.SortFunc(refs, func(a, b trace.Ref) int { return strings.Compare(a.String()+a.Kind, b.String()+b.Kind) })
	var base []Base
	for _, r := range refs {
		was := o.before[r]
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
