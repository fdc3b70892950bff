// Package show plays the examples: it runs an example on a cluster and
// prints what a reader at a terminal would see, and after each step who did
// what, when and why.
package show

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// Show plays steps on a cluster and prints them. The first error ends it: the
// steps that follow do nothing, and Err returns it.
type Show struct {
	cluster *storagesim.Cluster
	out     io.Writer
	width   int // that of the terminal
	table   int // the width of tables; 0 for any
	files   fs.FS
	told    int      // how much of the trace was told
	only    []string // the actors to tell of; none means all
	err     error

	chapters []view.Chapter // of its page
}

// hang is the indentation of what does not fit into a line.
const hang = 4

// New begins to show a cluster. What has happened in it so far is not told.
// Manifests are read from files.
func New(c *storagesim.Cluster, files fs.FS, out io.Writer) *Show {
	s := &Show{cluster: c, files: files, told: c.Engine().Trace().Len()}
	if p, ok := out.(*pages); ok {
		p.shows = append(p.shows, s)
		c.Engine().Trace().KeepValues()
		out = p.Writer
	}
	s.out, s.width, s.table = out, terminal.Width(out), terminal.TableWidth(out)
	return s
}

// Err returns the first error.
func (s *Show) Err() error { return s.err }

// Try ends the show if err is an error.
func (s *Show) Try(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Printf prints; identifiers are short, and long lines are wrapped.
func (s *Show) Printf(format string, args ...any) {
	s.print(prose.Wrap(s.cluster.Trace().ShortIDs(fmt.Sprintf(format, args...)), s.width, hang))
}

// print prints a text as it is.
func (s *Show) print(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}

// Title prints a headline, which is a chapter of the page.
func (s *Show) Title(text string) {
	s.chapter(text)
	lines := prose.WrapLine(s.cluster.Trace().ShortIDs(text), s.width-len("# "), 0, 0)
	s.print("\n# " + strings.ReplaceAll(lines, "\n", "\n# ") + "\n\n")
}

// command prints a command as a reader would type it, which is a chapter of the page.
func (s *Show) command(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.chapter(strings.TrimSpace(text))
	s.Printf("%s", text)
}

func (s *Show) chapter(title string) {
	s.chapters = append(s.chapters, view.Chapter{Step: s.cluster.Engine().Trace().Len(), Title: title})
}

// Only keeps what follows to the deeds of these actors; none means all.
func (s *Show) Only(actors ...string) { s.only = actors }

// Quiet tells nothing of what follows, until Only.
func (s *Show) Quiet() { s.only = []string{""} }

// Submit applies manifests and no more: the cluster has not acted on them yet.
func (s *Show) Submit(names ...string) {
	s.submit(names)
	s.Printf("\n")
}

func (s *Show) submit(names []string) {
	for _, name := range names {
		text, err := fs.ReadFile(s.files, name)
		s.Try(err)
		s.command("$ kubectl apply -f %s\n", name)
		s.Try(s.cluster.Apply(string(text)))
	}
}

// Apply applies manifests, lets the cluster come to rest and tells what
// happened.
func (s *Show) Apply(names ...string) {
	s.submit(names)
	s.Settle()
}

// SubmitDelete deletes objects and no more: the cluster has not acted on it yet.
func (s *Show) SubmitDelete(refs ...string) {
	s.command("$ kubectl delete %s --wait=false\n", strings.Join(refs, " "))
	s.Try(s.cluster.Delete(refs...))
}

// Delete deletes objects, lets the cluster come to rest and tells what happened.
func (s *Show) Delete(refs ...string) {
	s.SubmitDelete(refs...)
	s.Settle()
}

// Settle lets the cluster come to rest and tells what happened.
func (s *Show) Settle() {
	s.Try(s.cluster.Settle())
	s.tell()
}

// RunFor lets time pass and tells what happened.
func (s *Show) RunFor(d time.Duration) {
	s.command("$ sleep %.0f\n", d.Seconds())
	s.Try(s.cluster.RunFor(d))
	s.tell()
}

// Until runs until a record of the trace contains text, and tells what
// happened: it stops the cluster in the middle of things. It is an error if that
// does not happen within an hour.
func (s *Show) Until(text string) {
	log, seen := s.cluster.Engine().Trace(), s.told
	err := s.cluster.RunUntil(func() bool {
		for _, e := range log.Since(seen) {
			if seen++; strings.Contains(e.Record.String(), text) {
				return true
			}
		}
		return false
	})
	if err != nil {
		err = fmt.Errorf("until %q: %w", text, err)
	}
	s.Try(err)
	s.tell()
}

func (s *Show) tell() {
	log := s.cluster.Engine().Trace()
	s.print(trace.Tell(log.Since(s.told), trace.Telling{Start: engine.Start(), Fold: trace.FoldNoise, Keep: s.keep, Width: s.width,
		Shorten: s.cluster.Trace().ShortIDs}) + "\n")
	s.told = log.Len()
}

func (s *Show) keep(e trace.Entry) bool {
	return len(s.only) == 0 || slices.Contains(s.only, e.Actor)
}

// Get prints what kubectl get prints.
func (s *Show) Get(args ...string) {
	s.get(tables.Options{}, args)
}

func (s *Show) get(o tables.Options, args []string) {
	command := "kubectl get " + strings.Join(args, " ")
	if o.Output != "" {
		command += " -o " + o.Output
	}
	var b strings.Builder
	view := tables.View{Kinds: s.cluster.Engine().Server().Registry(), Objects: s.cluster.Engine().Server().Objects(true), Now: s.cluster.Now(),
		Shorten: s.cluster.Trace().ShortIDs, Width: s.table}
	s.Try(view.Get(&b, o, args...))
	s.command("$ %s\n", command)
	s.print(b.String() + "\n")
}

// GetWide prints what kubectl get -o wide prints.
func (s *Show) GetWide(args ...string) {
	s.get(tables.Options{Output: "wide"}, args)
}

// JSONPath prints fields of objects.
func (s *Show) JSONPath(template string, args ...string) {
	s.get(tables.Options{Output: "jsonpath=" + template}, args)
}

// YAML prints objects in full.
func (s *Show) YAML(args ...string) {
	text, err := s.cluster.Get(append(slices.Clone(args), "-o", "yaml")...)
	s.Try(err)
	s.command("$ kubectl get %s -o yaml\n", strings.Join(args, " "))
	s.print(text + "\n")
}

// Explain prints why an object is as it is.
func (s *Show) Explain(ref string) {
	text, err := s.cluster.Explain(ref)
	s.Try(err)
	s.Printf("explain %s\n%s\n", ref, text)
}

// MakeDir makes a directory on a node, as its administrator would.
func (s *Show) MakeDir(node, path string) {
	s.command("%s$ mkdir -p %s\n", node, path)
	s.Try(s.cluster.Machine("node/"+node).MakeDir(path, 0o755))
}

// Ls lists a directory of a node.
func (s *Show) Ls(node, path string) {
	names, err := s.cluster.Machine("node/" + node).ListDir(path)
	s.Try(err)
	s.command("%s$ ls %s\n", node, path)
	for _, name := range names {
		s.Printf("%s\n", name)
	}
}

// Cat prints a file of a node.
func (s *Show) Cat(node, path string) {
	data, err := s.cluster.Machine("node/" + node).ReadFile(path)
	s.Try(err)
	s.command("%s$ cat %s\n", node, path)
	s.print(data)
}

// CatIn prints a file below a pod's mount path, as a shell in the pod would.
func (s *Show) CatIn(pod, path string) {
	data, err := s.cluster.Machine("pod/" + pod).ReadFile(path)
	s.Try(err)
	s.command("%s$ cat %s\n", pod, path)
	s.print(data)
}

// Exec writes a line into a file below a pod's mount path, as a shell in the pod
// would.
func (s *Show) Exec(pod, path, line string) {
	s.command("%s$ echo '%s' > %s\n", pod, line, path)
	s.Try(s.cluster.Machine("pod/"+pod).WriteFile(path, line+"\n"))
}
