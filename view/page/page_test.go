package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// written returns the page of a model.
func written(t *testing.T, p view.Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, page.Write(&b, p))
	return b.String()
}

// between returns what stands between two texts, of which there is one each.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, from), from)
	_, rest, _ := strings.Cut(text, from)
	found, _, ok := strings.Cut(rest, to)
	require.True(t, ok, to)
	return found
}

const hostile = "</script><script>alert(1)</script><!-- \" ' & \u2028 </td></table>"

func model(text string) view.Page {
	return view.Page{
		Schema: view.Schema, Title: text, Intro: text, Repeat: text, Missing: []string{text}, Lanes: []view.Lane{{ID: text, Name: text, Kind: view.User}},
		Objects: []view.Object{{Kind: text, Name: text}}, Chapters: []view.Chapter{{Step: 0, Title: text}, {Step: 2, Title: text}},
		Steps: []view.Step{
			{Kind: "event", Text: text, About: new(0)},
			{Kind: "event", Text: "folded", Detail: true},
		},
	}
}

func TestAPageIsOneFileThatRunsItsOwnScriptOnly(t *testing.T) {
	text := written(t, model("a run"))
	policy := between(t, text, `<meta http-equiv="Content-Security-Policy" content="`, `">`)
	require.True(t, strings.HasPrefix(policy, "default-src 'none'; "), policy)
	for _, asset := range []struct{ file, from, to, directive string }{
		{"assets/page.js", "\n<script>", "</script>", "script-src"},
		{"assets/page.css", "<style>", "</style>", "style-src"},
	} {
		inline := between(t, text, asset.from, asset.to)
		file, err := os.ReadFile(asset.file)
		require.NoError(t, err)
		require.Equal(t, string(file), inline, "it would end early")
		sum := sha256.Sum256([]byte(inline))
		require.Contains(t, policy, asset.directive+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	require.Empty(t, regexp.MustCompile(`(?i)<(?:link|img|iframe|object|embed|base|form)\b|\bsrc=|\shref=|\son[a-z]+="`).FindString(
		between(t, text, "<body>", `<script type="application/json"`)))
}

func TestWithoutJavaScriptTheStoryIsATable(t *testing.T) {
	table := between(t, written(t, model("a run")), `<div id="app">`, "</div>")
	require.Contains(t, table, "<tr><th colspan=\"3\" scope=\"rowgroup\">a run</th></tr>\n<tr><td>0:00:00</td><td>a run</td><td>a run</td></tr>\n<tr><th colspan")
	require.NotContains(t, table, "folded", "a detail")
}

func TestHostileTextIsText(t *testing.T) {
	text := written(t, model(hostile))
	require.NotContains(t, text, "<script>alert")
	require.NotContains(t, text, "\u2028\",")
	data := between(t, text, `<script type="application/json" id="story">`, "</script>")
	require.NotContains(t, data, "<")
	var read view.Page
	require.NoError(t, json.Unmarshal([]byte(data), &read))
	require.Equal(t, model(hostile), read)
}

// FuzzAnyTextIsText writes pages in which any text stands everywhere.
func FuzzAnyTextIsText(f *testing.F) {
	seedtest.Corpus(f, 200, texts(hostile, "", "\x00\x1b[2J", "]]>", "<!--<script>", "&lt;", "\xff\xfe", "{{.}}", "${x}", "javascript:alert(1)", "\u202e")...)
	plain := tags.FindAllString(withoutAssets(f, model("x")), -1)
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, plain, tags.FindAllString(withoutAssets(t, model("x"+text)), -1), "there are no other tags")
	})
}

// tags finds what a browser may take for a tag or a comment.
var tags = regexp.MustCompile(`<[!/?a-zA-Z][^<>]*>?`)

// withoutAssets returns the page of a model without the script and the style.
func withoutAssets(t testing.TB, p view.Page) string {
	var b bytes.Buffer
	require.NoError(t, page.Write(&b, p))
	text := b.String()
	_, body, _ := strings.Cut(text, "</style>")
	return body[:strings.LastIndex(body, "\n<script>")]
}

func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	require.ErrorContains(t, page.Write(broken{}, model("x")), "disk full")
	bad := model("x")
	bad.Base = []view.Base{{Value: func() {}}}
	require.ErrorContains(t, page.Write(&bytes.Buffer{}, bad), `page "x": `)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// texts returns the inputs of a target that takes a text.
func texts(list ...string) (inputs [][]any) {
	for _, text := range list {
		inputs = append(inputs, []any{text})
	}
	return inputs
}

func TestOnePageHasSeveralRuns(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, page.WriteAll(&b, "all of <them>", []view.Page{model("first"), model("second")}))
	text := b.String()
	require.Equal(t, "all of &lt;them&gt; - storagesim", between(t, text, "<title>", "</title>"))
	for id, title := range map[string]string{"story": "first", "story-2": "second"} {
		var read view.Page
		require.NoError(t, json.Unmarshal([]byte(between(t, text, `<script type="application/json" id="`+id+`">`, "</script>")), &read))
		require.Equal(t, model(title), read)
		require.Contains(t, text, "<h1>"+title+"</h1>")
	}
}
