package svg_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/svg"
)

func page(text string) view.Page {
	return view.Page{
		Title: text,
		Lanes: []view.Lane{{Name: text, Kind: view.User}, {Name: "kubelet", Node: text}, {Name: "driver"}, {Name: "API server", Kind: view.APIServer}},
		Steps: []view.Step{
			{Kind: "write", Text: text, Write: &view.Write{}},
			{Kind: "write", Text: text, Write: &view.Write{Refused: &view.Refusal{}}},
			{Kind: "call", Lane: 2, Text: text, Call: &view.Call{To: new(1), Code: "OK"}},
			{Kind: "decision", T: 1000, Text: text},
			{Kind: "mount", Text: text, Mount: &view.Mount{Err: "no"}},
			{Kind: "down", Text: text},
			{Kind: "write", Text: "a detail", Detail: true, Write: &view.Write{}},
		},
	}
}

// elements counts the elements of a picture by name, which must be XML.
func elements(t testing.TB, p view.Page) map[string]int {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, svg.Write(&b, p))
	counts := map[string]int{}
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return counts
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
}

func TestARowForEachStepAndALineForEachLane(t *testing.T) {
	require.Equal(t, map[string]int{
		"svg": 1, "title": 1, "defs": 1, "marker": 1, "path": 1, "circle": 3, "line": 4 + 3, "rect": 1 + 3, "text": 4*3 + 6 + 3, // names, sentences, times
	}, elements(t, page("x")))
}

// The driver of CSI made a picture wider than a screen: each of its sidecars had a column, also one that did nothing.
func TestOnlyActorsThatDoSomethingHaveAColumn(t *testing.T) {
	p := page("x")
	p.Lanes = append(p.Lanes, view.Lane{Name: "idle"})
	require.Equal(t, elements(t, page("x")), elements(t, p))
	p.Steps = p.Steps[:1]
	require.Equal(t, 2+1, elements(t, p)["line"], "the user and the API server, and an arrow")
}

func TestWhatIsTooLongIsDividedOrCutWhereItHasRoom(t *testing.T) {
	p := page("x")
	p.Lanes[0].Name, p.Lanes[1].Name, p.Lanes[2].Name = "csi.storagesim.io", "openebs.io/local", "Provisionerofdisks"
	p.Steps[0].Text, p.Steps[1].Text = strings.Repeat("m", 200), strings.Repeat("卷", 200)
	var b bytes.Buffer
	require.NoError(t, svg.Write(&b, p))
	for _, want := range []string{
		">csi.<", ">storagesim.io<", ">openebs.io/<", ">local<", ">Provisionerof…<", ">" + strings.Repeat("m", 106) + "…<", ">" + strings.Repeat("卷", 53) + "…<",
	} {
		require.Contains(t, b.String(), want)
	}
}

func TestALongRunIsCut(t *testing.T) {
	p := page("x")
	for range 1000 {
		p.Steps = append(p.Steps, p.Steps[0])
	}
	var b bytes.Buffer
	require.NoError(t, svg.Write(&b, p))
	require.Contains(t, b.String(), "the last 606 steps are left out")
	require.Equal(t, svg.Rows, strings.Count(b.String(), "<circle")+strings.Count(b.String(), "<rect x="))
}

// FuzzAnyTextIsTextInAPicture draws any text everywhere: the picture is XML with the same elements.
func FuzzAnyTextIsTextInAPicture(f *testing.F) {
	seedtest.Corpus(f, 200,
		texts("", "</text><script>alert(1)</script>", "\" onload=\"x", "]]>", "\x00\x1b", "\xff\xfe", "\ufffe", "&lt;", strings.Repeat("é", 1000))...)
	f.Fuzz(func(t *testing.T, text string) { require.Equal(t, elements(t, page("x")), elements(t, page("x"+text))) })
}

func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	require.ErrorContains(t, svg.Write(broken{}, page("x")), "disk full")
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
