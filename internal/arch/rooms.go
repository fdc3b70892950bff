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

// maxServerMethods is the number of methods of the API server, which a user learns.
const maxServerMethods = 15

// maxClusterMethods is the number of exported methods that Cluster may have: a user learns them all. What belongs to a machine is a
// method of Machine, what tells of a run of Trace, and what only tools need of Lab.
const maxClusterMethods = 35

// CheckRooms reports what the rooms of the API server must not have: the store no kinds of Kubernetes, admission no Reader that
// writes or is wide, and api no type with more methods than fit into one head. It also reports a Cluster with too many methods. That no
// room imports the server is for CheckImports.
func CheckRooms(fsys fs.FS) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	found := append(checkMethods(files), checkCluster(files)...)
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

// checkCluster reports the first exported method too many of Cluster, and fields that give it those of another type.
func checkCluster(files []*file) []Violation {
	var found []Violation
	count := 0
	for _, f := range files {
		if f.test || f.dir != "." {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil || receiverOf(n) != "Cluster" || !n.Name.IsExported() {
					break
				}
				if count++; count == maxClusterMethods+1 {
					found = append(found, f.violation(n.Pos(), "Cluster has more than %d exported methods: is this one of Machine, Trace or Lab?", maxClusterMethods))
				}
			case *ast.TypeSpec:
				fields, ok := n.Type.(*ast.StructType)
				if !ok || n.Name.Name != "Cluster" {
					break
				}
				for _, field := range fields.Fields.List {
					if len(field.Names) == 0 {
						found = append(found, f.violation(field.Pos(), "Cluster embeds %s, and has all of its methods", types.ExprString(field.Type)))
					}
				}
			}
			return true
		})
	}
	return found
}

func receiverOf(method *ast.FuncDecl) string {
	return strings.TrimPrefix(types.ExprString(method.Recv.List[0].Type), "*")
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
			receiver, most := receiverOf(method), maxMethods
			if f.dir == "api" && receiver == "Server" {
				most = maxServerMethods
			}
			if count[f.dir+"."+receiver]++; count[f.dir+"."+receiver] == most+1 {
				found = append(found, f.violation(method.Pos(),
					"%s has more than %d methods: let those that need only a part of it be functions over that part", receiver, most))
			}
		}
	}
	return found
}
