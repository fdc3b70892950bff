package typed

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applyeventsv1beta1 "k8s.io/client-go/applyconfigurations/events/v1beta1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedeventsv1beta1 "k8s.io/client-go/kubernetes/typed/events/v1beta1"
	"k8s.io/client-go/tools/reference"
)

const strategic = types.StrategicMergePatchType

// recorded are the methods by which recorders write events: the namespace is that of the
// event, where the client has none.
type recorded[T object] struct{ of *typed[T] }

// about returns the client for an event, and the event's name.
func (c *recorded[T]) about(event T) (of *typed[T], name string) {
	if of = c.of; isNil(event) {
		return of, "" // the server refuses it
	}
	of.namespace = cmp.Or(of.namespace, event.GetNamespace())
	return of, event.GetName()
}

func (c *recorded[T]) CreateWithEventNamespaceWithContext(ctx context.Context, event T) (T, error) {
	of, _ := c.about(event)
	return of.Create(ctx, event, metav1.CreateOptions{})
}

func (c *recorded[T]) UpdateWithEventNamespaceWithContext(ctx context.Context, event T) (T, error) {
	of, _ := c.about(event)
	return of.Update(ctx, event, metav1.UpdateOptions{})
}

func (c *recorded[T]) PatchWithEventNamespaceWithContext(ctx context.Context, event T, data []byte) (T, error) {
	of, name := c.about(event)
	return of.Patch(ctx, name, strategic, data, metav1.PatchOptions{})
}

func (c *recorded[T]) CreateWithEventNamespace(event T) (T, error) {
	return c.CreateWithEventNamespaceWithContext(context.Background(), event)
}

func (c *recorded[T]) UpdateWithEventNamespace(event T) (T, error) {
	return c.UpdateWithEventNamespaceWithContext(context.Background(), event)
}

func (c *recorded[T]) PatchWithEventNamespace(event T, data []byte) (T, error) {
	return c.PatchWithEventNamespaceWithContext(context.Background(), event, data)
}

type coreEvents struct {
	*listed[*corev1.Event, *corev1.EventList, *applycorev1.EventApplyConfiguration]
	recorded[*corev1.Event]
}

func (g coreV1) Events(namespace string) typedcorev1.EventInterface {
	of := newListed[*corev1.Event, *corev1.EventList, *applycorev1.EventApplyConfiguration](g.of, corev1.SchemeGroupVersion, "events", namespace)
	return &coreEvents{of, recorded[*corev1.Event]{&of.typed}}
}

// SearchWithContext lists the events about an object.
// Upstream: client-go typed/core/v1 events.SearchWithContext, v0.37.
func (c *coreEvents) SearchWithContext(ctx context.Context, scheme *runtime.Scheme, about runtime.Object) (*corev1.EventList, error) {
	ref, err := reference.GetReference(scheme, about)
	if err != nil {
		return nil, err
	}
	if c.namespace != "" && ref.Namespace != c.namespace {
		return nil, fmt.Errorf("%s %s: metadata.namespace: %q: this client is for the namespace %q", ref.Kind, ref.Name, ref.Namespace, c.namespace)
	}
	kind, uid := &ref.Kind, (*string)(&ref.UID)
	if *kind == "" {
		kind = nil
	}
	if *uid == "" {
		uid = nil
	}
	return c.List(ctx, metav1.ListOptions{FieldSelector: c.GetFieldSelector(&ref.Name, &ref.Namespace, kind, uid).String()})
}

func (c *coreEvents) Search(scheme *runtime.Scheme, about runtime.Object) (*corev1.EventList, error) {
	return c.SearchWithContext(context.Background(), scheme, about)
}

// GetFieldSelector selects the events about an object.
func (c *coreEvents) GetFieldSelector(name, namespace, kind, uid *string) fields.Selector {
	selected := fields.Set{}
	for field, value := range map[string]*string{"name": name, "namespace": namespace, "kind": kind, "uid": uid} {
		if value != nil {
			selected["involvedObject."+field] = *value
		}
	}
	return selected.AsSelector()
}

type oldEvents struct {
	*listed[*eventsv1beta1.Event, *eventsv1beta1.EventList, *applyeventsv1beta1.EventApplyConfiguration]
	recorded[*eventsv1beta1.Event]
}

func (g eventsV1beta1) Events(namespace string) typedeventsv1beta1.EventInterface {
	of := newListed[*eventsv1beta1.Event, *eventsv1beta1.EventList, *applyeventsv1beta1.EventApplyConfiguration](g.of,
		eventsv1beta1.SchemeGroupVersion, "events", namespace)
	return &oldEvents{of, recorded[*eventsv1beta1.Event]{&of.typed}}
}
