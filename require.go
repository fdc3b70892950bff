package storagesim

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// RequireBound returns an error unless each of these claims, "namespace/name" or "name"
// in the namespace default, is Bound. The error says what each is instead, and why, as
// Explain does. Settle first.
func (c *Cluster) RequireBound(claims ...string) error {
	return c.requireEach("pvc", claims, func(key string) (string, error) {
		claim, err := c.Claim(key)
		if err != nil || claim.Status.Phase == v1.ClaimBound {
			return "", err
		}
		return fmt.Sprintf("pvc %s is %s, not %s", key, claim.Status.Phase, v1.ClaimBound), nil
	})
}

// RequireRunning returns an error unless each of these pods, "namespace/name" or "name"
// in the namespace default, is Running and all its containers are. The error says what
// each is instead, and why, as Explain does. Settle first.
func (c *Cluster) RequireRunning(pods ...string) error {
	return c.requireEach("pod", pods, func(key string) (string, error) {
		pod, err := c.Pod(key)
		if err != nil {
			return "", err
		}
		if pod.Status.Phase != v1.PodRunning {
			return fmt.Sprintf("pod %s is %s, not %s", key, pod.Status.Phase, v1.PodRunning), nil
		}
		for _, container := range pod.Status.ContainerStatuses {
			if container.State.Running == nil {
				return fmt.Sprintf("container %s of pod %s does not run", container.Name, key), nil
			}
		}
		return "", nil
	})
}

// requireEach collects what is wrong with each object, with its explanation below.
func (c *Cluster) requireEach(kind string, keys []string, check func(key string) (wrong string, err error)) error {
	if len(keys) == 0 {
		return fmt.Errorf("no %s is named", kind)
	}
	var all []string
	for _, key := range keys {
		wrong, err := check(key)
		if err != nil {
			wrong = fmt.Sprintf("%s %s: %v", kind, key, err)
		}
		if wrong == "" {
			continue
		}
		// What cannot be explained is reported all the same.
		why, _ := c.Explain(kind + "/" + key)
		all = append(all, strings.TrimRight(wrong+"\n"+why, "\n"))
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "\n"))
}
