package patch

import (
	"slices"
	"strings"
)

const (
	deletionsPrefix = "$deleteFromPrimitiveList/"
	orderPrefix     = "$setElementOrder/"
)

// deletionsLast changes a patch so that it has the same outcome each time. The library walks a patch
// in the random order of Go's maps. If the patch both sets a list and takes items out of
// it, and an item is in both, the outcome depends on which comes first. Here the items are
// taken out last, as the library itself does when the patch gives an order for the list.
// Upstream: apimachinery pkg/util/strategicpatch mergeMap, v1.37.
func deletionsLast(patch any) {
	switch patch := patch.(type) {
	case []any:
		for _, item := range patch {
			deletionsLast(item)
		}
	case map[string]any:
		for key, value := range patch {
			if list, found := strings.CutPrefix(key, deletionsPrefix); found {
				takeOut(patch, list, value)
			}
			deletionsLast(value)
		}
	}
}

// takeOut removes the items that a patch deletes from a list from those that it adds.
func takeOut(patch map[string]any, list string, deleted any) {
	_, ordered := patch[orderPrefix+list]
	added, isList := patch[list].([]any)
	if ordered || !isList {
		return
	}
	switch deleted := deleted.(type) {
	case nil:
		patch[list] = nil // the library deletes the whole list
	case []any:
		patch[list] = slices.DeleteFunc(added, func(item any) bool {
			return isScalar(item) && slices.ContainsFunc(deleted, func(d any) bool { return isScalar(d) && d == item })
		})
	}
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
