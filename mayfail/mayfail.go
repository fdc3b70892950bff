package mayfail

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// Do calls f and returns its error, unless ctx belongs to a simulation and one of its faults strikes the point. name says
// which point it is, for example "appliance.create"; several places may share one. It has letters, digits and the
// characters . _ - and /. In a simulation any other name is an error, and f is not called.
func Do(ctx context.Context, name string, f func() error) error {
	h := hookOf(ctx)
	if h == nil {
		return f()
	}
	return h.Reach(ctx, name, f)
}

// Get does the same as Do for a function that also returns a value. The value is the zero value if f was not called or its answer
// was lost.
func Get[T any](ctx context.Context, name string, f func() (T, error)) (T, error) {
	h := hookOf(ctx)
	if h == nil {
		return f()
	}
	var value, zero T
	var answer error
	err := h.Reach(ctx, name, func() error {
		value, answer = f()
		return answer
	})
	if err != nil && answer == nil {
		return zero, err
	}
	return value, err
}

// Error is the error that a fault gives, unless it has one of its own.
type Error struct {
	// Point is the name of the point.
	Point string
	// Lost is set if the function was called and its answer was lost.
	Lost bool
}

func (e *Error) Error() string {
	if e.Lost {
		return e.Point + ": injected fault: the answer was lost"
	}
	return e.Point + ": injected fault"
}

// Hook decides what happens at points. A simulation implements it.
type Hook interface {
	// Reach is called for each point that code reaches with its context. It calls f, or does not, and returns the
	// error that the code gets.
	Reach(ctx context.Context, name string, f func() error) error
}

type key struct{}

// With returns a context whose points h decides about. It is for simulations, not for code that has points.
func With(ctx context.Context, h Hook) context.Context { return context.WithValue(ctx, key{}, h) }

// hookOf returns the hook of a context, nil outside of a simulation.
func hookOf(ctx context.Context) Hook {
	if ctx == nil {
		return nil
	}
	h, _ := ctx.Value(key{}).(Hook)
	return h
}

// Check returns an error if no point can have a name.
func Check(name string) error {
	refused := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/", r)
	}
	switch i := strings.IndexFunc(name, refused); {
	case name == "":
		return fmt.Errorf(`mayfail: the name of a point is empty; it needs a name such as "appliance.create"`)
	case i >= 0:
		return fmt.Errorf(`mayfail: the name %q of a point has %q; it may have letters, digits and . _ - /, such as "appliance.create"`, name, []rune(name[i:])[0])
	}
	return nil
}
