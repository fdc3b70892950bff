package learn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string) *Course {
	t.Helper()
	c, note, err := Open(t.Context(), dir, all(t))
	require.NoError(t, err)
	require.Empty(t, note)
	return c
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(path...), []byte(text), 0o644))
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(data)
}

// solve writes the official answer.
func solve(t *testing.T, c *Course, e *Exercise) {
	t.Helper()
	for name, text := range e.Answer() {
		write(t, text, c.Folder(e), name)
	}
}

func TestAnExerciseIsBegunMendedPassedAndRemembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	c := open(t, dir)
	e := c.Next(nil)
	require.Equal(t, c.Exercises[0], e)
	written, notes, err := c.Begin(e, Default)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, []string{"TASK.md", "claim.yaml", "class.yaml", "exercise.yaml", "mend.story", "pod.yaml", "start.story"}, written)
	require.Contains(t, read(t, c.Folder(e), TaskFile), e.Text(Default).Title)

	o, err := c.Check(t.Context(), e)
	require.NoError(t, err)
	require.False(t, o.Passed())
	require.False(t, c.Passed(e))

	before := c.Stamp(e)
	solve(t, c, e)
	require.NotEqual(t, before, c.Stamp(e))
	o, err = c.Check(t.Context(), e)
	require.NoError(t, err)
	require.True(t, o.Passed())

	again := open(t, dir)
	require.True(t, again.Passed(e))
	require.Equal(t, again.Exercises[1], again.Next(nil))
	require.Equal(t, again.Exercises[1], again.Next(e))
	require.Equal(t, again.Exercises[1], again.Next(again.Exercises[len(again.Exercises)-1]), "after the last comes the first that is not passed")
}

func TestBeginningAgainOverwritesNothing(t *testing.T) {
	c := open(t, t.TempDir())
	e := c.Exercises[0]
	_, _, err := c.Begin(e, Default)
	require.NoError(t, err)
	write(t, "mine", c.Folder(e), "claim.yaml")
	require.NoError(t, os.Remove(filepath.Join(c.Folder(e), "pod.yaml")))
	written, notes, err := c.Begin(e, Default)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, []string{"pod.yaml"}, written)
	require.Equal(t, "mine", read(t, c.Folder(e), "claim.yaml"))
}

func TestHintsAreToldOneAtATimeAndRemembered(t *testing.T) {
	dir := t.TempDir()
	e := all(t)[0]
	hints := e.Text(Default).Hints
	for i := range 2*len(hints) + 1 {
		hint, number, of, err := open(t, dir).Hint(e, Default)
		require.NoError(t, err)
		require.Equal(t, hints[i%len(hints)], hint)
		require.Equal(t, i%len(hints)+1, number)
		require.Equal(t, len(hints), of)
	}
}

func TestABrokenProgressIsMovedAsideAndWhatWasPassedIsFoundOut(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	first, third := c.Exercises[0], c.Exercises[2]
	for _, e := range []*Exercise{first, third} {
		_, _, err := c.Begin(e, Default)
		require.NoError(t, err)
	}
	solve(t, c, third)
	for i, tt := range []struct{ text, want string }{
		{"format: 1\npassed: [", "progress.yaml:2: did not find expected node content. It is called progress.yaml.broken now; "},
		{"format: 2\n", "progress.yaml: format: 2; this version of storagesim writes 1. It is called progress.yaml.broken.2 now; "},
		{"", "progress.yaml: the file is empty. It is called progress.yaml.broken.3 now; "},
		{"format: 1\nstars: 3\n", `progress.yaml:2: unknown field "stars". It is called progress.yaml.broken.4 now; `},
	} {
		write(t, tt.text, dir, ProgressFile)
		c, note, err := Open(t.Context(), dir, c.Exercises)
		require.NoError(t, err)
		require.Equal(t, tt.want+"what you have passed is found out by playing what is in the folder.", note)
		require.False(t, c.Passed(first))
		require.True(t, c.Passed(third), "case %d", i)
		require.True(t, open(t, dir).Passed(third))
	}
	require.Equal(t, "format: 2\n", read(t, dir, "progress.yaml.broken.2"))
}

func TestAFolderOfAnotherVersionIsToldAndChecked(t *testing.T) {
	c := open(t, t.TempDir())
	e := c.Exercises[0]
	_, _, err := c.Begin(e, Default)
	require.NoError(t, err)
	solve(t, c, e)
	write(t, "exercise: "+e.Name+"\nversion: old\n", c.Folder(e), "exercise.yaml")
	_, notes, err := c.Begin(e, Default)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "was begun with another version of the exercise (old; this is "+e.Version()+"). It is checked as the exercise is now.")
	o, err := c.Check(t.Context(), e)
	require.NoError(t, err)
	require.True(t, o.Passed())
}

func TestTheLearnersCopyOfTheStartIsNotPlayed(t *testing.T) {
	c := open(t, t.TempDir())
	e := c.Exercises[0]
	_, _, err := c.Begin(e, Default)
	require.NoError(t, err)
	write(t, "cluster nodes=\n", c.Folder(e), startStory)
	write(t, "expect a in get pods\n", c.Folder(e), checkStory)
	_, notes, err := Identify(c.Folder(e), c.Exercises)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(c.Folder(e), startStory) + " is there to be read, and differs from the exercise's own, which is played."}, notes)
	o, err := c.Check(t.Context(), e)
	require.NoError(t, err)
	want, err := e.Play(t.Context(), only{e.given})
	require.NoError(t, err)
	require.Equal(t, want, o)
}

func TestAFolderThatIsNotOfAnExerciseIsToldApart(t *testing.T) {
	c := open(t, t.TempDir())
	_, _, err := Identify(filepath.Join(c.Dir, "none"), c.Exercises)
	require.EqualError(t, err, "there is no folder "+filepath.Join(c.Dir, "none"))
	_, _, err = Identify(c.Dir, c.Exercises)
	require.ErrorContains(t, err, "is not an exercise of this version of storagesim; expected one of 01-a-class-that-is-not-there, ")
	write(t, "x", c.Dir, "file")
	_, _, err = Identify(filepath.Join(c.Dir, "file"), c.Exercises)
	require.ErrorContains(t, err, "is a file; expected the folder of an exercise")
	_, _, err = Open(t.Context(), filepath.Join(c.Dir, "file"), c.Exercises)
	require.ErrorContains(t, err, "is a file; expected the folder to learn in")

	write(t, "exercise: [\n", c.Dir, "exercise.yaml")
	_, _, err = Identify(c.Dir, c.Exercises)
	require.ErrorContains(t, err, "exercise.yaml:1: did not find expected node content; expected the lines exercise: NAME and version: VERSION")

	// The folder of a pupil may have any name.
	write(t, "exercise: "+c.Exercises[3].Name+"\n", c.Dir, "exercise.yaml")
	e, _, err := Identify(c.Dir, c.Exercises)
	require.NoError(t, err)
	require.Equal(t, c.Exercises[3], e)
}

func TestNoLinkLeadsOutOfALearnersFolder(t *testing.T) {
	c := open(t, t.TempDir())
	e := c.Exercises[0]
	_, _, err := c.Begin(e, Default)
	require.NoError(t, err)
	outside := filepath.Join(t.TempDir(), "claim.yaml")
	write(t, strings.ReplaceAll(e.Answer()["claim.yaml"], "data", "secret"), outside)
	claim := filepath.Join(c.Folder(e), "claim.yaml")
	require.NoError(t, os.Remove(claim))
	require.NoError(t, os.Symlink(outside, claim))
	o, err := c.Check(t.Context(), e)
	require.NoError(t, err)
	require.False(t, o.Passed())
	require.NotContains(t, e.Report(o, Default), "secret")
	require.Contains(t, strings.Join(o.Problems, "\n"), "claim.yaml: path escapes from parent")
}
