package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/story"
)

var (
	// played finds a command of a lesson that plays a story. Lessons have no other commands.
	played = regexp.MustCompile(`(?m)^go run \./cmd/storagesim story (\S+\.txt)(?: -o html > [\w-]+\.html)?$`)
	// stops finds the places at which a speaker stops: comments of the story.
	stops = regexp.MustCompile("\\*\\*(?:Stop at|停在)\\*\\* `([^`]+)`")
	// planned finds the rows of a lesson's timetable.
	planned = regexp.MustCompile(`(?m)^\| (\d+) \|`)
	// timed finds the headings of its parts.
	timed = regexp.MustCompile(`(?m)^## \d+\. .*\((\d+) minutes\)$`)
)

// TestEachCommandOfALessonIsPlayed: a speaker sees in the room what the story shows here, and finds each stop in it.
func TestEachCommandOfALessonIsPlayed(t *testing.T) {
	lessons, err := filepath.Glob("lessons/*.md")
	require.NoError(t, err)
	named := map[string]bool{}
	for _, file := range lessons {
		text := read(t, file)
		commands := played.FindAllStringSubmatch(text, -1)
		require.Len(t, commands, strings.Count(text, "go run "), "%s: a command that this test cannot play", file)
		shown := ""
		for _, m := range commands {
			name := filepath.Join("..", m[1])
			shown += read(t, name)
			named[filepath.ToSlash(name)] = true
		}
		for _, stop := range stops.FindAllStringSubmatch(text, -1) {
			require.Contains(t, shown, "\n# "+stop[1]+"\n", "%s: no story has this comment", file)
		}
	}
	require.Greater(t, len(named), 4)
	stories, err := filepath.Glob("lessons/*.txt")
	require.NoError(t, err)
	for _, file := range stories {
		require.True(t, named["../docs/"+filepath.ToSlash(file)], "no lesson plays %s", file)
	}
	for file := range named {
		t.Run(filepath.Base(file), func(t *testing.T) {
			playAgain(t, file)
		})
	}
}

// playAgain plays a story and compares it with what its file says. -update writes only those of docs.
func playAgain(t *testing.T, file string) {
	t.Helper()
	want := read(t, file)
	var b strings.Builder
	missed := func(fault string) { t.Errorf("a fault struck nothing: %s", fault) }
	require.NoError(t, story.Play(t.Context(), &b, file, want, story.Options{Missed: missed}))
	if *update && strings.HasPrefix(file, "../docs/") {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
		return
	}
	require.Equal(t, strings.ReplaceAll(want, "\r\n", "\n"), b.String(), "if this is as it should be: go test ./docs -update")
}

// TestALessonTakes45Minutes: by its timetable, and by the headings of its parts.
func TestALessonTakes45Minutes(t *testing.T) {
	sum := func(text string, rows *regexp.Regexp) (minutes int) {
		for _, m := range rows.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			minutes += n
		}
		return minutes
	}
	for _, file := range []string{"lessons/pending.md", "lessons/node-dies.md"} {
		text := read(t, file)
		require.Equal(t, 45, sum(text, planned), file)
		require.Equal(t, 45, sum(text, timed), file)
	}
}

// TestTheAnswersAnswerEachQuestionOfTheSheet: each question, and each row that the learners fill in, is in the answers as well.
func TestTheAnswersAnswerEachQuestionOfTheSheet(t *testing.T) {
	for name, want := range map[string]struct{ questions, rows int }{"pending": {5, 6}, "node-dies": {5, 4}} {
		sheet, answers := read(t, "lessons/"+name+"-sheet.md"), read(t, "lessons/"+name+"-answers.md")
		questions := regexp.MustCompile(`(?m)^(?:(\d)\. |## Question (\d)$)`).FindAllStringSubmatch(sheet, -1)
		require.Len(t, questions, want.questions, name)
		for _, m := range questions {
			require.Contains(t, answers, "\n## Question "+m[1]+m[2]+"\n", name)
		}
		rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| +\| \|`).FindAllStringSubmatch(sheet, -1)
		require.Len(t, rows, want.rows, name)
		for _, m := range rows {
			require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(m[1])+` \| \w`, answers, name)
		}
	}
}
