package ctrlruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/control"
)

// informers holds the informers of one process. Until they are connected with the cluster, goroutines of the library's sources make them and
// register handlers.
type informers struct {
	mu        sync.Mutex
	all       []*informer
	connected bool
	failed    chan error // why a source cannot begin; the first
	refused   error      // why an informer cannot be played; the first

	registering sync.Mutex
	number      int // of the source that registers
}

// as has the handlers that are added until done is called bear the number of a source.
func (s *informers) as(number int) (done func()) {
	s.registering.Lock()
	s.number = number
	return func() {
		s.number = 0
		s.registering.Unlock()
	}
}

// fail tells that a source cannot begin.
func (s *informers) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// refuse tells that an informer cannot be played. Its maker, newInformer, has no error to return.
func (s *informers) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = cmp.Or(s.refused, err)
}

// err returns why an informer cannot be played.
func (s *informers) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// connect has the cluster feed all informers, in an order that does not depend on the goroutines.
func (s *informers) connect(env control.Env) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused != nil {
		return s.refused
	}
	s.connected = true
	for _, i := range s.all {
		slices.SortStableFunc(i.handlers, func(a, b *handler) int {
			return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.kind(), b.kind()))
		})
	}
	slices.SortStableFunc(s.all, func(a, b *informer) int {
		return cmp.Or(cmp.Compare(a.firstNumber(), b.firstNumber()), strings.Compare(a.id, b.id))
	})
	for _, i := range s.all {
		env.Follow(i)
	}
	return nil
}

// informer is the library's informer of one kind, with its store and its indexes. The changes come from the cluster, in steps, and not
// from a watch.
type informer struct {
	toolscache.SharedIndexInformer
	process   *process
	example   runtime.Object // of the type that the store holds
	id        string
	source    control.Source
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	transform toolscache.TransformFunc
	listed    bool
	handlers  []*handler
}

var (
	_ control.Feed                    = (*informer)(nil)
	_ toolscache.SharedIndexInformer  = (*informer)(nil)
	_ toolscache.ResourceEventHandler = (*handler)(nil)
)

// newInformer implements cache.Options.NewInformer. One that cannot be played stays empty, and the cache fails from then on.
func (p *process) newInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration,
	indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	i := &informer{SharedIndexInformer: toolscache.NewSharedIndexInformer(lw, example, resync, indexers), process: p, example: example}
	if err := i.asks(lw); err != nil {
		p.informers.refuse(fmt.Errorf("the informer of %T: %w", example, err))
		return i
	}
	p.informers.mu.Lock()
	defer p.informers.mu.Unlock()
	switch {
	case !p.informers.connected:
		p.informers.all = append(p.informers.all, i)
	case p.inside.here(), p.asked.here() && !p.engine.Driven(): // the first read of a kind, in a step
		i.source.AtOnce = true
		p.env.Follow(i)
	default:
		p.informers.refused = cmp.Or(p.informers.refused, fmt.Errorf("the first read of %T: %w", example, ErrGoroutine))
	}
	return i
}

// asks finds what the informer follows: that is known only to the function that lists it.
func (i *informer) asks(lw toolscache.ListerWatcher) error {
	asked := &question{}
	_, err := toolscache.ToListerWatcherWithContext(lw).ListWithContext(context.WithValue(i.process.ctx, questionKey{}, asked), metav1.ListOptions{})
	if asked.request == nil {
		return fmt.Errorf("it does not say what it lists: %w", err)
	}
	i.id = fmt.Sprintf("%s %T", asked.request.URL, i.example)
	return i.follows(asked.request)
}

// question asks for the request by which an informer would list.
type question struct{ request *http.Request }

type questionKey struct{}

var errOnlyAsked = errors.New("the request was only looked at")

// follows takes from the request of a list what the informer follows.
func (i *informer) follows(list *http.Request) error {
	request, ok := rest.RequestOf(list)
	if !ok {
		return fmt.Errorf("no resource has the path %s", list.URL.Path)
	}
	query := list.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return err
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return err
	}
	i.source.Resource, i.namespace, i.labels, i.fields = request.Resource, request.Namespace, byLabel, byField
	return nil
}

// firstNumber returns the number of the first source that the informer serves; an informer without handlers comes first.
func (i *informer) firstNumber() int {
	if len(i.handlers) == 0 {
		return 0
	}
	return i.handlers[0].number
}

// HasSynced returns true: no task of the process begins before the first lists are there.
func (i *informer) HasSynced() bool { return true }

// HasSyncedChecker returns what is done already.
func (i *informer) HasSyncedChecker() toolscache.DoneChecker { return synced{} }

// Run waits: nothing has to be done in a goroutine.
func (i *informer) Run(stop <-chan struct{}) { <-stop }

// RunWithContext waits.
func (i *informer) RunWithContext(ctx context.Context) { <-ctx.Done() }

// IsStopped reports whether the process has ended.
func (i *informer) IsStopped() bool { return i.process.ctx.Err() != nil }

// SetTransform keeps the function for the objects that come.
func (i *informer) SetTransform(f toolscache.TransformFunc) error {
	i.transform = f
	return nil
}

// GetStore returns the store in its order.
func (i *informer) GetStore() toolscache.Store { return i.GetIndexer() }

// GetIndexer returns the store, which lists in the order of keys.
func (i *informer) GetIndexer() toolscache.Indexer {
	return ordered{i.SharedIndexInformer.GetIndexer(), i.process}
}

// AddEventHandler adds a handler.
func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.add(h), nil
}

// AddEventHandlerWithResyncPeriod adds a handler, without resync.
func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.add(h), nil
}

// AddEventHandlerWithOptions adds a handler, without resync.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler,
	_ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.add(h), nil
}

// RemoveEventHandler removes a handler.
func (i *informer) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	i.process.informers.mu.Lock()
	defer i.process.informers.mu.Unlock()
	i.handlers = slices.DeleteFunc(i.handlers, func(h *handler) bool { return h == r })
	return nil
}

// add adds a handler. One that comes when the informer has its list receives all objects at once.
func (i *informer) add(h toolscache.ResourceEventHandler) toolscache.ResourceEventHandlerRegistration {
	added := &handler{h, i.process.informers.number}
	i.process.informers.mu.Lock()
	i.handlers = append(i.handlers, added)
	i.process.informers.mu.Unlock()
	for _, obj := range i.GetIndexer().List() {
		h.OnAdd(obj, true)
	}
	return added
}

// handler is a registered handler.
type handler struct {
	toolscache.ResourceEventHandler
	number int
}

// HasSynced returns true: see informer.HasSynced.
func (h *handler) HasSynced() bool { return true }

// HasSyncedChecker returns what is done already.
func (h *handler) HasSyncedChecker() toolscache.DoneChecker { return synced{} }

func (h *handler) kind() string { return fmt.Sprintf("%T", h.ResourceEventHandler) }

// synced is done.
type synced struct{}

func (synced) Name() string { return "storagesim" }

func (synced) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// Source implements control.Feed.
func (i *informer) Source() control.Source { return i.source }

// Replace implements control.Feed.
func (i *informer) Replace(items []control.Item) {
	defer i.process.inside.enter()()
	first, seen := !i.listed, map[string]bool{}
	i.listed = true
	for _, item := range items {
		if i.selects(item.Object) {
			seen[item.Key] = true
			i.put(item, first)
		}
	}
	for _, key := range slices.Sorted(slices.Values(i.SharedIndexInformer.GetIndexer().ListKeys())) {
		if obj, ok, _ := i.SharedIndexInformer.GetIndexer().GetByKey(key); ok && !seen[key] {
			i.remove(obj, toolscache.DeletedFinalStateUnknown{Key: key, Obj: obj})
		}
	}
}

// Deliver implements control.Feed.
func (i *informer) Deliver(change control.Change) {
	defer i.process.inside.enter()()
	if change.Type != watch.Deleted && i.selects(change.Object) {
		i.put(change.Item, false)
		return
	}
	if _, ok, _ := i.SharedIndexInformer.GetIndexer().GetByKey(change.Key); ok {
		obj := i.converted(change.Object)
		i.remove(obj, obj)
	}
}

// put stores an object, and tells the handlers.
func (i *informer) put(item control.Item, first bool) {
	store, obj := i.SharedIndexInformer.GetIndexer(), i.converted(item.Object)
	old, existed, _ := store.GetByKey(item.Key)
	if existed && version(old) == version(obj) {
		return // a relist of what is known
	}
	i.must(store.Update(obj))
	for _, h := range i.handlers {
		if existed {
			h.OnUpdate(old, obj)
		} else {
			h.OnAdd(obj, first)
		}
	}
}

// remove removes an object, and tells the handlers.
func (i *informer) remove(obj, last any) {
	i.must(i.SharedIndexInformer.GetIndexer().Delete(obj))
	for _, h := range i.handlers {
		h.OnDelete(last)
	}
}

func version(obj any) string {
	of, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return of.GetResourceVersion()
}

// must makes what an author's function did wrong the failure of the run.
func (i *informer) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("the informer of %s: %v", i.id, err))
	}
}

// selects reports whether the informer follows an object.
func (i *informer) selects(obj runtime.Object) bool {
	of, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	return (i.namespace == "" || of.GetNamespace() == i.namespace) && i.labels.Matches(labels.Set(of.GetLabels())) &&
		(i.fields.Empty() || i.fields.Matches(fieldsOf(i.asMap(obj))))
}

// fieldsOf finds the fields of a selector by their path, as those of the server are named.
type fieldsOf map[string]any

func (f fieldsOf) Has(field string) bool { return f.Get(field) != "" }

func (f fieldsOf) Get(field string) string {
	value, ok, err := unstructured.NestedFieldNoCopy(f, strings.Split(field, ".")...)
	if !ok || err != nil || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// asMap returns an object's fields.
func (i *informer) asMap(obj runtime.Object) map[string]any {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent()
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	i.must(err)
	return content
}

// converted returns a copy of an object of the server in the type that the store holds.
func (i *informer) converted(obj runtime.Object) any {
	var made runtime.Object
	switch example := i.example.(type) {
	case *metav1.PartialObjectMetadata:
		of, err := meta.Accessor(obj)
		i.must(err)
		partial := meta.AsPartialObjectMetadata(of).DeepCopy()
		partial.SetGroupVersionKind(example.GroupVersionKind())
		made = partial
	case runtime.Unstructured:
		u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(i.asMap(obj))}
		u.SetGroupVersionKind(example.GetObjectKind().GroupVersionKind())
		made = u
	default:
		if reflect.TypeOf(obj) == reflect.TypeOf(example) {
			made = obj.DeepCopyObject()
			break
		}
		made = reflect.New(reflect.TypeOf(example).Elem()).Interface().(runtime.Object)
		i.must(runtime.DefaultUnstructuredConverter.FromUnstructured(runtime.DeepCopyJSON(i.asMap(obj)), made))
	}
	if i.transform == nil {
		return made
	}
	changed, err := i.transform(made)
	i.must(err)
	return changed
}

// ordered is a store whose lists do not come in the order of a Go map, which is chance, but in one that the cluster chooses.
type ordered struct {
	toolscache.Indexer
	process *process
}

func (o ordered) List() []any { return o.chosen(o.Indexer.List()) }

func (o ordered) ListKeys() []string { return slices.Sorted(slices.Values(o.Indexer.ListKeys())) }

func (o ordered) Index(name string, obj any) ([]any, error) {
	list, err := o.Indexer.Index(name, obj)
	return o.chosen(list), err
}

func (o ordered) ByIndex(name, value string) ([]any, error) {
	list, err := o.Indexer.ByIndex(name, value)
	return o.chosen(list), err
}

func (o ordered) IndexKeys(name, value string) ([]string, error) {
	keys, err := o.Indexer.IndexKeys(name, value)
	return slices.Sorted(slices.Values(keys)), err
}

func (o ordered) chosen(list []any) []any {
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(keyOf(a), keyOf(b)) })
	if o.process.inside.here() {
		control.Shuffle(o.process.env, list)
	}
	return list
}

func keyOf(obj any) string {
	key, err := toolscache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		panic(err) // the store has its objects by this key
	}
	return key
}
