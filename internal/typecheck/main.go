// Typecheck checks the types of all packages of a module for other operating systems, from their
// sources, and with -tests those of their tests:
//
//	go run ./internal/typecheck -tests darwin/arm64 windows/amd64
//
// It finds what a compiler finds there, in a tenth of the time: it generates no code, and of
// packages of other modules it reads declarations only.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	tests := flag.Bool("tests", false, "check tests, too")
	flag.Parse()
	failed := flag.NArg() == 0
	for _, target := range flag.Args() {
		checked, err := check(".", target, *tests)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			failed = true
			continue
		}
		fmt.Printf("%s: the types of %d packages are right\n", target, checked)
	}
	if failed {
		os.Exit(1)
	}
}

// listed holds what go list says of a package. ImportPath tells a package from its variants for
// tests, and ImportMap maps a path in its sources to the package or variant that is meant.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct {
		GoVersion string
		Main      bool
	}
}

// ours reports whether the package is of the module that is checked.
func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// check checks the module in a folder for a target such as windows/amd64. It returns how many
// packages of the module it checked, where a package and its variant for tests count as two.
func check(dir, target string, tests bool) (checked int, err error) {
	goos, goarch, ok := strings.Cut(target, "/")
	sizes := types.SizesFor("gc", goarch)
	if !ok || sizes == nil {
		return 0, errors.New("is not an operating system and an architecture, such as windows/amd64")
	}
	packages, err := list(dir, goos, goarch, tests)
	if err != nil {
		return 0, err
	}
	c := checker{sizes: sizes, done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, p := range packages {
		c.check(p)
		if p.ours() {
			checked++
		}
	}
	if checked == 0 {
		return 0, errors.New("the module has no packages")
	}
	return checked, errors.Join(c.errors...)
}

// list returns the packages of a module, perhaps with their tests, and all that these import. A
// package comes after those that it imports.
func list(dir, goos, goarch string, tests bool) ([]*listed, error) {
	cmd := exec.Command("go", "list", "-deps", fmt.Sprintf("-test=%t", tests), "-json=Dir,ImportPath,Name,GoFiles,ImportMap,Module", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var packages []*listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		switch err := decoder.Decode(p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		// go test writes the main package of a test only when it builds it.
		if p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") {
			packages = append(packages, p)
		}
	}
}

// A checker checks packages for one target, each after those that it imports.
type checker struct {
	sizes  types.Sizes
	done   map[string]*types.Package // by listed.ImportPath
	errors []error
}

func (c *checker) check(p *listed) {
	fset := token.NewFileSet()
	files, err := parse(fset, p)
	if err != nil {
		c.errors = append(c.errors, err)
	}
	config := types.Config{
		Importer:         imports{p, c.done},
		Sizes:            c.sizes,
		IgnoreFuncBodies: !p.ours(),
		FakeImportC:      true,
		Error:            func(err error) { c.errors = append(c.errors, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // without the test that a variant is for
	c.done[p.ImportPath], _ = config.Check(path, fset, files, nil)
}

// parse parses the files of a package at the same time.
func parse(fset *token.FileSet, p *listed) ([]*ast.File, error) {
	files, errs := make([]*ast.File, len(p.GoFiles)), make([]error, len(p.GoFiles))
	var wg sync.WaitGroup
	for i, name := range p.GoFiles {
		wg.Go(func() {
			files[i], errs[i] = parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		})
	}
	wg.Wait()
	return files, errors.Join(errs...)
}

// imports imports for one package what was checked before.
type imports struct {
	of   *listed
	done map[string]*types.Package
}

// Import returns a package by the path that stands in the sources.
func (i imports) Import(path string) (*types.Package, error) {
	if mapped, ok := i.of.ImportMap[path]; ok {
		path = mapped
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not listed", path)
}
