// Command citations compares what the comments "Upstream: FILE FUNC, v1.36." of this repository cite between two releases of
// Kubernetes, and raises the release of those citations whose functions are the same in both:
//
//	cd internal/lint && go run ./citations -old v1.36.3 -new v1.37.2 -w
//
// It prints the citations that it leaves alone: where something has changed, a person must read both versions and the
// code that cites them; where a name was not found, the comment is to be mended. Sources come from the module proxy.
// Comments and layout of upstream's code do not count.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// modules returns the modules of Kubernetes that are cited. Those besides the first have the minor and patch number with v0.
func modules() []string {
	return []string{
		"kubernetes", "api", "apiextensions-apiserver", "apimachinery", "apiserver", "cli-runtime", "client-go", "cloud-provider", "component-base",
		"component-helpers", "controller-manager", "cri-api", "cri-streaming", "csi-translation-lib", "kube-scheduler", "kubectl", "kubelet", "mount-utils",
	}
}

func main() {
	older := flag.String("old", "", "the release that comments cite, such as v1.36.3")
	newer := flag.String("new", "", "the release to compare it with, such as v1.37.2")
	write := flag.Bool("w", false, "raise the citations whose functions are the same")
	verbose := flag.Bool("v", false, "show both versions of what has changed")
	root := flag.String("root", "../..", "the top of the repository")
	flag.Parse()
	if err := run(*root, *older, *newer, *write, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "citations:", err)
		os.Exit(1)
	}
}

func run(root, older, newer string, write, verbose bool) error {
	before, err := fetch(older)
	if err != nil {
		return err
	}
	after, err := fetch(newer)
	if err != nil {
		return err
	}
	files, err := exec.Command("git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		return fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	counts := map[verdict]int{}
	for name := range strings.Lines(string(files)) {
		name = strings.TrimSpace(name)
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		raised := string(source)
		found := citationsIn(name, raised, minor(older))
		for _, c := range slices.Backward(found) { // from the end, so that places stay right
			c.judge(before, after)
			counts[c.verdict]++
			if c.verdict == same {
				raised = raised[:c.at] + minor(newer)[1:] + raised[c.at+len(minor(older))-1:]
			} else {
				fmt.Printf("%s:%d: %s: %s\n", name, c.line, c.verdict, c.why)
				if verbose && c.verdict == changed {
					fmt.Printf("  was: %s  is:  %s\n", c.was, cmp.Or(c.is, "not there any more\n"))
				}
			}
		}
		if write && raised != string(source) {
			if err := os.WriteFile(filepath.Join(root, name), []byte(raised), 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d citations of %s: %d are the same in %s, %d have changed, %d were not found\n",
		counts[same]+counts[changed]+counts[missing], minor(older), counts[same], newer, counts[changed], counts[missing])
	return nil
}

// minor returns "v1.36" of "v1.36.3".
func minor(release string) string {
	parts := strings.SplitN(release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// fetch returns the sources of a release.
func fetch(release string) (tree, error) {
	if strings.Count(release, ".") != 2 || !strings.HasPrefix(release, "v1.") {
		return nil, fmt.Errorf("%q is not a release; it must look like v1.37.2", release)
	}
	all := tree{}
	for _, module := range modules() {
		version := release
		if module != "kubernetes" {
			version = "v0" + strings.TrimPrefix(release, "v1")
		}
		out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/"+module+"@"+version).Output()
		if err != nil {
			return nil, fmt.Errorf("k8s.io/%s@%s: %w\n%s", module, version, err, out)
		}
		var where struct{ Dir string }
		if err := json.Unmarshal(out, &where); err != nil {
			return nil, fmt.Errorf("k8s.io/%s@%s: %w", module, version, err)
		}
		if err := all.add(module, where.Dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}
