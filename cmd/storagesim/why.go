package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/prose"
)

// why explains the pods that are Pending, each with its claims, and then the claims
// that are and that no pod uses.
func why(out io.Writer, c *storagesim.Cluster, width int) error {
	explained := map[string]bool{}
	explain := func(kind, namespace, name string) error {
		ref := kind + "/" + namespace + "/" + name
		if explained[ref] {
			return nil
		}
		explained[ref] = true
		text, err := c.Explain(ref)
		if err == nil {
			_, err = io.WriteString(out, "\n"+prose.Wrap(c.ShortIDs(text+hints(c, kind, namespace, name, text)), width, 4))
		}
		return err
	}
	objects := c.Server().Objects()
	for _, obj := range objects {
		pod, ok := obj.(*v1.Pod)
		if !ok || pod.Status.Phase != v1.PodPending {
			continue
		}
		if err := explain("pod", pod.Namespace, pod.Name); err != nil {
			return err
		}
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				explained["pvc/"+pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	for _, obj := range objects {
		claim, ok := obj.(*v1.PersistentVolumeClaim)
		if !ok || claim.Status.Phase != v1.ClaimPending {
			continue
		}
		if err := explain("pvc", claim.Namespace, claim.Name); err != nil {
			return err
		}
	}
	return nil
}

// hints are the flags that would help.
func hints(c *storagesim.Cluster, kind, namespace, name, text string) string {
	var said []string
	say := func(format string, args ...any) {
		if hint := fmt.Sprintf("  hint: "+format+"\n", args...); !slices.Contains(said, hint) {
			said = append(said, hint)
		}
	}
	for _, found := range missingProvisioner.FindAllStringSubmatch(text, -1) {
		if short, ok := storagesim.InstallableAs(found[1]); ok {
			say("--provisioners %s runs it", short)
		} else {
			say("--provisioners knows %s; any other provisioner needs a Go program (Cluster.AddProvisioner)", strings.Join(storagesim.Installable(), ", "))
		}
	}
	if kind != "pod" {
		return strings.Join(said, "")
	}
	pod, err := c.Pod(namespace + "/" + name)
	if err != nil || pod.Spec.NodeName == "" {
		return strings.Join(said, "")
	}
	for _, found := range missingPath.FindAllStringSubmatch(text, -1) {
		say("--disk %s:%s gives the node this directory before the start", pod.Spec.NodeName, found[1]+found[2])
	}
	return strings.Join(said, "")
}

var (
	missingProvisioner = regexp.MustCompile(`provisioner (\S+) should make a volume.* but no such provisioner runs here`)
	missingPath        = regexp.MustCompile(`path "([^"]+)" does not exist|hostPath type check failed: (\S+) is not a directory`)
)
