package public

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed testdata/shapes
var shapes embed.FS

// Shape is a small manifest of our own that ends as public manifests of its shape do.
type Shape struct {
	// Row has the flags and the ends. Its name is the shape's.
	Row
	// What says in a sentence what the manifest has, and Manifest is it.
	What, Manifest string
}

// Shapes returns the shapes of rows, by their names.
func Shapes() ([]*Shape, error) {
	entries, err := shapes.ReadDir("testdata/shapes")
	if err != nil {
		return nil, err
	}
	var all []*Shape
	for _, entry := range entries {
		text, err := shapes.ReadFile("testdata/shapes/" + entry.Name())
		if err != nil {
			return nil, err
		}
		shape, err := parseShape(strings.TrimSuffix(path.Base(entry.Name()), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, shape)
	}
	return all, nil
}

// parseShape reads a sentence after #, the lines of a row, and after --- the manifest.
func parseShape(name, text string) (*Shape, error) {
	head, manifest, _ := strings.Cut(text, "\n---\n")
	what, lines, _ := strings.Cut(head, "\n")
	what, found := strings.CutPrefix(what, "# ")
	if !found || manifest == "" {
		return nil, fmt.Errorf("shape %s: want a sentence after #, and a manifest after ---", name)
	}
	shape := &Shape{Row: Row{Name: name}, What: what, Manifest: manifest}
	for i, line := range strings.Split(lines, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		if err := shape.add(word, rest, i+2); err != nil {
			return nil, err
		}
	}
	return shape, nil
}
