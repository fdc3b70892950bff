package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/trace"
)

// writeScript writes what was found as a script for storagesim story, if that is asked for.
// Where it cannot be, it says why: what was found is printed in any case.
func (o *exploreOptions) writeScript(errOut io.Writer, objects []manifest.Object, err error) {
	f, failed := errors.AsType[*explore.Failure](err)
	if o.script == "" || !failed {
		return
	}
	text, err := o.scriptOf(f, objects)
	if err == nil {
		err = os.WriteFile(o.script, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintf(errOut, "note: --script %s: nothing is written: %v\n", o.script, err)
	}
}

// untold returns an error if no script can repeat a failure.
func (o *exploreOptions) untold(f *explore.Failure) error {
	switch {
	case f.Untold != nil:
		return fmt.Errorf("no script can repeat all of it: %w", f.Untold)
	case len(o.nfs) > 0:
		return errors.New("no script can repeat a run with --nfs")
	case strings.Contains(strings.Join(o.entrypoints, ""), "\n"):
		return errors.New("no script can repeat a run with an --entrypoint of several lines")
	}
	return nil
}

// scriptOf returns the script: the cluster, the faults, and what the user does.
func (o *exploreOptions) scriptOf(f *explore.Failure, objects []manifest.Object) (string, error) {
	if err := o.untold(f); err != nil {
		return "", err
	}
	names := o.provisioners
	if !o.provisionersSet {
		names = named(objects, o.named)
	}
	reason, _, _ := strings.Cut(f.Err.Error(), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "# Found by storagesim explore: %s\n", reason)
	words := []string{"cluster nodes=" + strings.Join(o.nodes, ","), "provisioners=" + strings.Join(names, ","), "programs=strict"}
	if len(o.disks) > 0 {
		words = append(words, "disk="+strings.Join(o.disks, ","))
	}
	if o.diskSize != "" {
		words = append(words, "disk-size="+o.diskSize)
	}
	for _, e := range o.entrypoints {
		words = append(words, story.Quote("entrypoint="+e))
	}
	if f.Cluster != "" {
		words = append(words, f.Cluster)
	}
	fmt.Fprintf(&b, "%s\n----\n", strings.Join(words, " "))
	for _, command := range f.Commands {
		fmt.Fprintf(&b, "\n%s\n----\n", command)
	}
	for _, obj := range objects {
		if !slices.Contains(f.Acts, "apply "+pathOf(obj)) {
			continue
		}
		text, err := yaml.JSONToYAML(obj.JSON)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\napply\n%s----\n", text)
	}
	b.WriteString("\nsettle\n----\n")
	var gone []string
	for _, act := range f.Acts {
		if ref, deletes := strings.CutPrefix(act, "delete "); deletes {
			gone = append(gone, ref)
		}
	}
	if len(gone) > 0 {
		fmt.Fprintf(&b, "\ndelete %s\n----\n\nsettle\n----\n", strings.Join(gone, " "))
	}
	b.WriteString("\nleaks\n----\n")
	return b.String(), nil
}

// pathOf returns an object's name among the acts of a failure.
func pathOf(obj manifest.Object) string {
	return trace.Ref{Kind: obj.Resource.Kind, Namespace: obj.Meta().GetNamespace(), Name: obj.Meta().GetName()}.Path()
}
