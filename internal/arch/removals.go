package arch

import (
	"go/ast"
	"io/fs"
	"slices"
	"strings"
)

// Removers returns the packages that may call os.RemoveAll: the one whose removals stop at mounts, on systems that have
// none, and support of tests, which know what is in their directories.
func Removers() []string {
	return []string{"machine/internal/removal", "internal/rigs/outside", "internal/seedtest"}
}

// CheckRemovals reports every use of os.RemoveAll, outside tests, in a package that may not: it goes through mounts, and
// would delete the files of a driver's volumes.
func CheckRemovals(fsys fs.FS, removers []string) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range files {
		if f.test || slices.Contains(removers, f.dir) {
			continue
		}
		system := localName(f, "os")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "RemoveAll" || system == "" {
				return true
			}
			switch x := sel.X.(type) {
			case *ast.Ident:
				ok = x.Name == system
			case *ast.SelectorExpr: // an os.Root that is embedded
				ok = x.Sel.Name == "Root"
			default:
				ok = false
			}
			if ok {
				found = append(found, f.violation(n.Pos(),
					"removes a directory through mounts: use mount.RemoveAll, or RemoveAll of a disk.Disk; only %s may", strings.Join(removers, ", ")))
			}
			return true
		})
	}
	return found, nil
}
