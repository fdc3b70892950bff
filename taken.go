package storagesim

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

// takesPrograms reports whether a pod's containers are taken to run programs that are not here: not those of a pod that an actor of the
// cluster, a provisioner for example, has made for its own work.
func (c *Cluster) takesPrograms(pod *v1.Pod) bool {
	c.helpersMu.Lock()
	defer c.helpersMu.Unlock()
	return !c.helpers[trace.RefOf("Pod", pod)]
}

// noteHelper remembers the pods that actors make for their own work, until they are gone.
func (c *Cluster) noteHelper(w trace.Write) {
	if w.Err != nil || w.Kind != "Pod" || w.Subresource != "" {
		return
	}
	pod, made := w.New.(*v1.Pod)
	c.helpersMu.Lock()
	defer c.helpersMu.Unlock()
	switch {
	case !made:
		delete(c.helpers, w.About())
	case w.Old == nil && metav1.GetControllerOfNoCopy(pod) == nil && slices.Contains(c.engine.Actors(), w.Actor):
		c.helpers[w.About()] = true
	}
}
