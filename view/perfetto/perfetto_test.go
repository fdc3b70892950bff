package perfetto_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/perfetto"
)

var update = flag.Bool("update", false, "write the golden trace anew")

func page(text string) view.Page {
	call := func(t, took int64) view.Step {
		return view.Step{Kind: "call", Lane: 1, T: t, Text: text, Call: &view.Call{To: new(2), Method: "NodeStageVolume" + text, Code: "OK", TookMs: took}}
	}
	return view.Page{
		Title: text, Release: "v1", Start: "2026-01-01T00:00:00Z", Missing: []string{text},
		Lanes: []view.Lane{{ID: "user" + text, Kind: view.User}, {ID: "kubelet/node-1", Kind: view.Kubelet}, {ID: "csi-driver/x", Kind: view.Driver}},
		Steps: []view.Step{
			{N: 7, Kind: "write", Text: text + strings.Repeat("é", 100), Write: &view.Write{}},
			call(3000, 2000), call(4000, 1500), call(4500, 0), call(5000, 1000), // from 1 to 3 s, 2.5 to 4, 4.5, 4 to 5
			{Kind: "down", Lane: 1, T: 6000, Text: text},
			{Kind: "delivery", Lane: 2, T: 7000, Delivery: &view.Delivery{RV: 9, Resource: "pods"}},
			{Kind: "up", Lane: 1, T: 8000, Text: text},
			{Kind: "down", Lane: 0, T: 8500, Text: text},
			{Kind: "event", Lane: 2, T: 9000, Text: text},
		},
	}
}

type event struct {
	Ph, Name, Cat     string
	PID, TID, TS, Dur int
}

// read returns the events of a trace.
func read(t testing.TB, p view.Page) (text []byte, events []event) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, perfetto.Write(&b, p))
	var trace struct{ TraceEvents []event }
	require.NoError(t, json.Unmarshal(b.Bytes(), &trace))
	return b.Bytes(), trace.TraceEvents
}

func TestEachCallInFlightHasAThreadOfItsOwn(t *testing.T) {
	_, events := read(t, page(""))
	var calls, downs []event
	for _, e := range events {
		e.Name, e.PID = "", e.PID-1
		switch {
		case e.Cat == "call":
			calls = append(calls, e)
		case e.Cat == "down":
			downs = append(downs, e)
		}
	}
	require.Equal(t, []event{
		{Ph: "X", Cat: "call", PID: 1, TID: 1, TS: 1_000_000, Dur: 2_000_000},
		{Ph: "X", Cat: "call", PID: 1, TID: 2, TS: 2_500_000, Dur: 1_500_000},
		{Ph: "X", Cat: "call", PID: 1, TID: 1, TS: 4_000_000, Dur: 1_000_000},
		{Ph: "X", Cat: "call", PID: 1, TID: 2, TS: 4_500_000},
	}, calls)
	require.Equal(t, []event{{Ph: "X", Cat: "down", PID: 1, TS: 6_000_000, Dur: 2_000_000}, {Ph: "X", Cat: "down", TS: 8_500_000, Dur: 500_000}}, downs,
		"until it starts again, or to the end")
}

func TestATraceIsAsItWas(t *testing.T) {
	text, _ := read(t, page("x"))
	const golden = "testdata/trace.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, text, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))
	empty, events := read(t, view.Page{})
	require.Empty(t, events, string(empty))
}

// FuzzAnyTextIsTextInATrace writes any text everywhere: the trace has the same events.
func FuzzAnyTextIsTextInATrace(f *testing.F) {
	var inputs [][]any
	for _, text := range []string{"", `"}]}`, "</script>", "\x00\x1b", "\xff\xfe", "\u2028", strings.Repeat("é", 1000)} {
		inputs = append(inputs, []any{text})
	}
	seedtest.Corpus(f, 200, inputs...)
	f.Fuzz(func(t *testing.T, text string) {
		_, plain := read(t, page("x"))
		_, events := read(t, page(text))
		require.Len(t, events, len(plain))
		for i := range events {
			events[i].Name, plain[i].Name = "", ""
			require.Equal(t, plain[i], events[i])
		}
	})
}

func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	require.ErrorContains(t, perfetto.Write(broken{}, page("x")), "disk full")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
