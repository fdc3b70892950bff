package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/view"
)

// pageOf returns the model in a page.
func pageOf(t *testing.T, text string) (p view.Page) {
	t.Helper()
	require.True(t, strings.HasPrefix(text, "<!DOCTYPE html>"), text[:min(len(text), 100)])
	_, data, ok := strings.Cut(text, `<script type="application/json" id="story">`)
	require.True(t, ok)
	data, _, _ = strings.Cut(data, "</script>")
	require.NoError(t, json.Unmarshal([]byte(data), &p))
	return p
}

func TestRunWritesAPage(t *testing.T) {
	name := file(t, "a.yaml", manifests)
	code, out, errOut := command(t, "", "run", "-f", name, "--seed", "7", "-o", "html")
	require.Equal(t, 0, code, errOut)
	p := pageOf(t, out)
	require.Equal(t, "run -f "+name, p.Title)
	require.Equal(t, "storagesim run --filename="+name+" --seed=7", p.Repeat)
	require.Equal(t, "2026-01-01T00:00:00Z", p.Start)
	require.Equal(t, "setup", p.Lanes[p.Steps[0].Lane].ID, "it makes the provisioner's namespace")
	require.Equal(t, "kubelet/node-2", p.Lanes[len(p.Lanes)-2].ID[:len("kubelet/node-2")])
	var nodes []string
	for _, b := range p.Base {
		if o := p.Objects[b.Object]; o.Kind == "Node" {
			nodes = append(nodes, o.Name)
		}
	}
	require.Equal(t, []string{"node-1", "node-2"}, nodes, "what there was when the story began")

	code, again, _ := command(t, "", "run", "-f", name, "--seed", "7", "-o", "html")
	require.Equal(t, 0, code)
	require.Equal(t, out, again, "the same seed gives the same page, to the byte")
}

func TestAPageIsNotWrittenToATerminal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("opens a terminal as Linux does")
	}
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer screen.Close()
	require.EqualError(t, checkPage(html, screen), "-o html: a page is a file for a browser, not for a terminal; add > page.html")
	require.NoError(t, checkPage("story", screen))
	require.NoError(t, checkPage(html, &strings.Builder{}))
}
