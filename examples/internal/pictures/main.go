package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures FOLDER")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// writeAll writes all pictures into a folder.
func writeAll(folder string) error {
	pictures, bad := draw()
	for _, p := range pictures {
		if err := os.WriteFile(filepath.Join(folder, p.name+".svg"), []byte(p.text), 0o644); err != nil {
			return err
		}
	}
	return bad
}

// picture is a file.
type picture struct {
	name, text string
	canvas     *canvas
}

// draw draws all pictures. The error names what does not fit; the pictures are there nevertheless, to be looked at.
func draw() ([]picture, error) {
	runs := map[string]run{}
	var pictures []picture
	var bad error
	for _, p := range []struct {
		name, run string
		draw      func(run) *canvas
	}{
		{"actors", "csi", actors},
		{"two-pointers", "static", twoPointers},
		{"two-cycles", "csi", twoCycles},
		{"local-and-hostpath", "places", places},
		{"mount-tree", "csi", mountTree},
		{"attach-and-mount", "csi", attachAndMount},
		{"csi-pieces", "csi", csiPieces},
		{"node-dies", "node", nodeDies},
		{"csi-unmount", "away", unmount},
		{"csi-detach", "away", detach},
		{"csi-delete", "away", deleteVolume},
		{"openebs-calls", "openebs", openebsCalls},
	} {
		r, ok := runs[p.run]
		if !ok {
			var err error
			if r, err = play(p.run); err != nil {
				return nil, err
			}
			runs[p.run] = r
		}
		c := p.draw(r)
		text, err := c.svg()
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("%s: %w", p.name, err))
		}
		pictures = append(pictures, picture{p.name, text, c})
	}
	return pictures, bad
}
