package story

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/drain"
)

// waitForDelete lets time pass, second by second, until the evicted pods are gone or the time is
// over, and tells what happens meanwhile. Pods that a PodDisruptionBudget keeps it evicts again every
// drain.RetryDelay. It returns the pods that were evicted, in the order in which that was done.
//
// Upstream: kubectl pkg/drain drain.go evictPods and waitForDelete, v0.37.
func (c *call) waitForDelete(o drain.Options, evicted []v1.Pod, refused []drain.Refused, timeout time.Duration) ([]v1.Pod, error) {
	err := c.advance(nil, func() error {
		end, retry := c.cluster.Now().Add(timeout), c.cluster.Now().Add(drain.RetryDelay)
		for {
			left, err := c.stillThere(evicted)
			if err != nil || len(left) == 0 && len(refused) == 0 {
				return err
			}
			now := c.cluster.Now()
			switch {
			case !now.Before(end) && len(left) > 0:
				return fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: global timeout reached: %v", left[0].Name, left[0].Namespace, timeout)
			case !now.Before(end):
				return fmt.Errorf("error when evicting pods/%q -n %q: global timeout reached: %v", refused[0].Pod.Name, refused[0].Pod.Namespace, timeout)
			case !now.Before(retry) && len(refused) > 0:
				done, again, err := c.evictAgain(o, refused)
				if err != nil {
					return err
				}
				evicted, refused, retry = append(evicted, done...), again, now.Add(drain.RetryDelay)
			}
			if err := c.cluster.RunFor(min(time.Second, end.Sub(now))); err != nil {
				return err
			}
		}
	})
	return evicted, err
}

// evictAgain evicts pods that a budget kept, and returns the pods that are evicted now and those that it still keeps.
func (c *call) evictAgain(o drain.Options, refused []drain.Refused) (evicted []v1.Pod, again []drain.Refused, err error) {
	var pods []v1.Pod
	for _, r := range refused {
		pods = append(pods, r.Pod)
	}
	done, err := o.Evict(context.Background(), c.cluster.Client(), pods...)
	return podsNamed(pods, done.Evicted), done.Refused, err
}

// stillThere returns the pods that are not gone. Another pod of the same name does not count.
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

// podsNamed returns the pods whose keys are among keys.
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
