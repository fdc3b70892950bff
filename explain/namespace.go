package explain

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/controllers/namespace"
	"github.com/storagesim/storagesim/trace"
)

// namespace explains a namespace: which of its objects keep it while it is being deleted.
func (x *explainer) namespace(name string) error {
	ns, err := x.Client.CoreV1().Namespaces().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return x.within("namespace/"+name, func() error {
		x.found.Objects = append(x.found.Objects, x.subject)
		x.say("namespace %s is %s", name, ns.Status.Phase)
		if ns.DeletionTimestamp == nil {
			x.setState(true, "%s", ns.Status.Phase)
			return nil
		}
		x.setState(false, "being deleted")
		for _, c := range ns.Status.Conditions {
			if c.Status == v1.ConditionTrue {
				x.say("  %s", reasonAnd(string(c.Type), c.Message))
			}
		}
		if x.needs(namespace.ActorName, "deletes what is in it") {
			x.leftIn(name)
		}
		x.foreignFinalizers(ns)
		return nil
	})
}

// leftIn names the objects that are left in a namespace, and why each that is being deleted does not go.
func (x *explainer) leftIn(name string) {
	for _, obj := range x.Objects() {
		m, err := meta.Accessor(obj)
		if err != nil || m.GetNamespace() != name || m.GetDeletionTimestamp() == nil {
			continue
		}
		ref := trace.RefOf(kindOf(obj), obj)
		v := Verdict{Class: UnderWay, Code: Finalizer, Object: ref.Path(), Field: "metadata.finalizers", Value: strings.Join(m.GetFinalizers(), ", "),
			Cause: fmt.Sprintf("%s is still in it", ref)}
		if why, ok := x.aside(func(y *explainer) error { return y.remaining(ref, m) }); ok {
			v.Class, v.Do = why.Class, why.Do
			v.Cause += ": " + why.Cause
		}
		x.blame(v)
	}
}

// remaining explains an object that is being deleted. If there is no explanation of its kind, it blames the finalizers.
func (x *explainer) remaining(ref trace.Ref, m metav1.Object) error {
	if err := x.object(ref.Kind, ref.Namespace, ref.Name); !errors.Is(err, ErrKind) {
		return err
	}
	return x.within(ref.Path(), func() error {
		x.foreignFinalizers(m)
		return nil
	})
}

// kindOf returns the kind of an object, which typed objects do not carry.
func kindOf(obj runtime.Object) string {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return obj.GetObjectKind().GroupVersionKind().Kind
	}
	return kinds[0].Kind
}
