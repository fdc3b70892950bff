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

// trouble finds lines of stories that make trouble, in exercises.
var trouble = regexp.MustCompile("`((?:crash|fail|fail-csi|fail-point|break|hold|lag|stop) [^`]+)`")

// exercises returns the part of a chapter in which the reader is to try something.
func exercises(chapter string) string {
	_, after, _ := strings.Cut(chapter, "\n## Try\n")
	try, _, _ := strings.Cut(after, "\nNext: ")
	return try
}

// unplayed returns the lines of stories in a chapter's exercises that are in none of the stories which the chapter links.
func unplayed(t *testing.T, chapter string) (lines []string) {
	t.Helper()
	var played []string
	for _, m := range link.FindAllStringSubmatch(chapter, -1) {
		if strings.HasPrefix(m[1], "stories/") {
			played = append(played, strings.Split(read(t, m[1]), "\n")...)
		}
	}
	for _, m := range trouble.FindAllStringSubmatch(exercises(chapter), -1) {
		if !slices.Contains(played, m[1]) {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// A line of an exercise that strikes nothing teaches nothing: the story that answers it is played, and a fault that struck nothing is an error.
func TestEachLineOfTroubleInAnExerciseIsPlayedByTheStoryThatAnswersIt(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	found := 0
	for _, file := range chapters {
		text := read(t, file)
		found += len(trouble.FindAllString(exercises(text), -1))
		require.Empty(t, unplayed(t, text), "%s: link the story in docs/stories that plays the line", file)
	}
	require.Greater(t, found, 5)
	require.Equal(t, []string{"crash kube-scheduler"}, unplayed(t, "x\n## Try\n- `crash kube-scheduler`?\n\nNext: y `crash it`"))
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
