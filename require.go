package storagesim

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/manifest"
)

// RequireBound returns an error unless each of these claims, named as for Claim, is Bound. The
// error gives the phase of each other claim, and the reason, as Explain does. Settle first. Where
// Settle has rounds, up to 20 minutes of virtual time pass before there is an error.
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
// and all its containers are. The error gives the phase of each other pod, and the reason, as
// Explain does. Settle first. Where Settle has rounds, up to 20 minutes of virtual time pass before
// there is an error.
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

// requireEach returns an error with a line for each object that check finds wrong, and its
// explanation below.
func (c *Cluster) requireEach(kind string, keys []string, check func(ref, name string) (wrong string, err error)) error {
	if len(keys) == 0 {
		return fmt.Errorf("no %s is named", kind)
	}
	return c.eventually(func() error { return c.each(kind, keys, check) })
}

// each checks the objects as they are now.
func (c *Cluster) each(kind string, keys []string, check func(ref, name string) (wrong string, err error)) error {
	var all []string
	for _, key := range keys {
		at, err := manifest.ParseRefOf(c.server().Registry(), kind, key)
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
		// An object that cannot be explained is reported all the same.
		why, _ := c.Explain(at.String())
		all = append(all, strings.TrimRight(wrong+"\n"+why, "\n"))
	}
	if len(all) == 0 {
		return nil
	}
	if log := c.engine.Trace().Entries(); len(log) > 0 && log[len(log)-1].Actor == User {
		all = append(all, "Nothing has happened since the user's last write: Settle or RunFor lets the controllers work.")
	}
	return errors.New(strings.Join(all, "\n"))
}

// RequireNoLeaks returns a *LeakError that names everything that was left behind, and who made
// it: it compares what the backends hold, the API's objects, the nodes' directories and the
// mounts. Package explain/leaks lists what is a leak. Settle first: an operation under way looks
// like a leak. Where Settle has rounds, up to 20 minutes of virtual time pass before there is an
// error. Machine faults do not strike the search.
func (c *Cluster) RequireNoLeaks() error {
	return c.eventually(func() error {
		found, err := c.Lab().Leaks()
		if err != nil || len(found) == 0 {
			return err
		}
		return &leaks.Error{Leaks: found, Deviations: c.Trace().Deviations()}
	})
}
