// Package typedpatch carries a strategic merge patch from a component to the API server of the same process as Go values.
// Most writes of a kubelet and of the scheduler are such patches: they are neither written as JSON nor read again.
package typedpatch

import "context"

// Values is a strategic merge patch as JSON would be read: fields by their names, with nil for null, []any for a list that is
// merged, and strings, booleans and integers. Where the patch has the whole value of a field, it may stand there as the field's own
// type: times in whole seconds, and maps without nulls and directives. Written as JSON, it is the same patch. The server keeps what is
// in it: do not modify it afterwards.
type Values map[string]any

type key struct{}

// In returns a context for the one call of a client's Patch that it is given to, without data. The client must be one of
// this process, or one of package live/remote, which sends the patch as JSON. The answer may be an object of the server itself: only read it.
func In(ctx context.Context, patch Values) context.Context {
	return context.WithValue(ctx, key{}, patch)
}

// Of returns the patch in a context, nil if there is none.
func Of(ctx context.Context) Values {
	patch, _ := ctx.Value(key{}).(Values)
	return patch
}
