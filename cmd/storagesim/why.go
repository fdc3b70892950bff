package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/story/bundled"
)

// why explains the pods that do not run, each with its claims, then the claims that
// are not bound and that no such pod uses, and the snapshots that are not ready.
func why(out io.Writer, c *storagesim.Cluster, width int) error {
	var pods, claims, notReady []string
	for _, obj := range c.Engine().Server().Objects(true) {
		switch o := obj.(type) {
		case *v1.Pod:
			if !runs(o) {
				pods = append(pods, "pod/"+o.Namespace+"/"+o.Name)
			}
		case *v1.PersistentVolumeClaim:
			if o.Status.Phase != v1.ClaimBound {
				claims = append(claims, "pvc/"+o.Namespace+"/"+o.Name)
			}
		case *unstructured.Unstructured:
			ready, _, _ := unstructured.NestedBool(o.Object, "status", "readyToUse")
			if !ready && o.GetKind() == snapshots.SnapshotKind && o.GroupVersionKind().Group == snapshots.Group {
				notReady = append(notReady, "volumesnapshot/"+o.GetNamespace()+"/"+o.GetName())
			}
		}
	}
	explained := map[string]bool{}
	for _, ref := range slices.Concat(pods, claims, notReady) {
		if explained[ref] {
			continue
		}
		found, err := c.Lab().Explanation(ref)
		if err != nil {
			return err
		}
		for _, object := range found.Objects {
			explained[object] = true
		}
		if _, err := io.WriteString(out, "\n"+prose.Wrap(c.Trace().ShortIDs(found.Text+hints(found)), width, 4)); err != nil {
			return err
		}
	}
	return nil
}

// runs reports whether a pod runs with all its containers, or has run to its end.
func runs(pod *v1.Pod) bool {
	if pod.Status.Phase != v1.PodRunning {
		return pod.Status.Phase == v1.PodSucceeded
	}
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running == nil })
}

// hints returns the flags that would help.
func hints(why storagesim.Explanation) string {
	var b strings.Builder
	for _, name := range why.Provisioners {
		if short, ok := bundled.NameOf(name); ok {
			fmt.Fprintf(&b, "  hint: --provisioners %s runs it\n", short)
		} else {
			fmt.Fprintf(&b, "  hint: --stand-ins runs a stand-in for %s; a program of your own needs --csi-endpoint or, in Go, Cluster.AddProvisioner\n", name)
		}
	}
	for _, dir := range why.Directories {
		fmt.Fprintf(&b, "  hint: --disk %s:%s gives the node this directory before the start\n", dir.Node, dir.Path)
	}
	for _, export := range why.Exports {
		fmt.Fprintf(&b, "  hint: --nfs %s adds a server that exports it\n", export)
	}
	return b.String()
}
