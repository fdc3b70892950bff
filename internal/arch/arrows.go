package arch

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// A House is a folder whose rooms are its own files and the folders in it.
type House struct {
	// Top is the folder, "." for the whole repository.
	Top string
	// Both is the number of pairs of rooms that may name each other both ways: of each, one arrow runs up.
	Both int
}

// Houses returns the houses of this repository.
func Houses() []House { return []House{{".", 8}, {"api", 4}} }

// CheckArrows reports the pairs of rooms that name each other both ways, if there are more of them than may be, and circles of three rooms or
// more. A file names another one of its package by what is declared there, and a folder by an import. Tests are not counted.
func CheckArrows(fsys fs.FS, houses []House) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f *file) bool { return f.test })
	var found []Violation
	for _, h := range houses {
		arrows := h.arrows(files)
		var both []string
		for _, from := range slices.Sorted(maps.Keys(arrows)) {
			for _, to := range slices.Sorted(maps.Keys(arrows[from])) {
				if from < to && arrows[to][from] {
					both = append(both, from+" and "+to)
				}
			}
		}
		if len(both) > h.Both {
			found = append(found, Violation{File: h.Top, Text: strings.Join(both, ", ") + " name each other both ways: take one of the ways off them"})
		}
		if rest := circle(arrows); len(rest) > 0 {
			found = append(found, Violation{File: h.Top, Text: strings.Join(rest, ", ") + " name each other in a circle"})
		}
	}
	return found, nil
}

// room returns the room of a file, false for files of other houses.
func (h House) room(name string) (string, bool) {
	if h.Top != "." {
		var within bool
		if name, within = strings.CutPrefix(name, h.Top+"/"); !within {
			return "", false
		}
	}
	folder, _, isFolder := strings.Cut(name, "/")
	if isFolder {
		return folder + "/", true
	}
	return name, true
}

// arrows returns which rooms each room names.
func (h House) arrows(files []*file) map[string]map[string]bool {
	arrows := map[string]map[string]bool{}
	add := func(from, to string) {
		a, ok := h.room(from)
		b, ours := h.room(to)
		if !ok || !ours || a == b {
			return
		}
		if arrows[a] == nil {
			arrows[a] = map[string]bool{}
		}
		arrows[a][b] = true
	}
	var own []*ast.File
	for _, f := range files {
		for _, spec := range f.ast.Imports {
			if dir, ours := inModule(importPath(spec)); ours && dir != h.Top {
				add(f.path, dir+"/x.go")
			}
		}
		if f.dir == h.Top {
			own = append(own, f.ast)
		}
	}
	if len(own) == 0 {
		return arrows
	}
	set, uses := files[0].set, map[*ast.Ident]types.Object{}
	config := types.Config{Importer: noImports{}, Error: func(error) {}} // what other packages declare is not needed
	pkg, _ := config.Check(h.Top, set, own, &types.Info{Uses: uses})
	at := func(pos token.Pos) string { return set.Position(pos).Filename }
	for name, object := range uses {
		if object.Pkg() == pkg && object.Pos().IsValid() {
			add(at(name.Pos()), at(object.Pos()))
		}
	}
	return arrows
}

// noImports imports nothing.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// circle returns the rooms that are in circles, or between two, when pairs that name each other are taken away.
func circle(arrows map[string]map[string]bool) []string {
	left := map[string]bool{}
	for room := range arrows {
		left[room] = true
	}
	for before := -1; before != len(left); {
		before = len(left)
		for room := range left {
			named, names := false, false
			for other := range left {
				named = named || arrows[other][room] && !arrows[room][other]
				names = names || arrows[room][other] && !arrows[other][room]
			}
			if !named || !names {
				delete(left, room)
			}
		}
	}
	return slices.Sorted(maps.Keys(left))
}
