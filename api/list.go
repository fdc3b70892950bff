package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
)

// get returns one object.
func (s *Server) get(r *request, opts metav1.GetOptions) (runtime.Object, error) {
	rv, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	if err := s.checkNotInFuture(rv); err != nil {
		s.mu.RUnlock()
		return nil, err
	}
	obj, ok := held{s}.Get(r.kind.Home, keyOf(r.namespace, r.name))
	s.mu.RUnlock()
	if !ok {
		return nil, r.notFound()
	}
	return r.kind.Given(obj, r.shared), nil
}

// continueToken holds where the next page of a list begins. A page shows the objects as they were
// in version RV, that of the first page.
// Upstream: apiserver storage continueToken, v1.37.
type continueToken struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"` // negative: as they are now
	// Start is the key from which on the page shows objects, after that of the namespace of the list.
	Start string `json:"start"`
}

// tokenVersion is the version of all tokens.
const tokenVersion = "meta.k8s.io/v1"

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
	list := k.NewList()
	slot := reflect.ValueOf(list).Elem().FieldByName("Items")
	slot.Set(reflect.MakeSlice(slot.Type(), len(items), len(items)))
	for i, obj := range items {
		slot.Index(i).Set(reflect.ValueOf(k.Given(obj, r.shared)).Elem())
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
func (s *Server) page(k *registry.Entry, sel Selector, opts metav1.ListOptions) ([]runtime.Object, metav1.ListMeta, error) {
	f := newFilter(k, sel)
	items, token, err := s.snapshot(k, f.Namespace, opts)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	items = f.of(items)
	start := strings.TrimPrefix(token.Start, "/")
	if f.Namespace != "" {
		start = keyOf(f.Namespace, start)
	}
	if token.Start != "" {
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i].(call.Object)) >= start }):]
	}
	listMeta := metav1.ListMeta{ResourceVersion: strconv.FormatInt(token.RV, 10)}
	if rest := int64(len(items)) - opts.Limit; opts.Limit > 0 && rest > 0 && opts.ResourceVersion != "0" {
		items = items[:opts.Limit]
		last := key(items[len(items)-1].(call.Object))
		if f.Namespace != "" {
			_, last, _ = strings.Cut(last, "/")
		}
		token.Start = "/" + last + "\x00"
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

// snapshot returns all objects in a namespace in the version that the options ask for. What else is selected is looked for
// without the lock: a selector may be long.
func (s *Server) snapshot(k *registry.Entry, namespace string, opts metav1.ListOptions) ([]runtime.Object, continueToken, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st, ok := s.stores[k.Home]
	if !ok {
		st = newStore(k, 1)
	}
	token, err := s.startOfPage(st, opts)
	if err != nil {
		return nil, token, err
	}
	return st.listAt(&filter{Selector: Selector{Namespace: namespace}}, uint64(token.RV)), token, nil
}

// startOfPage reads the options that say which state to list, from where.
func (s *Server) startOfPage(st *store, opts metav1.ListOptions) (continueToken, error) {
	now := continueToken{Version: tokenVersion, RV: int64(s.rv)}
	rv, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return now, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if opts.Continue == "" {
		if err := s.checkNotInFuture(rv); err != nil {
			return now, err
		}
		if opts.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
			return now, nil
		}
		if now.RV = int64(rv); rv < st.log.compacted {
			return now, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		return now, nil
	}
	if rv != 0 {
		return now, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	token, err := decodeToken(opts.Continue)
	switch {
	case err != nil:
		return now, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
	case token.RV < 0:
		token.RV = now.RV
	case uint64(token.RV) < st.log.compacted:
		return now, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
			"You must start a new list without the continue parameter.")
	}
	return token, nil
}

// decodeToken reads the token of a page.
// Upstream: apiserver storage DecodeContinue, v1.37.
func decodeToken(text string) (token continueToken, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return token, err
	}
	if err := json.Unmarshal(data, &token); err != nil {
		return token, err
	}
	start := "/" + strings.TrimPrefix(token.Start, "/")
	switch {
	case token.Version != tokenVersion:
		return token, fmt.Errorf("server does not recognize this encoded version %v", token.Version)
	case token.RV == 0:
		return token, fmt.Errorf("incorrect encoded start resourceVersion (version %s)", tokenVersion)
	case token.Start == "":
		return token, fmt.Errorf("encoded start key empty (version %s)", tokenVersion)
	case path.Clean(start) != start:
		return token, errors.New(token.Start)
	}
	return token, nil
}

// listAt returns the selected objects in order of key, as they were in version rv, of which the log
// still has all later changes.
func (st *store) listAt(f *filter, rv uint64) []runtime.Object {
	first, _ := st.log.after(rv)
	if first == st.log.next {
		return st.list(f)
	}
	then := map[string]runtime.Object{} // nil: there was none
	for n := st.log.next; n > first; n-- {
		c := st.log.at(n - 1)
		switch {
		case c.Old != nil:
			then[c.Key] = c.Old
		case c.Type == watch.Deleted:
			then[c.Key] = c.Object
		default:
			then[c.Key] = nil
		}
	}
	var list []runtime.Object
	for k, obj := range st.items {
		if _, changed := then[k]; !changed && f.matches(obj) {
			list = append(list, obj)
		}
	}
	for _, obj := range then {
		if obj != nil && f.matches(obj) {
			list = append(list, obj)
		}
	}
	slices.SortFunc(list, func(a, b runtime.Object) int { return cmp.Compare(key(a.(call.Object)), key(b.(call.Object))) })
	return list
}

// checkNotInFuture refuses a resourceVersion that the server has not reached. The caller holds the lock.
func (s *Server) checkNotInFuture(rv uint64) error {
	if rv <= s.rv {
		return nil
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
		return 0, refusal.Internal(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", text, err))
	}
	return rv, nil
}
