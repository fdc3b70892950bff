package mermaid_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/mermaid"
)

func drawn(t testing.TB, p view.Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, mermaid.Write(&b, p))
	return b.String()
}

func page(steps ...view.Step) view.Page {
	return view.Page{
		Lanes: []view.Lane{
			{ID: "user", Name: "user", Kind: view.User}, {ID: "kubelet/node-1", Name: "kubelet", Kind: view.Kubelet, Node: "node-1"},
			{ID: "csi-driver/d", Name: "d", Kind: view.Driver}, {ID: "unused", Name: "unused"}, {ID: "apiserver", Name: "API server", Kind: view.APIServer},
		},
		Steps: steps,
	}
}

func TestAStepIsAnArrowOrANote(t *testing.T) {
	require.Equal(t, `sequenceDiagram
  participant p0 as user
  participant p1 as kubelet node-1
  participant p2 as d
  participant p4 as API server
  p0->>p4: 0:00:00 creates pvc default/data
  p0-xp4: is refused
  p1->>p2: calls NodePublishVolume
  p1-xp2: 0:00:01.500 calls NodeStageVolume
  Note over p1: mounts a: /x -#62; /y
`, drawn(t, page(
		view.Step{Kind: "write", Text: "creates pvc\n default/data", Write: &view.Write{}},
		view.Step{Kind: "write", Text: "is refused", Write: &view.Write{Refused: &view.Refusal{}}},
		view.Step{Kind: "call", Lane: 1, Text: "calls NodePublishVolume", Call: &view.Call{To: new(2), Code: "OK"}},
		view.Step{Kind: "call", Lane: 1, T: 1500, Text: "calls NodeStageVolume", Call: &view.Call{To: new(2), Code: "Internal"}},
		view.Step{Kind: "mount", Lane: 1, T: 1500, Text: "mounts a: /x -> /y"},
		view.Step{Kind: "delivery", Lane: 1, Detail: true},
		view.Step{Kind: "write", Text: "a detail", Detail: true, Write: &view.Write{}},
	)))
}

func TestALongRunSaysWhatIsLeftOut(t *testing.T) {
	var steps []view.Step
	for i := range 40 {
		steps = append(steps, view.Step{Kind: "write", Text: fmt.Sprintf("write %d", i), Write: &view.Write{}},
			view.Step{Kind: "event", Text: strings.Repeat("says ", 20)})
	}
	text := drawn(t, page(steps...))
	require.Contains(t, text, "write 39")
	require.Contains(t, text, "Note over p0: left out, for want of room: 40 events, retries and commands\n")

	for range 1000 {
		steps = append(steps, steps[0])
	}
	text = drawn(t, page(steps...))
	require.LessOrEqual(t, len(text), mermaid.Limit)
	require.Greater(t, len(text), mermaid.Limit-200)
	require.Regexp(t, `Note over p0: left out, for want of room: 40 events, retries and commands and the last \d+ steps\n$`, text)
	require.Equal(t, "sequenceDiagram\n  participant p0 as user\n", drawn(t, page()))
}

// FuzzNoTextIsAStatement draws any text as names and messages.
func FuzzNoTextIsAStatement(f *testing.F) {
	seedtest.Corpus(f, 200,
		texts("", "\n  p0->>p4: x", "end; loop x", "%%{init: {}}%%", "<script>", "#59;", "\x00\u2028", "\xff", "a:b", "-x", strings.Repeat("é", 5000))...)
	statement := regexp.MustCompile(`^(?:sequenceDiagram|  participant p\d as [^#;<>%{}]*(?:#\d+;[^#;<>%{}]*)*|  (?:p\d(?:->>|-x)p\d|Note over p\d): ` +
		`[^#;<>%{}]*(?:#\d+;[^#;<>%{}]*)*)$`)
	f.Fuzz(func(t *testing.T, hostile string) {
		p := page(view.Step{Kind: "write", Text: hostile, Write: &view.Write{}}, view.Step{Kind: "mount", Lane: 1, Text: hostile})
		p.Lanes[0].Name = hostile
		text := drawn(t, p)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		require.Len(t, lines, 6)
		for _, line := range lines {
			require.Regexp(t, statement, line)
		}
	})
}

func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	require.ErrorContains(t, mermaid.Write(broken{}, page()), "disk full")
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
