package show

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each of these changes one thing as kubectl would, lets the cluster come to rest
// and tells what happened.

// PatchVolume patches a volume.
func (s *Show) PatchVolume(name, patch string) {
	s.command("$ kubectl patch pv %s --type merge -p '%s'\n", name, patch)
	_, err := s.cluster.Client().CoreV1().PersistentVolumes().Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.Try(err)
	s.Settle()
}

// Cordon keeps new pods off a node.
func (s *Show) Cordon(node string) {
	s.command("$ kubectl cordon %s\n", node)
	s.patchNode(node, map[string]any{"spec": map[string]any{"unschedulable": true}})
}

// Uncordon lets a node take pods again.
func (s *Show) Uncordon(node string) {
	s.command("$ kubectl uncordon %s\n", node)
	s.patchNode(node, map[string]any{"spec": map[string]any{"unschedulable": nil}})
}

// LabelNode sets a label of a node.
func (s *Show) LabelNode(node, key, value string) {
	s.command("$ kubectl label node %s %s=%s\n", node, key, value)
	s.patchNode(node, map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}})
}

func (s *Show) patchNode(name string, change map[string]any) {
	patch, err := json.Marshal(change)
	s.Try(err)
	_, err = s.cluster.Client().CoreV1().Nodes().Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	s.Try(err)
	s.Settle()
}

// AnnotateClaim sets an annotation of a claim in the namespace default, or, if
// value is empty, removes it.
func (s *Show) AnnotateClaim(name, key, value string) {
	change, set := fmt.Sprintf("%s=%s", key, value), any(value)
	if value == "" {
		change, set = key+"-", nil
	}
	s.command("$ kubectl annotate --overwrite pvc %s %s\n", name, change)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: set}}})
	s.Try(err)
	_, err = s.cluster.Client().CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Patch(context.Background(), name, types.MergePatchType,
		patch, metav1.PatchOptions{})
	s.Try(err)
	s.Settle()
}
