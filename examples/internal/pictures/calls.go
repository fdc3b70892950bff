package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// stack is a write, by its version, and the functions that called one another until it was made, the outermost first.
type stack struct {
	actor  string
	rv     uint64
	frames []frame
}

// frame is a function, its file in the repository, and the line in it that calls the next function.
type frame struct {
	name, file string
	line       int
}

// stackOf returns the functions in which a write is being made.
func stackOf(w trace.Write) stack {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	s := stack{actor: w.Actor, rv: w.RV}
	for {
		f, more := frames.Next()
		if _, in, ok := strings.Cut(f.Function, "github.com/storagesim/storagesim/"); ok {
			name := in[strings.LastIndex(in, ".")+1:]
			s.frames = append(s.frames, frame{name: name, file: folder(in) + "/" + filepath.Base(filepath.ToSlash(f.File)), line: f.Line})
		}
		if !more {
			slices.Reverse(s.frames)
			return s
		}
	}
}

// folder returns the folder of a function's package.
func folder(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	dot := strings.Index(function[slash:], ".")
	return function[:slash+dot]
}

// called is a function in a tree of calls: who calls it in which line, what it calls, and which writes are made in it.
type called struct {
	frame
	from     int // the line of the caller
	children []*called
	writes   []uint64
}

// child returns the function that c calls by this name, which it adds if it is new.
func (c *called) child(f frame, from int) *called {
	for _, known := range c.children {
		if known.name == f.name {
			return known
		}
	}
	c.children = append(c.children, &called{frame: f, from: from})
	return c.children[len(c.children)-1]
}

// callTree returns the tree of an actor's functions that are named; others are passed over.
func (r run) callTree(actor string, names ...string) *called {
	top := &called{}
	for _, s := range r.stacks {
		at, line := top, 0
		if s.actor != actor {
			continue
		}
		for _, f := range s.frames {
			if slices.Contains(names, f.name) {
				at = at.child(f, line)
				line = f.line
			}
		}
		if at != top {
			at.writes = append(at.writes, s.rv)
		}
	}
	if len(top.children) != 1 {
		panic("the run of a picture has no one function that begins") // the test draws all pictures
	}
	return top.children[0]
}

// asks adds a function that writes nothing: the source of its caller has the call.
func (c *called) asks(caller, name, file string) {
	if c.name != caller {
		for _, child := range c.children {
			child.asks(caller, name, file)
		}
		return
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join("..", "..", "..", filepath.FromSlash(c.file)), nil, 0)
	if err != nil {
		panic(err)
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != caller {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if on, ok := call.Fun.(*ast.SelectorExpr); ok && on.Sel.Name == name {
					c.child(frame{name: name, file: file}, set.Position(on.Sel.Pos()).Line)
				}
			}
			return true
		})
	}
	slices.SortStableFunc(c.children, func(a, b *called) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(len(a.writes), len(b.writes))) // what an argument calls comes first
	})
}

// openebsCalls draws which function calls which while OpenEBS makes a volume, and the writes of each.
func openebsCalls(r run) *canvas {
	tree := r.callTree("openebs.io/local", "syncClaim", "provisionClaimOperation", "Provision", "makeDirectory", "Run", "StoreVolume")
	tree.asks("syncClaim", "shouldProvision", "provisioner/should_provision.go")
	tree.asks("makeDirectory", "initPod", "provisioner/openebs/helperpod.go")
	const heading = "OpenEBS makes a volume: which function calls which"
	c := &canvas{title: heading, height: 66 + callRow*tree.size() + 8}
	c.heading(heading)
	c.add(`<rect x="%d" y="56" width="44" height="%d" rx="8" class="api"/>`, callsAPI, c.height-72)
	c.nodes = append(c.nodes, "API server")
	c.add(`<text x="%d" y="%d" font-size="%d" class="bold onapi" text-anchor="middle" transform="rotate(90 %d %d)">API server</text>`,
		callsAPI+17, c.height/2+20, normal+1, callsAPI+17, c.height/2+20)
	n := 0
	c.calls(r, tree, 24, 62, &n)
	return c
}

// Sizes of a tree of calls: a row, a function's box, and where the API server is.
const (
	callRow, callWide, callHigh = 62, 262, 48
	callsAPI                    = 652
)

func (c *called) size() int {
	n := 1
	for _, child := range c.children {
		n += child.size()
	}
	return n
}

// calls draws a function and what it calls, and returns where the next one comes.
func (c *canvas) calls(r run, f *called, x, y int, n *int) int {
	c.node(x, y, callWide, callHigh, "", f.name, path.Join(path.Base(path.Dir(f.file)), path.Base(f.file)))
	for i, rv := range f.writes {
		at := y + callHigh/2 - 14*(len(f.writes)-1) + 28*i
		step, _ := r.first(0, func(s view.Step) bool { return s.Write != nil && s.Write.RV == rv })
		kind := kindOf(r.Objects[*step.About])
		what := step.Write.Verb + "s " + kind
		*n++
		c.arrow(f.name, "API server", what, kind, x+callWide, at, callsAPI, at)
		c.number(x+callWide+22, at, *n)
		c.say(x+callWide+42, at-4, small, 160, "soft", what)
	}
	next := y + callRow
	for _, child := range f.children {
		c.arrow(f.name, child.name, "", "call", x+14, y+callHigh, x+14, next+callHigh/2, x+28, next+callHigh/2)
		next = c.calls(r, child, x+28, next, n)
	}
	return next
}
