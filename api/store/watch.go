package store

import (
	"context"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher is a watch for client-go. A goroutine reads a cursor and delivers the objects. A watcher that is not read waits with one event in hand and
// costs the server nothing else.
type watcher struct {
	form      Form
	cursor    *Cursor
	initial   []runtime.Object // to be shown as ADDED first; place leaves the selection to be made without the lock
	listed    bool             // then say with a bookmark that this was all
	bookmarks bool
	shared    bool // Request.Shared
	startRV   uint64
	expired   error // nothing but this error

	woken  chan struct{} // holds one token
	result chan watch.Event
	done   chan struct{}
	stop   sync.Once
}

// Watch begins a watch, which ends with ctx or when it is stopped. It takes the lock. shared: the caller only reads the events.
func (t *Table) Watch(ctx context.Context, form Form, namespace string, opts metav1.ListOptions, shared bool) (watch.Interface, error) {
	setListOptionsDefaults(&opts)
	sel, err := SelectorOf(form.Fields, t.Namespaced, namespace, opts, true)
	if err != nil {
		return nil, err
	}
	rv, err := ParseVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	initial := rv == 0
	if opts.SendInitialEvents != nil {
		initial = *opts.SendInitialEvents
	}
	w := &watcher{
		form: form, shared: shared,
		bookmarks: opts.AllowWatchBookmarks,
		listed:    initial && opts.SendInitialEvents != nil && opts.AllowWatchBookmarks,
		woken:     make(chan struct{}, 1), result: make(chan watch.Event), done: make(chan struct{}),
	}
	t.place(w, sel, rv, initial)
	w.initial, _ = w.cursor.filter.first(w.initial, 0)
	release := context.AfterFunc(ctx, w.Stop)
	go func() {
		defer release()
		w.run()
	}()
	return w, nil
}

// setListOptionsDefaults makes a watch without a version one that begins with the objects there are. So it tells with a bookmark, if the client
// wants any, that these were all.
// Upstream: apimachinery internalversion SetListOptionsDefaults, v0.37.2.
func setListOptionsDefaults(opts *metav1.ListOptions) {
	if current := opts.ResourceVersion == "" || opts.ResourceVersion == "0"; current && opts.SendInitialEvents == nil && opts.ResourceVersionMatch == "" {
		opts.SendInitialEvents, opts.ResourceVersionMatch = new(true), metav1.ResourceVersionMatchNotOlderThan
	}
}

// CheckListOptions refuses options of a list or watch that do not go together.
// Upstream: apimachinery internalversion/validation ValidateListOptions, v1.37.
func CheckListOptions(opts metav1.ListOptions, watch bool) error {
	errs := validation.ValidateListOptions(&internalversion.ListOptions{
		Watch: watch, ResourceVersion: opts.ResourceVersion, ResourceVersionMatch: opts.ResourceVersionMatch,
		Continue: opts.Continue, SendInitialEvents: opts.SendInitialEvents,
	}, true)
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", errs)
}

// place sets the watcher's cursor to where the watch begins: now, after the objects
// there are, or after version rv.
func (t *Table) place(w *watcher, sel Selector, rv uint64, initial bool) {
	t.store.Lock()
	defer t.store.Unlock()
	c := &Cursor{store: t.store, table: t, filter: newFilter(w.form.Fields, sel), notify: w.notify, listed: true}
	c.follow()
	w.cursor, w.startRV = c, t.store.rv
	if w.bookmarks {
		t.bookmarkers = append(t.bookmarkers, c)
	}
	switch {
	case initial:
		w.initial = t.list(&filter{Selector: Selector{Namespace: c.filter.Namespace}})
	case rv > 0:
		next, complete := t.log.after(rv)
		if !complete {
			w.expired = apierrors.NewResourceExpired("too old resource version: " +
				strconv.FormatUint(rv, 10) + " (" + strconv.FormatUint(t.log.compacted, 10) + ")")
		}
		c.next, c.until = next, t.log.next
	}
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface. It may be called more than once.
func (w *watcher) Stop() {
	w.stop.Do(func() {
		close(w.done)
		w.cursor.Stop()
	})
}

// notify leaves a token for the goroutine. It never blocks.
func (w *watcher) notify() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *watcher) run() {
	defer close(w.result)
	defer w.Stop()
	if w.expired != nil {
		w.sendError(w.expired)
		return
	}
	for _, obj := range w.initial {
		if !w.send(watch.Added, w.form.Given(obj, w.shared)) {
			return
		}
	}
	w.initial = nil
	if w.listed && !w.sendBookmark(w.startRV, true) {
		return
	}
	for w.deliver() {
		select {
		case <-w.woken:
		case <-w.done:
			return
		}
	}
}

// deliver sends the pending events, and reports whether the watch goes on.
func (w *watcher) deliver() bool {
	for {
		change, ok, err := w.cursor.Next()
		switch {
		case err != nil:
			w.sendError(err)
			return false
		case !ok:
			rv, due := w.cursor.bookmarkDue()
			return !due || w.sendBookmark(rv, false)
		}
		if !w.send(change.Type, w.form.Given(change.Object, w.shared)) {
			return false
		}
	}
}

func (w *watcher) send(t watch.EventType, obj runtime.Object) bool {
	select {
	case w.result <- watch.Event{Type: t, Object: obj}:
		return true
	case <-w.done:
		return false
	}
}

func (w *watcher) sendError(err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	if api, ok := err.(apierrors.APIStatus); ok {
		status = api.Status()
	}
	w.send(watch.Error, &status)
}

// sendBookmark tells the watcher that it has seen everything up to rv.
func (w *watcher) sendBookmark(rv uint64, endOfInitial bool) bool {
	obj := w.form.New()
	obj.SetResourceVersion(strconv.FormatUint(rv, 10))
	if endOfInitial {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return w.send(watch.Bookmark, obj)
}

// bookmarkDue reports whether a bookmark is due, and the version up to which the cursor has
// seen everything.
func (c *Cursor) bookmarkDue() (uint64, bool) {
	c.store.RLock()
	defer c.store.RUnlock()
	due := c.bookmark && c.idle()
	if due {
		c.bookmark = false
	}
	return c.store.rv, due
}
