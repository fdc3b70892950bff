package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/view"
)

func TestTheSituationsPrintWhatTheySay(t *testing.T) {
	files, err := filepath.Glob("situations/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 5)
	if *update {
		code, _, errOut := command(t, "", append([]string{"story", "-w"}, files...)...)
		require.Equal(t, 0, code, errOut)
	}
	code, _, errOut := command(t, "", append([]string{"story", "--check"}, files...)...)
	require.Equal(t, 0, code, errOut)
}

func TestPageListsTheSituations(t *testing.T) {
	code, out, errOut := command(t, "", "page")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, []string{"1  Two pointers", "2  A crash between them", "3  Immediate, and a local volume", "4  A node dies", "5  Two nodes want one disk"},
		regexp.MustCompile(`(?m)^\d  .*$`).FindAllString(out, -1))
	require.Contains(t, out, "A claim and a volume are bound when each names the other")
	require.Contains(t, out, "storagesim page all > pages.html")
}

func TestEachSituationHasAPage(t *testing.T) {
	for n, want := range []func(view.Page) bool{
		func(p view.Page) bool {
			return writes(p, "persistent-volume-binder", "pv fitting") >= 2 && writes(p, "persistent-volume-binder", "pvc default/data") >= 2
		},
		func(p view.Page) bool {
			return has(p, "down", "persistent-volume-binder") && has(p, "up", "persistent-volume-binder")
		},
		func(p view.Page) bool { return refusedNodes(p) == 2 },
		func(p view.Page) bool { return has(p, "down", "kubelet/node-1") },
		func(p view.Page) bool { return has(p, "call", "kubelet/node-2") },
	} {
		code, out, errOut := command(t, "", "page", fmt.Sprint(n+1))
		require.Equal(t, 0, code, errOut)
		p := pageOf(t, out)
		require.True(t, want(p), p.Title)
		require.NotEmpty(t, p.Intro)
		require.Equal(t, fmt.Sprintf("storagesim page %d -o script | storagesim story -", n+1), p.Repeat)
		require.Less(t, len(out), 400_000)
	}
}

// writes counts the writes of an actor to an object.
func writes(p view.Page, actor, object string) (n int) {
	for _, s := range p.Steps {
		if s.Write != nil && s.About != nil && p.Lanes[s.Lane].ID == actor && strings.HasSuffix(object, " "+qualified(p.Objects[*s.About])) {
			n++
		}
	}
	return n
}

func qualified(o view.Object) string {
	if o.Namespace != "" {
		return o.Namespace + "/" + o.Name
	}
	return o.Name
}

func has(p view.Page, kind, actor string) bool {
	for _, s := range p.Steps {
		if s.Kind == kind && p.Lanes[s.Lane].ID == actor {
			return true
		}
	}
	return false
}

// refusedNodes returns the number of nodes that the first decision of the scheduler passes over.
func refusedNodes(p view.Page) (n int) {
	for _, s := range p.Steps {
		if s.Decision == nil || p.Lanes[s.Lane].ID != "kube-scheduler" {
			continue
		}
		for _, c := range s.Decision.Candidates {
			if !c.OK {
				n++
			}
		}
		return n
	}
	return 0
}

func TestOnePageHasAllSituations(t *testing.T) {
	code, out, errOut := command(t, "", "page", "all")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, 5, strings.Count(out, `<script type="application/json" id="story`))
	require.Equal(t, "Two pointers", pageOf(t, out).Title)
	require.Contains(t, out, `<script type="application/json" id="story-5">{"schema":"`+view.Schema+`","title":"Two nodes want one disk"`)
}

func TestASituationIsAScriptThatPlays(t *testing.T) {
	code, out, errOut := command(t, "", "page", "2", "-o", "script")
	require.Equal(t, 0, code, errOut)
	require.True(t, strings.HasPrefix(out, "# A crash between them\n#\n"), out)
	code, played, errOut := command(t, out, "story", "-")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, out, played)
}

func TestAPageOfALessonStopsAtItsNotes(t *testing.T) {
	name := file(t, "lesson.txt", "# How a claim waits\n#\n# No volume fits, and no class\n# makes one.\n\ncluster nodes=node-1 provisioners=\n----\n\n"+
		"# Which controller\n# looks at it?\napply\n"+
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: "+
		"{storage: 1Gi}}}\n----\n\nsettle\n----\n\n# It waits for ever.\n")
	code, out, errOut := command(t, "", "page", name)
	require.Equal(t, 0, code, errOut)
	p := pageOf(t, out)
	require.Equal(t, "How a claim waits", p.Title)
	require.Equal(t, "No volume fits, and no class makes one.", p.Intro)
	require.Equal(t, "storagesim story "+name, p.Repeat)
	var stops []string
	for _, c := range p.Chapters {
		if c.Stop {
			stops = append(stops, c.Title)
		}
	}
	require.Equal(t, []string{"Which controller looks at it?", "It waits for ever."}, stops)
	require.Equal(t, len(p.Steps), p.Chapters[len(p.Chapters)-1].Step)

	code, _, errOut = command(t, "", "page", file(t, "bad.txt", "# x\n\ncluster nodes=a\n----\n\ncreat\n----\n"))
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `bad.txt:6: unknown command "creat"`)
	code, out, errOut = command(t, "", "page", file(t, "none.txt", "no cluster"))
	require.Equal(t, 1, code, errOut)
	require.Empty(t, out)
}

func TestTheFirstCommandOfALessonMayFollowItsTitleAtOnce(t *testing.T) {
	for _, head := range []string{"# How a claim waits\n", "# How a claim waits\n#\n"} {
		code, out, errOut := command(t, "", "page", file(t, "lesson.txt", head+"cluster nodes=only-one provisioners=\n\nget nodes\n"))
		require.Equal(t, 0, code, errOut)
		p := pageOf(t, out)
		require.Equal(t, "How a claim waits", p.Title)
		require.Empty(t, p.Intro)
		require.Equal(t, "$ cluster nodes=only-one provisioners=", p.Chapters[0].Title)
	}
}

func TestASituationThatIsNotThereIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"page 6":           `there is no situation "6"; expected 1 to 5, all, or the file of a story`,
		"page 0":           `there is no situation "0"`,
		"page mine.txt":    "mine.txt: no such file",
		"page 1 -o xml":    `-o: unknown format "xml"; expected one of html, mermaid, svg, perfetto, script`,
		"page all -o svg":  "-o svg: it shows one situation",
		"page -o html":     "-o html: of which situation?",
		"page 1 2 -o html": "accepts at most 1 arg(s), received 2",
	} {
		code, out, errOut := command(t, "", strings.Fields(line)...)
		require.NotEqual(t, 0, code, line)
		require.Empty(t, out, line)
		require.Contains(t, errOut, want, line)
	}
}
