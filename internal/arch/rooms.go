package arch

import (
	"go/ast"
	"go/types"
	"io/fs"
	"strings"
)

// maxReader is the number of methods that the Reader of admission may have: a wide one would be the server under another name.
const maxReader = 6

// maxMethods is the number of methods that one type of the API server, and of its validation, may have. What needs more is several
// things.
const maxMethods = 20

// CheckRooms reports what the rooms of the API server must not have: the store no kinds of Kubernetes, admission no Reader that
// writes or is wide, and api no type with more methods than fit into one head. That no room imports the server is for CheckImports.
func CheckRooms(fsys fs.FS) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	found := checkMethods(files)
	for _, f := range files {
		if f.dir == "api/store" {
			for _, spec := range f.ast.Imports {
				if strings.HasPrefix(importPath(spec), "k8s.io/api/") {
					found = append(found, f.violation(spec.Pos(), "imports %s: the store is given functions, and knows no kinds", importPath(spec)))
				}
			}
		}
		if f.test || f.dir != "api/admission" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			reader, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return true
			}
			if reader.Methods.NumFields() > maxReader {
				found = append(found, f.violation(spec.Pos(), "%s has %d methods, at most %d are allowed", spec.Name.Name, reader.Methods.NumFields(), maxReader))
			}
			for _, method := range reader.Methods.List {
				for _, name := range method.Names {
					if !strings.HasPrefix(name.Name, "Get") && !strings.HasPrefix(name.Name, "List") {
						found = append(found, f.violation(name.Pos(), "%s.%s neither gets nor lists: admission only reads, and returns what is to be written",
							spec.Name.Name, name.Name))
					}
				}
			}
			return true
		})
	}
	return found, nil
}

// checkMethods reports the first method too many of a type.
func checkMethods(files []*file) []Violation {
	var found []Violation
	count := map[string]int{}
	for _, f := range files {
		if f.test || f.dir != "api" && !strings.HasPrefix(f.dir, "api/internal/validation") {
			continue
		}
		for _, decl := range f.ast.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil {
				continue
			}
			receiver := strings.TrimPrefix(types.ExprString(method.Recv.List[0].Type), "*")
			if count[f.dir+"."+receiver]++; count[f.dir+"."+receiver] == maxMethods+1 {
				found = append(found, f.violation(method.Pos(),
					"%s has more than %d methods: let those that need only a part of it be functions over that part", receiver, maxMethods))
			}
		}
	}
	return found
}
