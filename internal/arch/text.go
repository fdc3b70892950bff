package arch

import (
	"bytes"
	"io/fs"
	"strings"
)

// NoText returns what no file of the repository may contain: places that exist on
// one machine only. The strings are put together here so that this file does
// not contain them itself.
func NoText() []string {
	return []string{
		"../" + "shared", "shared/" + "semantics", "shared/" + "seeds", "shared/" + "conformance", "shared/" + "design",
		"/work/" + "main", "/work/" + "shared", "/work/" + ".library",
		"/root/" + "go", "/tmp/" + "brief", "/tmp/" + "rec.txt",
	}
}

// CheckText reports every line of every file, test data and nested modules
// included, that contains one of the strings. Directories whose name starts
// with a dot are left out, except .ci; so are git's and binary files.
func CheckText(fsys fs.FS, no []string) ([]Violation, error) {
	var found []Violation
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && name != ".ci" && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || name == ".git" { // a file in a second work tree
			return nil
		}
		content, err := fs.ReadFile(fsys, name)
		if err != nil || bytes.IndexByte(content, 0) >= 0 {
			return err
		}
		for i, line := range strings.Split(string(content), "\n") {
			for _, s := range no {
				if strings.Contains(line, s) {
					found = append(found, Violation{File: name, Line: i + 1, Text: "mentions " + s + ", which readers of the repository do not have"})
				}
			}
		}
		return nil
	})
	return found, err
}
