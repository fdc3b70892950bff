package exercises

import (
	"os"
	"path/filepath"
	"slices"
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

// report plays an exercise with its answer changed, and returns what the learner is told.
func report(t *testing.T, name, file string, change func(answer string) string) string {
	t.Helper()
	all, exercises := inGo(t)
	e := exercises[slices.IndexFunc(exercises, func(e *learn.Exercise) bool { return e.Name == name })]
	course, _, err := learn.Open(t.Context(), t.TempDir(), all)
	require.NoError(t, err)
	_, _, err = course.Begin(e, learn.Default)
	require.NoError(t, err)
	own := change(e.Answer()[file])
	require.NotEqual(t, e.Answer()[file], own)
	require.NoError(t, os.WriteFile(filepath.Join(course.Folder(e), file), []byte(own), 0o644))
	o, err := course.Check(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, o.Problems)
	require.False(t, o.Passed())
	return e.Report(o, learn.Default)
}

// A failure is made smaller by leaving out what the user did. The reports of these answers showed runs without the deletions, in which all was well.
func TestAFailureIsNotMadeSmallerThanTheMistake(t *testing.T) {
	noFinalizer := report(t, "21-deleted-too-early", "disks.go", func(answer string) string { return strings.Replace(answer, "AddFinalizer: true,", "", 1) })
	require.Contains(t, noFinalizer, "0 volumes are there, and the cloud has these disks: [disk-1]")
	require.Contains(t, noFinalizer, "deletes pv pvc-")

	neverUnloaded := report(t, "23-staged-for-ever", "node.go", func(answer string) string {
		return strings.Replace(answer, "if n.tapes.Loaded(", "if false && n.tapes.Loaded(", 1)
	})
	require.Contains(t, neverUnloaded, "no pod runs, and 1 tape is loaded")
	require.Contains(t, neverUnloaded, "deletes pod default/one", "with one pod all of it is seen")
	require.NotContains(t, neverUnloaded, "ends by itself", "the sidecars have no part in it")
}

func TestAPanicIsToldAtTheLearnersLine(t *testing.T) {
	panics := report(t, "20-called-twice", "disks.go", func(answer string) string {
		const find = "id, ok := p.cloud.Find(options.PVName)"
		return strings.Replace(answer, find, "var none map[string]string\n\tnone[\"\"] = \"\"\n\t"+find, 1)
	})
	require.Regexp(t, `at disks\.go:\d+: assignment to entry in nil map`, panics)
	require.NotContains(t, panics, "start/disks.go")
}

func TestAnAnswerThatDeletesOnAGuessDoesNotPass(t *testing.T) {
	guess := report(t, "22-forgotten-in-a-crash", "disks.go", func(answer string) string {
		const list = "p.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})\n"
		return strings.Replace(answer, "volumes, err := "+list+"\tif err != nil {\n\t\treturn nil, err\n\t}\n", "volumes, _ := "+list, 1)
	})
	require.Contains(t, guess, "the volume of claim old is to be retained, and its disk disk-")
}
