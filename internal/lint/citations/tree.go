package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree holds the declarations of a release: by the path of the file, "kubernetes/pkg/volume/util.go", and by name, the
// source without comments. A method has two names, "Cache.Get" and "Get", and so has the field of a struct, unless something
// else in the file has the second; of a field the type counts.
type tree map[string]map[string]string

// add adds the files of a module that are not generated.
func (t tree) add(module, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "vendor" || name == "test"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "zz_generated") || name == "generated.pb.go":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		declared, err := declarations(source)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		t[module+"/"+filepath.ToSlash(below)] = declared
		return nil
	})
}

// declarations returns what a file declares at its top.
func declarations(source []byte) (map[string]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	add := func(name string, node ast.Node) {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, node); err == nil { // a node that was parsed can be printed
			all[name] += strings.Join(strings.Fields(b.String()), " ") + "\n"
		}
	}
	fields := map[string]ast.Node{}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(d.Name.Name, d)
			if d.Recv != nil {
				add(receiver(d.Recv.List[0].Type)+"."+d.Name.Name, d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				var node ast.Node = spec
				if d.Tok == token.CONST && usesIota(d) {
					node = d // a value follows from the others
				}
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, node)
					if t, ok := s.Type.(*ast.StructType); ok {
						for _, field := range t.Fields.List {
							for _, name := range field.Names {
								fields[name.Name], fields[s.Name.Name+"."+name.Name] = field.Type, field.Type
							}
						}
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name.Name, node)
					}
				}
			}
		}
	}
	for name, field := range fields { // in any order: each has a name of its own
		if _, taken := all[name]; !taken {
			add(name, field)
		}
	}
	return all, nil
}

func usesIota(group *ast.GenDecl) (uses bool) {
	ast.Inspect(group, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok && name.Name == "iota" {
			uses = true
		}
		return !uses
	})
	return uses
}

// receiver returns the name of a method's type.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// in returns the paths of the files that a citation names: by the end of the path for "pv_controller.go", by the folder for
// "core/validation", and all without either. A test is found by the name of its file only.
func (t tree) in(places []string) (paths []string) {
	for path := range t {
		test := strings.HasSuffix(path, "_test.go")
		if !test && len(places) == 0 || matches(path, places) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// declaring returns the paths whose files declare a name.
func (t tree) declaring(paths []string, name string) (found []string) {
	for _, path := range paths {
		if _, ok := t[path][name]; ok {
			found = append(found, path)
		}
	}
	return found
}

func matches(path string, places []string) bool {
	for _, place := range places {
		if strings.HasSuffix(place, ".go") {
			if strings.HasSuffix("/"+path, "/"+place) {
				return true
			}
		} else if folder, name, _ := cut(path); !strings.HasSuffix(name, "_test.go") && strings.Contains("/"+folder+"/", "/"+place+"/") {
			return true
		}
	}
	return false
}

func cut(path string) (folder, name string, ok bool) {
	at := strings.LastIndex(path, "/")
	if at < 0 {
		return "", path, false
	}
	return path[:at], path[at+1:], true
}
