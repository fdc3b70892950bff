package arch

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Module is the path of the module whose tree is checked.
const Module = "github.com/storagesim/storagesim"

// A Layer is a set of packages that may import the same things.
type Layer struct {
	Name string
	// Tops are the directories in the layer, each with all below it that is in no other
	// layer; "." is the root package alone.
	Tops []string
	// May lists the layers it may import besides its own top directory.
	// All layers may import internal packages.
	May []string
}

// Layers returns the house, from the ground up.
func Layers() []Layer {
	ground := []string{"points", "rules", "trace", "contract", "machines", "volumes", "sockets", "calls"}
	rooms := []string{"api parts", "api store", "api views", "api kinds", "api addresses", "api admission", "api webhooks", "api patches"} // of the API server
	cluster := append(append(slices.Clone(ground), rooms...), "api", "drivers", "provisioners", "csi", "controllers", "explanations", "cluster")
	return []Layer{
		{Name: "internal", Tops: []string{"internal"}},
		{Name: "rules", Tops: []string{"binding"}},
		{Name: "trace", Tops: []string{"trace"}},
		{Name: "views", Tops: []string{"view"}, May: []string{"trace"}},
		{Name: "pages", Tops: []string{"view/page", "view/mermaid", "view/perfetto", "view/svg"}, May: []string{"trace", "views"}},
		{Name: "contract", Tops: []string{"control"}, May: []string{"trace"}},
		{Name: "machines", Tops: []string{"machine"}, May: []string{"trace"}},
		{Name: "volumes", Tops: []string{"volume"}, May: []string{"trace", "contract", "machines"}},
		{Name: "sockets", Tops: []string{"csi/socket"}, May: []string{"trace", "contract", "machines"}},
		{Name: "calls", Tops: []string{"csi/call"}, May: []string{"points", "trace", "contract", "machines", "sockets"}},
		{Name: "points", Tops: []string{"mayfail"}}, // authors link it into production: the standard library only
		{Name: "api parts", Tops: []string{"api/internal"}},
		{Name: "api store", Tops: []string{"api/store"}, May: []string{"trace", "contract", "api parts"}},
		{Name: "api views", Tops: []string{"api/views"}, May: []string{"api parts"}},
		{Name: "api kinds", Tops: []string{"api/registry"}, May: []string{"api parts", "api views"}},
		{Name: "api addresses", Tops: []string{"api/address"}, May: []string{"api parts", "api kinds", "api store"}},
		{Name: "api admission", Tops: []string{"api/admission"}, May: []string{"api parts", "api kinds"}},
		{Name: "api webhooks", Tops: []string{"api/webhook"}, May: []string{"api parts", "api kinds", "api admission"}},
		{Name: "api patches", Tops: []string{"api/patch"}, May: []string{"api parts", "api kinds"}},
		{Name: "api", Tops: []string{"api"}, May: append([]string{"rules", "trace", "contract"}, rooms...)},
		{Name: "drivers", Tops: []string{"engine"}, May: []string{"points", "trace", "contract", "api", "api store", "api views"}},
		{Name: "remote", Tops: []string{"live/remote"}, May: []string{"trace", "contract", "api", "api views"}},
		{Name: "webhooks outside", Tops: []string{"live/webhooks"}, May: []string{"trace", "api webhooks"}},
		{Name: "live", Tops: []string{"live"}, May: cluster},
		{Name: "workloads", Tops: []string{"internal/workload"}, May: ground},
		{Name: "provisioners", Tops: []string{"provisioner"}, May: ground},
		{Name: "csi", Tops: []string{"csi"}, May: append(slices.Clone(ground), "provisioners")},
		{Name: "controllers", Tops: []string{"pvcontroller", "scheduler", "kubelet", "controllers/attachdetach", "controllers/cronjob", "controllers/daemonset",
			"controllers/deployment", "controllers/disruption", "controllers/garbagecollector", "controllers/job", "controllers/namespace", "controllers/nodelifecycle",
			"controllers/podgc", "controllers/replicaset", "controllers/resourcequota", "controllers/snapshotcontroller", "controllers/statefulset",
			"controllers/tainteviction"}, May: append(slices.Clone(ground), "workloads")},
		{Name: "explanations", Tops: []string{"explain"}, May: append(slices.Clone(ground), "provisioners", "csi", "controllers")},
		{Name: "cluster", Tops: []string{"."}, May: cluster},
		{Name: "bundled", Tops: []string{"story/bundled"}, May: cluster},
		{Name: "scripts", Tops: []string{"story", "conformance", "storagesimtest"}, May: append(slices.Clone(cluster), "bundled")},
		{Name: "lessons", Tops: []string{"learn"}, May: append(slices.Clone(cluster), "scripts")},
		{Name: "serving", Tops: []string{"live/serve"}, May: append(slices.Clone(cluster), "live")},
		{Name: "exploration", Tops: []string{"explore"}, May: append(slices.Clone(cluster), "scripts")},
		{Name: "museum", Tops: []string{"explore/museum"}, May: append(slices.Clone(cluster), "exploration")},
		{Name: "test support", Tops: []string{"internal/rigs"}, // below the cluster
			May: append(slices.Clone(ground), "provisioners", "api", "api views", "drivers")},
		{Name: "top", Tops: []string{"cmd", "examples"},
			May: append(slices.Clone(cluster), "bundled", "scripts", "lessons", "exploration", "museum", "serving", "remote", "webhooks outside", "views", "pages",
				"test support")},
	}
}

// CheckImports reports every import, outside tests, of a package of this module
// that the layers do not allow, and every package that is in no layer.
//
// Tests may import anything: a controller's tests run it on the real engine.
func CheckImports(fsys fs.FS, layers []Layer) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range files {
		if f.test {
			continue
		}
		from, layer, ok := layerOf(layers, f.dir)
		if !ok {
			found = append(found, f.violation(f.ast.Package, "package %s is in no layer: add it to internal/arch/layers.go", f.dir))
			continue
		}
		for _, spec := range f.ast.Imports {
			to, ours := inModule(importPath(spec))
			if !ours {
				continue
			}
			at, target, ok := layerOf(layers, to)
			switch {
			case ok && (at == from || target.Name == "internal"):
			case !ok:
				found = append(found, f.violation(spec.Pos(), "imports %s, which is in no layer", to))
			case target.Name == layer.Name || !slices.Contains(layer.May, target.Name):
				found = append(found, f.violation(spec.Pos(), "%s (%s) imports %s (%s): it may import only %s",
					f.dir, layer.Name, to, target.Name, allowed(layers, layer)))
			}
		}
	}
	return found, nil
}

// inModule returns the directory of a package of this module.
func inModule(importPath string) (dir string, ours bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// top returns the first element of a directory's path.
func top(dir string) string {
	first, _, _ := strings.Cut(path.Clean(dir), "/")
	return first
}

// layerOf returns the layer of a package, and the directory that puts it there: the longest
// that leads to it.
func layerOf(layers []Layer, dir string) (at string, layer Layer, ok bool) {
	for at = path.Clean(dir); ; at = path.Dir(at) {
		if i := slices.IndexFunc(layers, func(l Layer) bool { return slices.Contains(l.Tops, at) }); i >= 0 && (at != "." || dir == ".") {
			return at, layers[i], true
		}
		if at == "." {
			return "", Layer{}, false
		}
	}
}

func allowed(layers []Layer, l Layer) string {
	names := []string{"internal"}
	for _, other := range layers {
		if slices.Contains(l.May, other.Name) {
			names = append(names, other.Tops...)
		}
	}
	return strings.Join(names, ", ")
}
