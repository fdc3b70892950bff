package conformance

import (
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/trace"
)

// until lets time pass until what the recorder waited for is there, or no longer than
// it would have waited.
func (r *replay) until(a Action) error {
	most := 60 * time.Second
	if a.Most > 0 {
		most = seconds(a.Most)
	}
	for end := r.cluster.Now().Add(most); r.cluster.Now().Before(end); {
		done := true
		for _, condition := range a.Until {
			holds, err := r.holds(condition)
			if err != nil {
				return err
			}
			done = done && holds
		}
		if done {
			break
		}
		if err := r.cluster.RunFor(100 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether one condition of until holds: "pod/web Running", "pvc/data capacity 2Gi", "node/node-1 nodeready True",
// "vs/s1 ready", "gone pod/web", "gone pv" (the last of its kind), "event FailedMount", "grpc CreateVolume 2".
func (r *replay) holds(condition string) (bool, error) {
	first, second, ok := strings.Cut(condition, " ")
	switch {
	case !ok:
		return false, bad("until: %q is not a known condition", condition)
	case first == "event":
		return slices.ContainsFunc(r.cluster.Engine().Trace().Since(r.began), func(entry trace.Entry) bool {
			e, ok := entry.Record.(trace.Event)
			return ok && e.Reason == second && !e.Dropped
		}), nil
	case first == "gone":
		return r.gone(second)
	case first == "grpc":
		return r.called(second)
	}
	obj, err := r.object(first)
	if obj == nil || err != nil {
		return false, err
	}
	return is(obj, second), nil
}

// is reports whether an object is in a state: "ready", "capacity SIZE", "nodeready STATUS", or a phase.
func is(obj map[string]any, state string) bool {
	word, value, _ := strings.Cut(state, " ")
	switch word {
	case "ready":
		ready, _, _ := unstructured.NestedBool(obj, "status", "readyToUse")
		return ready
	case "capacity":
		capacity, _, _ := unstructured.NestedString(obj, "status", "capacity", "storage")
		return capacity == value
	case "nodeready":
		conditions, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			return condition["type"] == string(v1.NodeReady) && condition["status"] == value
		})
	}
	phase, _, _ := unstructured.NestedString(obj, "status", "phase")
	return phase == state
}

// object reads the object that a condition names, "pod/web". It is nil if there is none.
func (r *replay) object(ref string) (map[string]any, error) {
	at, err := manifest.ParseRef(r.cluster.Engine().Server().Registry(), "", ref)
	if err != nil {
		return nil, bad("until: %w", err)
	}
	obj, err := r.cluster.Lab().Do(api.Request{Verb: "get", Resource: at.Resource.GroupVersionResource(), Namespace: at.Namespace, Name: at.Name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// gone reports whether an object, "pod/web", or each object of a kind, "pv", is gone.
func (r *replay) gone(what string) (bool, error) {
	if strings.Contains(what, "/") {
		obj, err := r.object(what)
		return obj == nil && err == nil, err
	}
	kind, err := manifest.FindResource(r.cluster.Engine().Server().Registry(), what)
	if err != nil {
		return false, bad("until: gone %q: %w", what, err)
	}
	list, err := r.cluster.Lab().Do(api.Request{Verb: "list", Resource: kind.GroupVersionResource()})
	return err == nil && meta.LenList(list) == 0, err
}

// called reports whether a method of a driver was called in this step, so often: "CreateVolume 2".
func (r *replay) called(what string) (bool, error) {
	method, number, _ := strings.Cut(what, " ")
	times := 1
	if number != "" {
		var err error
		if times, err = strconv.Atoi(number); err != nil {
			return false, bad("until: grpc %q: expected a method and a number", what)
		}
	}
	calls, err := r.calls()
	for _, c := range calls {
		if c.Method == method {
			times--
		}
	}
	return times <= 0, err
}
