package show

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each of these changes a node or its pods and no more: let time pass to see what comes of it.

// Stop stops an actor ("kubelet/node-1"), or switches a machine off ("node/node-1").
func (s *Show) Stop(name string) { s.power("stop", name, s.cluster.Stop) }

// Start starts what Stop has stopped.
func (s *Show) Start(name string) { s.power("start", name, s.cluster.Start) }

func (s *Show) power(verb, name string, do func(string) error) {
	kind, node, _ := strings.Cut(name, "/")
	switch {
	case kind == "kubelet":
		s.command("%s$ systemctl %s %s\n", node, verb, kind)
	case kind != "node":
		s.command("(%s %ss)\n", name, verb)
	case verb == "stop":
		s.command("(%s loses its power)\n", node)
	default:
		s.command("(%s has power again)\n", node)
	}
	s.Try(do(name))
}

// Taint adds a taint without a value to a node.
func (s *Show) Taint(node, key string, effect v1.TaintEffect) {
	s.command("$ kubectl taint node %s %s:%s\n", node, key, effect)
	s.taints(node, func(taints []v1.Taint) []v1.Taint { return append(taints, v1.Taint{Key: key, Effect: effect}) })
}

// Untaint removes the taints of a key from a node.
func (s *Show) Untaint(node, key string) {
	s.command("$ kubectl taint node %s %s-\n", node, key)
	s.taints(node, func(taints []v1.Taint) (left []v1.Taint) {
		for _, t := range taints {
			if t.Key != key {
				left = append(left, t)
			}
		}
		return left
	})
}

func (s *Show) taints(name string, change func([]v1.Taint) []v1.Taint) {
	nodes := s.cluster.Client().CoreV1().Nodes()
	node, err := nodes.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		s.Try(err)
		return
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": change(node.Spec.Taints)}})
	s.Try(err)
	_, err = nodes.Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	s.Try(err)
}

// ForceDelete removes pods of the namespace default from the API at once, without asking their nodes.
func (s *Show) ForceDelete(pods ...string) {
	s.command("$ kubectl delete pod %s --grace-period=0 --force\n", strings.Join(pods, " "))
	now := int64(0)
	for _, pod := range pods {
		err := s.cluster.Client().CoreV1().Pods(metav1.NamespaceDefault).Delete(context.Background(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if err != nil {
			s.Try(fmt.Errorf("pod %s: %w", pod, err))
		}
	}
}
