package release

import (
	"fmt"
	"regexp"
	"strings"
)

// Texts returns the documents in which a version stands only between markers, or is one that Kept lists.
func Texts() []string {
	return []string{"README.md", "docs/README.md", "docs/found.md", "docs/e2e.md", "docs/pages.md", "docs/[0-9]*.md"}
}

// Statement is a version in a text that stays as it is when releases change: it says what was so then.
type Statement struct{ File, Text, Why string }

// Kept returns these versions, with some words around each.
func Kept() []Statement {
	const name, seen, source = "the chapter is about this release", "it was seen with this release", "the lines are those of this release"
	return []Statement{
		{"README.md", "storagesim@v0.0.0", "a module without a release"},
		{"docs/README.md", "[What v1.37 loses]", name},
		{"docs/found.md", "local-path-provisioner v0.0.30", source},
		{"docs/found.md", "the source of v1.37.2", source},
		{"docs/found.md", "Kubernetes v1.37.2 has it; v1.36 does not score", source},
		{"docs/found.md", "lines 503 and 513 of v1.37.2", source},
		{"docs/found.md", "Read in the source of Kubernetes v1.37.2", source},
		{"docs/found.md", "kindest/node:v1.37.2", "the steps are for this release"},
		{"docs/found.md", "seen with kube-apiserver v1.37.2 itself", "it was seen there"},
		{"docs/found.md", "lines 314 to 318 of v1.37.2", source},
		{"docs/found.md", "tried with kube-apiserver v1.37.2 and etcd alone", "it was tried there"},
		{"docs/found.md", "external-snapshotter v8.6 and v8.7 have it", source},
		{"docs/found.md", "kind v1.37.2 with csi-driver-host-path and csi-snapshotter v8.7", "the steps are for this release"},
		{"docs/found.md", "external-provisioner v6.4 and external-snapshotter v8.7", source},
		{"docs/found.md", "kind v1.37.2 with csi-driver-host-path, csi-provisioner v6.4 and csi-snapshotter v8.7", "the steps are for this release"},
		{"docs/found.md", "the source of external-provisioner v6.4", source},
		{"docs/found.md", "external-provisioner v6.4.0: `Provision` calls", source},
		{"docs/found.md", "external-snapshotter v8.7.0, line 951", source},
		{"docs/found.md", "after it has made the volume, csi-provisioner v6.4 and", "the steps are for this release"},
		{"docs/found.md", "csi-snapshotter v8.7. Create a claim with `dataSource` s1, delete s1", "the steps are for this release"},
		{"docs/found.md", "kind v1.37.2 with csi-driver-host-path, whose CreateVolume", "the steps are for this release"},
		{"docs/found.md", "since v6.2", "a change in this release"},
		{"docs/found.md", "the source of nfs-subdir-external-provisioner v4.0.2", source},
		{"docs/found.md", "the chart nfs-subdir-external-provisioner v4.0.18", "the steps are for this release"},
		{"docs/found.md", "since v1.37 the node lifecycle controller", "a change in this release"},
		{"docs/found.md", "tryUpdateNodeHealth, v1.37.2", source},
		{"docs/found.md", "looks only at claims in the cache, v1.37.2", source},
		{"docs/found.md", "component-helpers v0.37", source},
		{"docs/found.md", "recorded with v1.37.2", seen},
		{"docs/20-kubectl-without-a-cluster.md", "a real kubectl, v1.32", seen},
		{"docs/21-your-own-program.md", "with v10.0.1 itself", "the version that the chapter is about"},
		{"docs/39-the-museum.md", "those of v1.37 itself", name},
		{"docs/41-what-v1.37-loses.md", "# 41. What v1.37 loses", name},
		{"docs/41-what-v1.37-loses.md", "the fault of v1.37 ", name},
	}
}

var (
	// marked finds a version between markers: "<!-- v NAME -->v1.2.3<!-- /v -->". NAME is kubernetes, kubernetes-minor, a program of the table,
	// or a go.mod file and a module, with ":" between them.
	marked = regexp.MustCompile(`<!-- v (\S+) -->(.*?)<!-- /v -->`)
	// quotations are blocks of code, the tables that other tests compare, and targets of links.
	quotations = regexp.MustCompile("(?ms)^```.*?^```$|\\]\\([^)]*\\)|" + `^<!-- from \S+ -->\n(?:\|[^\n]*\n)+`)
	version    = regexp.MustCompile(`\bv\d+\.\d+(?:\.\d+)*\b`)
)

// versionOf returns the version that a marker names. read returns a file of the repository.
func versionOf(name string, read func(file string) (string, error)) (string, error) {
	switch name {
	case "kubernetes":
		return Kubernetes, nil
	case "kubernetes-minor":
		return Kubernetes[:strings.LastIndex(Kubernetes, ".")], nil
	}
	for _, p := range Programs() {
		if p.Name == name {
			return p.Version, nil
		}
	}
	file, module, ok := strings.Cut(name, ":")
	if !ok {
		return "", fmt.Errorf("%q is not a program of the table, and not FILE:MODULE", name)
	}
	text, err := read(file)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + ` (v\S+)`).FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s requires no %s", file, module)
	}
	return m[1], nil
}

// Marked returns the text with the versions between its markers as they are now.
func Marked(text string, read func(file string) (string, error)) (string, error) {
	var bad error
	return marked.ReplaceAllStringFunc(text, func(m string) string {
		name := marked.FindStringSubmatch(m)[1]
		v, err := versionOf(name, read)
		if err != nil {
			bad = err
		}
		return "<!-- v " + name + " -->" + v + "<!-- /v -->"
	}), bad
}

// Unmarked returns the versions of a text that stand outside of markers, each with words around it. It uses up kept statements of the
// file, which it returns by the number of times that each was found.
func Unmarked(file, text string) (stray []string, used map[string]int) {
	text = quotations.ReplaceAllString(marked.ReplaceAllString(text, ""), "]")
	used = map[string]int{}
	for _, s := range Kept() {
		if s.File == file {
			used[s.Text] = strings.Count(text, s.Text)
			text = strings.ReplaceAll(text, s.Text, "")
		}
	}
	for _, at := range version.FindAllStringIndex(text, -1) {
		stray = append(stray, strings.TrimSpace(text[strings.LastIndex(text[:at[0]], "\n")+1:at[1]]))
	}
	return stray, used
}
