package mayfail_test

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/mayfail"
)

// losing loses each answer.
type losing struct{}

func (losing) Reach(_ context.Context, name string, f func() error) error {
	_ = f() // lost
	return &mayfail.Error{Point: name, Lost: true}
}

// plain only calls the function.
type plain struct{}

func (plain) Reach(_ context.Context, _ string, f func() error) error { return f() }

func TestOutsideOfASimulationAPointOnlyCallsTheFunction(t *testing.T) {
	failed := errors.New("full")
	for _, ctx := range []context.Context{context.Background(), nil, context.WithValue(context.Background(), losing{}, losing{})} {
		require.NoError(t, mayfail.Do(ctx, "appliance.create", func() error { return nil }))
		require.Equal(t, failed, mayfail.Do(ctx, "a name: that no point, may have;", func() error { return failed }))
		disk, err := mayfail.Get(ctx, "", func() (string, error) { return "disk-1", failed })
		require.Equal(t, "disk-1", disk)
		require.Equal(t, failed, err)
	}
}

func TestInASimulationTheHookDecides(t *testing.T) {
	calls := 0
	create := func() (string, error) { calls++; return "disk-1", nil }
	ctx, cancel := context.WithCancel(mayfail.With(context.Background(), losing{}))
	defer cancel()
	disk, err := mayfail.Get(ctx, "appliance.create", create)
	require.EqualError(t, err, "appliance.create: injected fault: the answer was lost")
	require.Empty(t, disk, "the answer is lost")
	require.Equal(t, 1, calls)
	found, is := errors.AsType[*mayfail.Error](err)
	require.True(t, is)
	require.Equal(t, mayfail.Error{Point: "appliance.create", Lost: true}, *found)

	disk, err = mayfail.Get(mayfail.With(ctx, plain{}), "appliance.create", create)
	require.NoError(t, err)
	require.Equal(t, "disk-1", disk, "the nearest hook decides")
	full := errors.New("full")
	disk, err = mayfail.Get(mayfail.With(ctx, plain{}), "appliance.create", func() (string, error) { return "half", full })
	require.Equal(t, full, err)
	require.Equal(t, "half", disk, "what the function returns is not touched")
}

func TestANameThatNoPointCanHaveIsNamed(t *testing.T) {
	for name, says := range map[string]string{
		"":                 `the name of a point is empty`,
		"appliance create": `"appliance create" of a point has ' '`,
		"appliance:create": `"appliance:create" of a point has ':'`,
		"a,b":              `has ','`, "a;b": `has ';'`, "a=b": `has '='`, "a\n": `has '\n'`, "a#": `has '#'`,
	} {
		require.ErrorContains(t, mayfail.Check(name), says)
	}
	for _, name := range []string{"appliance.create", "netApp/v1/Create_Volume-2", "größe"} {
		require.NoError(t, mayfail.Check(name))
	}
}

// Authors link this package into production.
func TestThePackageImportsTheStandardLibraryOnly(t *testing.T) {
	for _, name := range []string{"doc.go", "mayfail.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, imported := range file.Imports {
			path, err := strconv.Unquote(imported.Path.Value)
			require.NoError(t, err)
			require.NotContains(t, strings.Split(path, "/")[0], ".", "%s imports %s", name, path)
		}
	}
}

type depthKey int

// Without costs what the call of a function costs, With what a point adds to it in production.
func BenchmarkOutside(b *testing.B) {
	calls := 0
	f := func() error { calls++; return nil }
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			_ = f() // it returns nil
		}
	})
	for name, depth := range map[string]int{"with": 0, "with, ten contexts deep": 10} {
		ctx := context.Background()
		for i := range depth {
			ctx = context.WithValue(ctx, depthKey(i), i)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = mayfail.Do(ctx, "appliance.create", f) // it returns nil
			}
		})
	}
}
