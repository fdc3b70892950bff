package main

import (
	"io"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
)

// why explains the pods that are Pending, each with its claims, and then the claims
// that are and that no pod uses.
func why(out io.Writer, c *storagesim.Cluster) error {
	explained := map[string]bool{}
	explain := func(kind, namespace, name string) error {
		ref := kind + "/" + namespace + "/" + name
		if explained[ref] {
			return nil
		}
		explained[ref] = true
		text, err := c.Explain(ref)
		if err == nil {
			_, err = io.WriteString(out, "\n"+text)
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
