// Package readonly lets a component of this process read the API server's own objects as answers, as it does in its caches. A copy takes
// time and, where the component keeps the answer, memory for as long.
package readonly

import "context"

type key struct{}

// Answers returns a context for calls of a client of this process whose answers are only read, in all that is done with them: do not
// pass it to code of users.
func Answers(ctx context.Context) context.Context { return answers{ctx} }

// answers is a context with a value for key, and smaller than one of context.WithValue: there is one for each key that a controller syncs.
type answers struct{ context.Context }

func (a answers) Value(of any) any {
	if of == (key{}) {
		return true
	}
	return a.Context.Value(of)
}

// Wanted reports whether the answer of a call with this context is only read.
func Wanted(ctx context.Context) bool { return ctx.Value(key{}) != nil }
