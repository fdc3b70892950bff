package clustertest

import (
	"os"
	"path/filepath"
)

// MainStory holds the manifests of the main story, those of examples/openebs-hostpath: a class, a
// claim and its pod.
var MainStory = []string{
	ReadFile("examples/openebs-hostpath/openebs-hostpath.yaml"),
	ReadFile("examples/openebs-hostpath/local-hostpath-pvc.yaml"),
	ReadFile("examples/openebs-hostpath/local-hostpath-pod.yaml"),
}

// ReadFile returns the text of a file of this repository, by its path from the top.
func ReadFile(name string) string {
	for top := "."; ; top = filepath.Join(top, "..") {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err == nil {
			return string(text)
		}
		if _, err := os.Stat(filepath.Join(top, "go.mod")); err == nil || len(top) > 100 {
			panic("no " + name)
		}
	}
}
