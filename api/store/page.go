package store

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
)

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

// Page returns the objects for one list request, shared. It takes the lock.
func (t *Table) Page(fields Fields, sel Selector, opts metav1.ListOptions) ([]runtime.Object, metav1.ListMeta, error) {
	f := newFilter(fields, sel)
	items, token, err := t.snapshot(f.Namespace, opts)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	start := strings.TrimPrefix(token.Start, "/")
	if f.Namespace != "" {
		start = KeyOf(f.Namespace, start)
	}
	if token.Start != "" {
		items = items[sort.Search(len(items), func(i int) bool { return Key(items[i].(call.Object)) >= start }):]
	}
	listMeta := metav1.ListMeta{ResourceVersion: strconv.FormatInt(token.RV, 10)}
	limit := opts.Limit
	if opts.ResourceVersion == "0" || t.named(&f, opts) {
		limit = 0
	}
	items, rest := f.first(items, limit)
	if rest > 0 {
		last := Key(items[len(items)-1].(call.Object))
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

// named reports whether the filter selects one object by its name: then there is no other page.
// Upstream: apiserver storage SelectionPredicate.MatchesSingle, v1.37.2.
func (t *Table) named(f *filter, opts metav1.ListOptions) bool {
	if f.Fields == nil || opts.Continue != "" || t.Namespaced && f.Namespace == "" {
		return false
	}
	_, ok := f.Fields.RequiresExactMatch(fieldName)
	return ok
}

// snapshot returns all objects in a namespace in the version that the options ask for. What else is selected is looked for
// without the lock: a selector may be long.
func (t *Table) snapshot(namespace string, opts metav1.ListOptions) ([]runtime.Object, continueToken, error) {
	t.store.RLock()
	defer t.store.RUnlock()
	token, err := t.startOfPage(opts)
	if err != nil {
		return nil, token, err
	}
	return t.listAt(&filter{Selector: Selector{Namespace: namespace}}, uint64(token.RV)), token, nil
}

// startOfPage reads the options that say which state to list, from where.
func (t *Table) startOfPage(opts metav1.ListOptions) (continueToken, error) {
	now := continueToken{Version: tokenVersion, RV: int64(t.store.rv)}
	if opts.Continue == "" {
		rv, err := ParseVersion(opts.ResourceVersion)
		if err != nil {
			return now, apierrors.NewBadRequest("invalid resource version: " + err.Error())
		}
		if err := t.store.CheckNotInFuture(rv); err != nil {
			return now, err
		}
		if opts.ResourceVersionMatch != metav1.ResourceVersionMatchExact && !exactly(opts, rv) {
			return now, nil
		}
		if now.RV = int64(rv); rv < t.log.compacted {
			return now, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		return now, nil
	}
	token, err := decodeToken(opts.Continue)
	switch {
	case err != nil:
		return now, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
	case opts.ResourceVersion != "" && opts.ResourceVersion != "0":
		return now, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	case token.RV < 0:
		token.RV = now.RV
	case uint64(token.RV) < t.log.compacted:
		return now, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
			"You must start a new list without the continue parameter.")
	}
	return token, nil
}

// exactly reports whether a list with a limit asks for a version without saying how it must match: then it gets that one.
// Upstream: apiserver storage ValidateListOptions, v1.37.2 ("legacy exact match").
func exactly(opts metav1.ListOptions, rv uint64) bool {
	return rv > 0 && opts.Limit > 0 && opts.ResourceVersionMatch == ""
}

// decodeToken reads the token of a page.
// Upstream: apiserver storage DecodeContinue, v1.37.
func decodeToken(text string) (token continueToken, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return token, err
	}
	if err := json.Unmarshal(data, &token); err != nil {
		return token, errors.New(strings.Replace(err.Error(), "store.continueToken", "storage.continueToken", 1)) // as its type is called upstream
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
func (t *Table) listAt(f *filter, rv uint64) []runtime.Object {
	first, _ := t.log.after(rv)
	if first == t.log.next {
		return t.list(f)
	}
	then := map[string]runtime.Object{} // nil: there was none
	for n := t.log.next; n > first; n-- {
		c := t.log.at(n - 1)
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
	for k, obj := range t.items {
		if _, changed := then[k]; !changed && f.matches(obj) && !t.expired(k) {
			list = append(list, obj)
		}
	}
	for _, obj := range then {
		if obj != nil && f.matches(obj) {
			list = append(list, obj)
		}
	}
	slices.SortFunc(list, func(a, b runtime.Object) int { return cmp.Compare(Key(a.(call.Object)), Key(b.(call.Object))) })
	return list
}

// CheckNotInFuture refuses a resourceVersion that the server has not reached. The caller holds the lock.
func (s *Store) CheckNotInFuture(rv uint64) error {
	if rv <= s.rv {
		return nil
	}
	tooLarge := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rv, s.rv), 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"},
	}
	return tooLarge
}

// ParseVersion returns a resourceVersion as a number; "" is 0.
func ParseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, refusal.Internal(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", text, err))
	}
	return rv, nil
}
