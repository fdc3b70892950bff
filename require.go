package storagesim

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/manifest"
)

// RequireBound returns an error unless each of these claims, named as for Claim, is Bound. The error says what each is instead, and why, as
// Explain does. Settle first.
func (c *Cluster) RequireBound(claims ...string) error {
	return c.requireEach("pvc", claims, func(ref, key string) (string, error) {
		claim, err := c.Claim(ref)
		if err != nil || claim.Status.Phase == v1.ClaimBound {
			return "", err
		}
		return fmt.Sprintf("pvc %s is %s, not %s", key, claim.Status.Phase, v1.ClaimBound), nil
	})
}

// RequireRunning returns an error unless each of these pods, named as for Pod, is Running
// and all its containers are. The error says what
// each is instead, and why, as Explain does. Settle first.
func (c *Cluster) RequireRunning(pods ...string) error {
	return c.requireEach("pod", pods, func(ref, key string) (string, error) {
		pod, err := c.Pod(ref)
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
func (c *Cluster) requireEach(kind string, keys []string, check func(ref, name string) (wrong string, err error)) error {
	if len(keys) == 0 {
		return fmt.Errorf("no %s is named", kind)
	}
	var all []string
	for _, key := range keys {
		at, err := manifest.ParseRefOf(c.Server().Registry(), kind, key)
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		key = at.Namespace + "/" + at.Name
		wrong, err := check(at.String(), key)
		if err != nil {
			wrong = fmt.Sprintf("%s %s: %v", kind, key, err)
		}
		if wrong == "" {
			continue
		}
		// What cannot be explained is reported all the same.
		why, _ := c.Explain(at.String())
		all = append(all, strings.TrimRight(wrong+"\n"+why, "\n"))
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "\n"))
}
