package main

import (
	"encoding/json"
	"slices"
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
	require.Equal(t, "kubelet/node-2", p.Lanes[len(p.Lanes)-2].ID, "the node that the seed chooses")
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

func TestAStorysCommentsAndCommandsAreTheChaptersOfItsPage(t *testing.T) {
	script := "# First a claim,\n# and no volume.\napply\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
		"spec: {accessModes: [ReadWriteOnce], storageClassName: \"\", resources: {requests: {storage: 1Gi}}}\n----\n\n# Then time.\nsettle\n----\n"
	name := file(t, "a.txt", script)
	code, out, errOut := command(t, "", "story", name, "-o", "html")
	require.Equal(t, 0, code, errOut)
	p := pageOf(t, out)
	require.Equal(t, "story "+name, p.Title)
	require.Equal(t, "storagesim story "+name, p.Repeat)
	require.Equal(t, []string{"First a claim, and no volume.", "$ apply", "Then time.", "$ settle"}, titles(p))
	require.True(t, slices.ContainsFunc(p.Steps[p.Chapters[1].Step:p.Chapters[3].Step], func(s view.Step) bool { return s.Text == "creates pvc default/data" }))
	require.Positive(t, p.Chapters[3].Step)
	require.Equal(t, p.Chapters[3].Step, p.Chapters[2].Step)

	code, _, errOut = command(t, "help\n----\n", "story", "-", "-o", "html")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "this script makes no cluster")
	code, out, _ = command(t, "no-such-command\n----\n", "story", "-", "-o", "html")
	require.Equal(t, 1, code)
	require.Empty(t, out)
}

func titles(p view.Page) (titles []string) {
	for _, c := range p.Chapters {
		titles = append(titles, c.Title)
	}
	return titles
}

func TestTheMuseumWritesAPageOfTheRunThatABugBreaks(t *testing.T) {
	code, out, errOut := command(t, "", "museum", "1", "-o", "html")
	require.Equal(t, 0, code, errOut)
	p := pageOf(t, out)
	require.True(t, strings.HasPrefix(p.Title, "Bug 1: "), p.Title)
	require.NotEmpty(t, p.Steps)
	require.Contains(t, p.Intro, "In the end: ")
}

func TestAViewThatCannotBeIsRefused(t *testing.T) {
	name := file(t, "a.txt", "settle\n----\n")
	for line, want := range map[string]string{
		"story " + name + " " + name + " -o html": "-o html: it shows one script, and there are 2",
		"story " + name + " -o html -w":           "-o: it prints no script",
		"story " + name + " -o xml":               `-o: unknown format "xml"`,
		"museum 1 -o html --fixed":                "-o html: it shows the run that the bug breaks",
		"museum 1 -o xml":                         `-o: unknown format "xml"`,
	} {
		code, out, errOut := command(t, "", strings.Fields(line)...)
		require.Equal(t, 2, code, line)
		require.Empty(t, out, line)
		require.Contains(t, errOut, want, line)
	}
}

func TestRunDrawsADiagramAndAPicture(t *testing.T) {
	name := file(t, "a.yaml", manifests)
	code, out, errOut := command(t, "", "run", "-f", name, "-o", "mermaid")
	require.Equal(t, 0, code, errOut)
	require.True(t, strings.HasPrefix(out, "sequenceDiagram\n"), out)
	require.LessOrEqual(t, len(out), 5000)
	require.Contains(t, out, ": creates pvc default/data\n")

	code, out, errOut = command(t, "", "run", "-f", name, "-o", "svg")
	require.Equal(t, 0, code, errOut)
	require.True(t, strings.HasPrefix(out, "<svg "), out)
	require.Contains(t, out, ">creates pvc default/data</text>")

	code, out, errOut = command(t, "", "run", "-f", name, "-o", "perfetto")
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, `"name":"process_name","ts":0,"args":{"name":"persistent-volume-binder"}`)
	require.Contains(t, out, `"name":"creates pvc default/data"`)
}
