package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/learn"
)

// newLearner returns one who learns in a folder, as at a terminal, and the keys and the looks at the files that drive it.
func newLearner(t *testing.T) (l *learner, seen *bytes.Buffer) {
	t.Helper()
	all, err := learn.All()
	require.NoError(t, err)
	course, note, err := learn.Open(t.Context(), t.TempDir(), all)
	require.NoError(t, err)
	require.Empty(t, note)
	seen = &bytes.Buffer{}
	l = &learner{out: seen, width: 120, language: learn.Default, course: course, now: course.Next(nil), keys: true}
	require.NoError(t, l.begin(t.Context()))
	return l, seen
}

func TestAnExerciseIsPlayedAtEachSaveAndNeverGoesOnByItself(t *testing.T) {
	l, seen := newLearner(t)
	first := l.now
	keys, ticks, done := make(chan byte), make(chan time.Time), make(chan error)
	go func() { done <- l.watch(t.Context(), keys, ticks) }()
	tick := func() string { // the watcher has done what came before when it takes the next look
		ticks <- time.Time{}
		ticks <- time.Time{}
		said := seen.String()
		seen.Reset()
		return said
	}
	require.Contains(t, tick(), "== 01: not yet, 1 of 3")
	require.Empty(t, tick(), "nothing was saved")

	claim := filepath.Join(l.course.Folder(first), "claim.yaml")
	require.NoError(t, os.WriteFile(claim, []byte("apiVersion: v1\nkind: Persist"), 0o644)) // half of it
	require.Contains(t, tick(), "refused: start.story:6: claim.yaml:")

	keys <- 'h'
	require.Contains(t, tick(), "Hint 1 of 2: ")
	keys <- 'h'
	require.Contains(t, tick(), "Hint 2 of 2: ")
	keys <- 'x'
	require.Equal(t, learn.WordsOf(learn.Default).Keys+"\n", tick())

	require.NoError(t, os.WriteFile(claim, []byte(first.Answer()["claim.yaml"]), 0o644))
	said := tick()
	require.Contains(t, said, "== 01: passed")
	require.Contains(t, said, "The official answer, claim.yaml:")
	require.Contains(t, said, "A claim and its class meet by name only.")
	require.Empty(t, tick(), "it does not go on by itself")

	keys <- '\r'
	require.Contains(t, tick(), "== 01: passed")
	keys <- 'l'
	said = tick()
	require.Contains(t, said, "[x] 01  A class that is not there (chapter 2)\n[ ] 02  ")
	require.Contains(t, said, "1 of ")
	keys <- 'n'
	require.Contains(t, tick(), "== 02: not yet, 0 of 1")
	keys <- 'q'
	require.NoError(t, <-done)
	require.Equal(t, "Until the next time: storagesim learn "+l.course.Dir+"\n", seen.String())
}

func TestWatchingEndsWithItsKeysAndWithItsContext(t *testing.T) {
	l, _ := newLearner(t)
	keys := make(chan byte)
	close(keys)
	require.NoError(t, l.watch(t.Context(), keys, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.watch(ctx, nil, nil), context.Canceled)
}

func TestCtrlCEndsWhatIsPlayed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	keys := make(chan byte, 3)
	readKeys(ctx, strings.NewReader("hn\x03q"), keys, cancel)
	require.Equal(t, byte('h'), <-keys)
	require.Equal(t, byte('n'), <-keys)
	_, more := <-keys
	require.False(t, more)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}

// playLearn runs the command without a terminal.
func playLearn(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), append([]string{"learn", "--lang", "en"}, args...), strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

func TestWithoutATerminalLearnPrintsAndEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	out, errOut, code := playLearn(t, dir)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, "[ ] 01  A class that is not there (chapter 2)\n")
	require.Contains(t, out, "Your files are in "+filepath.Join(dir, "01-a-class-that-is-not-there")+": claim.yaml, class.yaml, mend.story, pod.yaml.")
	require.Contains(t, out, "== 01: not yet, 1 of 3")
	require.NotContains(t, out, learn.WordsOf(learn.Default).Keys)

	out, errOut, code = playLearn(t, dir, "--exercise", "5")
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, "== 05: not yet, 1 of 3")

	// A teacher's pile: the folder of one exercise, or of a learner.
	folder := filepath.Join(dir, "01-a-class-that-is-not-there")
	out, _, code = playLearn(t, "--check", folder)
	require.Equal(t, 1, code)
	require.Contains(t, out, folder+": not yet, 1 of 3\n[ ] the pod `web` runs\n")
	all, err := learn.All()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "claim.yaml"), []byte(all[0].Answer()["claim.yaml"]), 0o644))
	out, errOut, code = playLearn(t, "--check", folder)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, folder+": passed\n")
	out, _, code = playLearn(t, "--check", dir)
	require.Equal(t, 1, code)
	require.Contains(t, out, folder+": passed\n")
	require.Contains(t, out, filepath.Join(dir, all[4].Name)+": not yet, 1 of 3\n")
}

func TestWrongUsesOfLearnAreTold(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"a", "b"}, 2, "2 folders are named; expected at most one"},
		{[]string{"a", "--verify"}, 2, "a: --check and --verify take no other folder"},
		{[]string{"--verify", "--check", "x"}, 2, "--check and --verify exclude each other"},
		{[]string{"3"}, 2, "3: a folder is expected here; write --exercise 3 to begin with that exercise, or ./3 for a folder of that name"},
		{[]string{dir, "--exercise", "99"}, 2, `--exercise: there is no "99"; expected one of 01-a-class-that-is-not-there, `},
		{[]string{"--check", filepath.Join(dir, "none")}, 1, "there is no folder "},
		{[]string{"--check", dir}, 1, "is not an exercise of this version of storagesim"},
	} {
		_, errOut, code := playLearn(t, tt.args...)
		require.Equal(t, tt.code, code, tt.args)
		require.Contains(t, errOut, tt.want)
	}
}

func TestFilesThatCannotBePlayedHaveNoGoalsToCount(t *testing.T) {
	broken := learn.Outcome{Problems: []string{"disks.go:28:3: declared and not used: id"}}
	require.Equal(t, "not yet, it cannot be played", verdict(broken, learn.WordsOf("en")))
	require.Equal(t, "还没有，它跑不起来", verdict(broken, learn.WordsOf("zh")))
}

func TestATranslatedExerciseIsToldInItsLanguageOnly(t *testing.T) {
	l, seen := newLearner(t)
	l.language = "zh"
	seen.Reset()
	require.NoError(t, l.begin(t.Context()))
	require.NoError(t, l.hint())
	claim := filepath.Join(l.course.Folder(l.now), "claim.yaml")
	require.NoError(t, os.WriteFile(claim, []byte(l.now.Answer()["claim.yaml"]), 0o644))
	require.NoError(t, l.check(t.Context()))
	for _, want := range []string{"## 目标\n", "== 01: 还没有，1/3", "提示 1/2：", "你的文件在 ", "== 01: 通过", "官方答案，claim.yaml：", learn.WordsOf("zh").Keys} {
		require.Contains(t, seen.String(), want)
	}
	for _, english := range []string{"Goal", "Hint", "passed", "official", "not yet", "chapter"} {
		require.NotContains(t, seen.String(), english)
	}
}

func TestTheLanguageComesFromTheFlagOrTheEnvironment(t *testing.T) {
	env := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	require.Equal(t, "zh", languageOf("zh", env(nil)))
	require.Equal(t, "zh", languageOf("", env(map[string]string{"LANG": "zh_CN.UTF-8"})))
	require.Equal(t, "en", languageOf("", env(map[string]string{"LC_ALL": "en_GB.UTF-8", "LANG": "zh_CN.UTF-8"})))
	require.Equal(t, learn.Default, languageOf("", env(nil)))
}
