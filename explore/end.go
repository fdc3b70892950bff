package explore

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
)

// end counts, at the end of a run, the pods that ran or had succeeded, and the bound claims.
type end struct{ pods, claims int }

// endOf returns a cluster's, and the objects that are not so far.
func endOf(c *storagesim.Cluster) (e end, waiting []string, err error) {
	core, ctx := c.Client().CoreV1(), context.Background()
	pods, err := core.Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return e, nil, err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == v1.PodRunning || pod.Status.Phase == v1.PodSucceeded {
			e.pods++
			continue
		}
		waiting = append(waiting, "pod/"+pod.Namespace+"/"+pod.Name)
	}
	claims, err := core.PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return e, nil, err
	}
	for _, claim := range claims.Items {
		if claim.Status.Phase == v1.ClaimBound {
			e.claims++
			continue
		}
		waiting = append(waiting, "pvc/"+claim.Namespace+"/"+claim.Name)
	}
	return e, waiting, nil
}

// reachedBy says what is missing where fewer pods run or fewer claims are bound.
func (e *end) reachedBy(c *storagesim.Cluster) error {
	is, waiting, err := endOf(c)
	if err != nil || is.pods >= e.pods && is.claims >= e.claims {
		return err
	}
	var why strings.Builder
	for _, object := range waiting {
		if says, err := c.Explain(object); err == nil {
			fmt.Fprintf(&why, "\n%s", strings.TrimRight(says, "\n"))
		}
	}
	return fmt.Errorf("%d pods run and %d claims are bound, in order they were %d and %d%s", is.pods, is.claims, e.pods, e.claims, why.String())
}
