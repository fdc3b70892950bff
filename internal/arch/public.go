package arch

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// publicTable is the file with the table of public packages.
const publicTable = "ARCHITECTURE.md"

// tableRow finds a row of the table, quoted a name in it.
var (
	tableRow = regexp.MustCompile(`^\| \*\*(?:API|lesson|wiring)\*\*`)
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// CheckPublic reports public packages that the table of ARCHITECTURE.md does not name, or not once,
// and names in the table that no public package has. A package is public if another module can
// import it; the root package's name is storagesim.
func CheckPublic(fsys fs.FS) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	table, err := fs.ReadFile(fsys, publicTable)
	if err != nil {
		return nil, err
	}
	public, named := publicPackages(files), map[string]bool{}
	var found []Violation
	for i, line := range strings.Split(string(table), "\n") {
		if !tableRow.MatchString(line) {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			name := m[1]
			switch {
			case !public[name]:
				found = append(found, Violation{File: publicTable, Line: i + 1, Text: name + " is no public package: the table names each one by its folder"})
			case named[name]:
				found = append(found, Violation{File: publicTable, Line: i + 1, Text: name + " is in the table twice"})
			}
			named[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(public)) {
		if !named[name] {
			found = append(found, Violation{File: publicTable, Text: "public package " + name +
				" is not in the table: add it there, or move it to the internal/ of its room"})
		}
	}
	return found, nil
}

// publicPackages returns the names of the packages that other modules can import.
func publicPackages(files []*file) map[string]bool {
	public := map[string]bool{}
	for _, f := range files {
		switch {
		case f.test || f.ast.Name.Name == "main":
		case slices.Contains(strings.Split(f.dir, "/"), "internal") || top(f.dir) == "examples":
		case f.dir == ".":
			public[path.Base(Module)] = true
		default:
			public[f.dir] = true
		}
	}
	return public
}
