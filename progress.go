package storagesim

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/unfinished"
	"github.com/storagesim/storagesim/trace"
)

// progress follows what clients write.
type progress struct {
	// unfinished holds the objects that a controller has still to work on.
	unfinished map[trace.Ref]bool
	// news counts the writes that changed something.
	news int
}

// write takes note of a write.
func (p *progress) write(w trace.Write) {
	if w.Err != nil || w.Old == w.New {
		return
	}
	if unfinished.Object(w.New) {
		p.unfinished[w.About()] = true
	} else {
		delete(p.unfinished, w.About())
	}
	if isNews(w) {
		p.news++
	}
}

// isNews reports whether a write is no event, no sign of life and no restart of a container.
func isNews(w trace.Write) bool {
	if w.Kind == "Event" || w.Kind == "Lease" || trace.IsHeartbeat(w.Old, w.New) {
		return false
	}
	pod, ok := w.New.(*v1.Pod)
	if !ok || w.Subresource != "status" {
		return true
	}
	restarted := func(container v1.ContainerStatus) bool { return container.RestartCount > 0 }
	return !slices.ContainsFunc(pod.Status.InitContainerStatuses, restarted) && !slices.ContainsFunc(pod.Status.ContainerStatuses, restarted)
}
