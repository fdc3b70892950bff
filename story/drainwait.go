package story

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// waitForDelete lets time pass, second by second, until the evicted pods are gone or the time is
// over, and tells what happens meanwhile.
//
// Upstream: kubectl pkg/drain drain.go evictPods and waitForDelete, v0.36.
func (c *call) waitForDelete(evicted []v1.Pod, timeout time.Duration) error {
	return c.advance(nil, func() error {
		for end := c.cluster.Now().Add(timeout); ; {
			left, err := c.stillThere(evicted)
			if err != nil || len(left) == 0 {
				return err
			}
			if !c.cluster.Now().Before(end) {
				return fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: global timeout reached: %v", left[0].Name, left[0].Namespace, timeout)
			}
			if err := c.cluster.RunFor(min(time.Second, end.Sub(c.cluster.Now()))); err != nil {
				return err
			}
		}
	})
}

// stillThere returns those of the pods that are not gone. Another pod of the same name does not count.
func (c *call) stillThere(pods []v1.Pod) (left []v1.Pod, err error) {
	for _, pod := range pods {
		found, err := c.cluster.Client().CoreV1().Pods(pod.Namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && found.UID != pod.UID:
		case err != nil:
			return nil, err
		default:
			left = append(left, pod)
		}
	}
	return left, nil
}

// podsNamed returns those of the node's pods that are among the keys.
func podsNamed(pods []v1.Pod, keys []string) []v1.Pod {
	return slices.DeleteFunc(pods, func(pod v1.Pod) bool { return !slices.Contains(keys, pod.Namespace+"/"+pod.Name) })
}

// podsOf returns the pods on a node.
func (c *call) podsOf(node string) ([]v1.Pod, error) {
	list, err := c.cluster.Client().CoreV1().Pods(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
