package museum

import (
	"context"
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/trace"
)

// The rules about pods and what they use.
const (
	// NoHalf: at rest no pod waits for a node while some of its claims are bound and some not.
	NoHalf = "no half"
	// NoConsumerWaits: at rest no claim waits for a node of a pod that has one.
	NoConsumerWaits = "no consumer waits"
	// OneWriter: no two pods run with one claim.
	OneWriter = "one writer"
	// DataIsKept: at rest the file that a user has put on a volume is there.
	DataIsKept = "data is kept"
)

func podRules() []explore.Rule {
	return []explore.Rule{
		{Name: NoHalf, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return eachPod(c, noHalf) }}
		}},
		{Name: NoConsumerWaits, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return eachPod(c, noConsumerWaits) }}
		}},
		{Name: OneWriter, Begin: func(*storagesim.Cluster) explore.Check { return explore.Check{Write: writers{}.write} }},
		{Name: DataIsKept, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error {
				_, err := c.Machine("node/node-1").ReadFile(kept)
				return err
			}}
		}},
	}
}

// eachPod looks at all pods.
func eachPod(c *storagesim.Cluster, check func(*storagesim.Cluster, *v1.Pod) error) error {
	pods, err := c.Client().CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		err = errors.Join(err, check(c, &pods.Items[i]))
	}
	return err
}

func noConsumerWaits(c *storagesim.Cluster, pod *v1.Pod) error {
	_, waiting, err := claimsOfPod(c, pod)
	if pod.Spec.NodeName != "" && len(waiting) > 0 {
		err = fmt.Errorf("pod %s is on %s, and its claims %q wait", pod.Name, pod.Spec.NodeName, waiting)
	}
	return err
}

func noHalf(c *storagesim.Cluster, pod *v1.Pod) error {
	bound, waiting, err := claimsOfPod(c, pod)
	if pod.Spec.NodeName == "" && len(bound) > 0 && len(waiting) > 0 {
		err = fmt.Errorf("pod %s has no node, and claims %q are bound and %q are not", pod.Name, bound, waiting)
	}
	return err
}

// claimsOfPod returns the pod's claims that exist, bound and waiting.
func claimsOfPod(c *storagesim.Cluster, pod *v1.Pod) (bound, waiting []string, err error) {
	for _, name := range claimNames(pod) {
		switch claim, err := c.Claim(name); {
		case apierrors.IsNotFound(err): // the explorer may have left it out
		case err != nil:
			return nil, nil, err
		case claim.Status.Phase == v1.ClaimBound:
			bound = append(bound, name)
		default:
			waiting = append(waiting, name)
		}
	}
	return bound, waiting, nil
}

func claimNames(pod *v1.Pod) (names []string) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// writers are the pods that run, by their claims.
type writers map[string]types.UID

func (w writers) write(write trace.Write) error {
	if old, ok := write.Old.(*v1.Pod); ok {
		maps.DeleteFunc(w, func(_ string, pod types.UID) bool { return pod == old.UID })
	}
	pod, ok := write.New.(*v1.Pod)
	if !ok || pod.Status.Phase != v1.PodRunning {
		return nil
	}
	for _, claim := range claimNames(pod) {
		if w[claim] != "" {
			return fmt.Errorf("pod %s runs with claim %s, with which another one runs", pod.Name, claim)
		}
		w[claim] = pod.UID
	}
	return nil
}
