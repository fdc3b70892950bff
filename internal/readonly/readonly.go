// Package readonly lets a component of this process read the API server's own objects as answers, as it does in its caches. A copy takes
// time and, where the component keeps the answer, memory for as long.
package readonly

import "context"

type key struct{}

// Answers returns a context for calls of a client of this process whose answers are only read, in all that is done with them: do not
// pass it to code of users.
func Answers(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Wanted reports whether the answer of a call with this context is only read.
func Wanted(ctx context.Context) bool { return ctx.Value(key{}) != nil }
