package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// get returns one object.
func (s *Server) get(r *request, opts metav1.GetOptions) (runtime.Object, error) {
	s.mu.RLock()
	if err := s.checkNotInFuture(opts.ResourceVersion); err != nil {
		s.mu.RUnlock()
		return nil, err
	}
	obj, ok := s.peek(r.kind.home, keyOf(r.namespace, r.name))
	s.mu.RUnlock()
	if !ok {
		return nil, r.notFound()
	}
	return r.kind.given(obj, r.shared), nil
}

// continueToken holds where the next page of a list begins. A page shows the
// objects as they are when it is asked for; the list's resourceVersion is that
// of the first page, so that a watch from it misses nothing.
type continueToken struct {
	RV    uint64 `json:"rv"`
	Start string `json:"start"` // key of the last object of the page before
}

// list returns the selected objects, in order of key.
func (s *Server) list(r *request, opts metav1.ListOptions) (runtime.Object, error) {
	k := r.kind
	sel, err := selectorOf(k, r.namespace, opts)
	if err == nil {
		err = checkListOptions(opts, false)
	}
	if err != nil {
		return nil, err
	}
	items, listMeta, err := s.page(k, sel, opts)
	if err != nil {
		return nil, err
	}
	list := k.newList()
	slot := reflect.ValueOf(list).Elem().FieldByName("Items")
	slot.Set(reflect.MakeSlice(slot.Type(), len(items), len(items)))
	for i, obj := range items {
		slot.Index(i).Set(reflect.ValueOf(k.given(obj, r.shared)).Elem())
	}
	acc, err := meta.ListAccessor(list)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	acc.SetResourceVersion(listMeta.ResourceVersion)
	acc.SetContinue(listMeta.Continue)
	acc.SetRemainingItemCount(listMeta.RemainingItemCount)
	return list, nil
}

// page returns the objects for one list request, shared.
func (s *Server) page(k *kind, sel Selector, opts metav1.ListOptions) ([]runtime.Object, metav1.ListMeta, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st, ok := s.stores[k.home]
	if !ok {
		st = newStore(k, 1)
	}
	token, err := s.startOfPage(st, opts)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	f := newFilter(k, sel)
	items := st.list(&f)
	if token.Start != "" {
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i].(object)) > token.Start }):]
	}
	listMeta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(token.RV, 10)}
	if rest := int64(len(items)) - opts.Limit; opts.Limit > 0 && rest > 0 {
		items = items[:opts.Limit]
		token.Start = key(items[len(items)-1].(object))
		text, err := json.Marshal(token)
		if err != nil {
			return nil, listMeta, apierrors.NewInternalError(err)
		}
		listMeta.Continue = base64.RawURLEncoding.EncodeToString(text)
		if f.Labels == nil && f.Fields == nil {
			listMeta.RemainingItemCount = &rest
		}
	}
	return items, listMeta, nil
}

// startOfPage reads the options that say which state to list, from where.
func (s *Server) startOfPage(st *store, opts metav1.ListOptions) (continueToken, error) {
	now := continueToken{RV: s.rv}
	if opts.Continue == "" {
		if err := s.checkNotInFuture(opts.ResourceVersion); err != nil {
			return now, err
		}
		if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact && opts.ResourceVersion != strconv.FormatUint(s.rv, 10) {
			return now, apierrors.NewResourceExpired("The provided resource version is not available: only the latest state is kept")
		}
		return now, nil
	}
	var token continueToken
	text, err := base64.RawURLEncoding.DecodeString(opts.Continue)
	if err == nil {
		err = json.Unmarshal(text, &token)
	}
	if err != nil {
		return now, apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", err))
	}
	if token.RV < st.log.compacted {
		return now, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
			"You must start a new list without the continue parameter.")
	}
	return token, nil
}

// checkNotInFuture refuses a resourceVersion that is not a number or that the
// server has not reached. The caller holds the lock.
func (s *Server) checkNotInFuture(resourceVersion string) error {
	rv, err := parseVersion(resourceVersion)
	if err != nil || rv <= s.rv {
		return err
	}
	tooLarge := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rv, s.rv), 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"},
	}
	return tooLarge
}

// parseVersion returns a resourceVersion as a number; "" is 0.
func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q: it is a number that the server gave out", text))
	}
	return rv, nil
}
