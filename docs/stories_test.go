package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/story"
)

// TestStoriesOfTheDocumentsPrintWhatTheyDid plays docs/stories: what errata.md shows, and the answers to exercises.
func TestStoriesOfTheDocumentsPrintWhatTheyDid(t *testing.T) {
	files, err := filepath.Glob("stories/*.txt")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := read(t, file)
			var b strings.Builder
			missed := func(fault string) { t.Errorf("a fault struck nothing: %s", fault) }
			require.NoError(t, story.Play(t.Context(), &b, file, want, story.Options{Missed: missed}))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
				return
			}
			require.Equal(t, strings.ReplaceAll(want, "\r\n", "\n"), b.String(), "if this is as it should be: go test ./docs -update")
		})
	}
}

// storyLine finds lines of stories, in exercises.
var storyLine = regexp.MustCompile("`((?:crash|delete|drain|fail|fail-csi|fail-point|break|hold|lag|start|stop|taint) [^`]+)`")

// exercises returns the part of a chapter in which the reader is to try something.
func exercises(chapter string) string {
	for _, heading := range []string{"\n## Try\n", "\n## 试一试\n"} {
		if _, after, found := strings.Cut(chapter, heading); found {
			for _, next := range []string{"\nNext: ", "\n下一章："} {
				after, _, _ = strings.Cut(after, next)
			}
			return after
		}
	}
	return ""
}

// entries returns the items of the exercises, each with what stands below it.
func entries(chapter string) (all []string) {
	for i, part := range strings.Split("\n"+exercises(chapter), "\n- ") {
		if i > 0 {
			all = append(all, part)
		}
	}
	return all
}

// answered matches an answer below a fold that quotes what a test runs.
var answered = regexp.MustCompile("(?s)^[^\n]+\n\n<details><summary>(?:Answer|答案)</summary>\n\n[^<]+\n<!-- from (?:docs/stories|story/testdata|examples)/[^\n" +
	"]+ -->\n```.+</details>\n")

// amiss says what is wrong with an item of the exercises.
func amiss(t *testing.T, entry string) string {
	t.Helper()
	if strings.Contains(entry, "](../learn/exercises/") || strings.Contains(entry, "](../../learn/exercises/") {
		return ""
	}
	if !answered.MatchString(entry) {
		return "give it an answer below a fold that quotes a story, an exercise of learn, or take it out"
	}
	var played []string
	for _, m := range quote.FindAllStringSubmatch(entry, -1) {
		played = append(played, source(t, "an exercise", m[1])...)
	}
	question, _, _ := strings.Cut(entry, "\n")
	for _, m := range storyLine.FindAllStringSubmatch(question, -1) {
		if !slices.Contains(played, m[1]) {
			return m[1] + ": the story that its answer quotes does not play this line"
		}
	}
	return ""
}

// A line of an exercise that strikes nothing teaches nothing: the story that answers it is played, and a fault that struck nothing is an error.
func TestEachExerciseHasAnAnswerThatIsPlayedOrChecksItself(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	chinese, err := filepath.Glob("zh/[0-9]*.md")
	require.NoError(t, err)
	lines, found := 0, 0
	for _, file := range append(chapters, chinese...) {
		text := read(t, file)
		lines += len(storyLine.FindAllString(exercises(text), -1))
		for _, entry := range entries(text) {
			found++
			require.Empty(t, amiss(t, entry), "%s: %s", file, entry)
		}
	}
	require.Greater(t, lines, 10)
	require.Greater(t, found, 70)

	fold := func(question, answer string) []string {
		return entries("x\n## Try\n\n- " + question + "\n\n<details><summary>Answer</summary>\n\n" + answer + "\n</details>\n\nNext: y")
	}
	const quoted = "No.\n\n<!-- from docs/stories/try_23_crash.txt -->\n```text\nget pod\n```\n"
	for _, entry := range fold("`crash attachdetach-controller after create volumeattachment`?", quoted) {
		require.Empty(t, amiss(t, entry))
	}
	for question, answer := range map[string]string{"`crash kube-scheduler`?": quoted, "What if?": "No.\n"} {
		wrong := fold(question, answer)
		require.Len(t, wrong, 1)
		require.NotEmpty(t, amiss(t, wrong[0]))
	}
}

// TestEachChapterEndsInAnExerciseAndTheNextOne: each chapter has exercises, and its last line leads on.
func TestEachChapterEndsInAnExerciseAndTheNextOne(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	require.NotEmpty(t, chapters)
	for _, file := range chapters {
		text := strings.TrimSpace(read(t, file))
		require.NotEmpty(t, entries(text), "%s: no exercise below ## Try", file)
		require.Regexp(t, `\nNext: .*\]\([^)]+\.md\)\.$`, text, file)
	}
}

var erratum = regexp.MustCompile(`(?m)^### (E(\d+))$`)

// TestEachErratumIsShownAndItsChapterPointsToIt: an entry quotes what a test runs, and names the chapter that names it.
func TestEachErratumIsShownAndItsChapterPointsToIt(t *testing.T) {
	text := read(t, "errata.md")
	entries := erratum.FindAllStringSubmatchIndex(text, -1)
	require.Greater(t, len(entries), 20)
	for i, at := range entries {
		name, end := text[at[2]:at[3]], len(text)
		if i+1 < len(entries) {
			end = entries[i+1][0]
		}
		entry := text[at[1]:end]
		require.Regexp(t, `Upstream: |What the text shows`, entry, "%s: where upstream shows it", name)
		require.NotEmpty(t, quote.FindAllString(entry, -1), "%s shows nothing", name)
		chapter := regexp.MustCompile(`See \[chapter (\d+)\]\(([^)]+)\)`).FindStringSubmatch(entry)
		require.NotNil(t, chapter, "%s: no chapter", name)
		require.Contains(t, read(t, chapter[2]), "(errata.md#"+strings.ToLower(name)+")", "%s does not point to %s", chapter[2], name)
	}
	for _, file := range documents(t) {
		for _, m := range regexp.MustCompile(`errata\.md#(e\d+)`).FindAllStringSubmatch(read(t, file), -1) {
			require.Contains(t, text, "\n### "+strings.ToUpper(m[1])+"\n", file)
		}
	}
}

func TestEachStoryOfTheDocumentsIsLinked(t *testing.T) {
	files, err := filepath.Glob("stories/*.txt")
	require.NoError(t, err)
	all := ""
	for _, file := range documents(t) {
		all += read(t, file)
	}
	for _, file := range files {
		require.True(t, strings.Contains(all, "("+filepath.ToSlash(file)+")") || strings.Contains(all, "docs/"+filepath.ToSlash(file)), "no chapter links %s", file)
	}
}

// TestTheContentsNameEachChapterOnce: in the tables of its parts, where the first column has the number.
func TestTheContentsNameEachChapterOnce(t *testing.T) {
	contents := read(t, "README.md")
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	for _, file := range chapters {
		number, _, _ := strings.Cut(file, "-")
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, file), "# "+strings.TrimPrefix(number, "0")+". "), "\n")
		require.Equal(t, 1, strings.Count(contents, "\n| "+strings.TrimPrefix(number, "0")+" | ["+title+"]("+file+") |"), file)
	}
}
