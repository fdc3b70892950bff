package exercises

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/learn"
)

// inGo returns the exercises in Go, with their files from this checkout.
func inGo(t *testing.T) (all, inGo []*learn.Exercise) {
	t.Helper()
	all, err := learn.All()
	require.NoError(t, err)
	for _, e := range all {
		if e.Lacking() != nil {
			inGo = append(inGo, e)
		}
	}
	checkout, err := learn.FindCheckout(".")
	require.NoError(t, err)
	require.NoError(t, learn.Attach(all, checkout, nil))
	return all, inGo
}

func TestEachExerciseInGoFailsAsToldAndPassesWithItsAnswer(t *testing.T) {
	_, exercises := inGo(t)
	require.Len(t, exercises, 4)
	var out strings.Builder
	result, err := learn.Verify(t.Context(), &out, exercises)
	require.NoError(t, err)
	require.Empty(t, strings.Join(result.Problems, "\n"))
	require.Equal(t, learn.Result{Exercises: 4, Starts: 4, Answers: 4}, result)
}

func TestALearnersOwnFileIsBuiltAndPlayed(t *testing.T) {
	all, exercises := inGo(t)
	course, _, err := learn.Open(t.Context(), t.TempDir(), all)
	require.NoError(t, err)
	e := exercises[0]
	_, _, err = course.Begin(e, learn.Default)
	require.NoError(t, err)
	file := filepath.Join(course.Folder(e), "disks.go")

	own := e.Answer()["disks.go"]
	require.NoError(t, os.WriteFile(file, []byte(own+"\n// mine\n"), 0o644))
	o, err := course.Check(t.Context(), e)
	require.NoError(t, err)
	require.True(t, o.Passed(), e.Report(o, learn.Default))
	require.True(t, course.Passed(e))

	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(own, "p.cloud.Find(", "p.cloud.Fnd(", 1)), 0o644))
	o, err = course.Check(t.Context(), e)
	require.NoError(t, err)
	require.False(t, o.Passed())
	require.Contains(t, strings.Join(o.Problems, "\n"), "disks.go:26:20: p.cloud.Fnd undefined")
	require.NotContains(t, strings.Join(o.Problems, "\n"), "idempotent/start")

	require.NoError(t, os.WriteFile(file, []byte(own[:len(own)/2]), 0o644)) // half saved
	o, err = course.Check(t.Context(), e)
	require.NoError(t, err)
	require.False(t, o.Passed())
	require.Contains(t, strings.Join(o.Problems, "\n"), "disks.go:")
}
