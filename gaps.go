package storagesim

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/trace"
)

// Simulation is the name of the actor of records of type trace.Gap: what they say is said of the
// simulation itself.
const Simulation = "storagesim"

// noteGaps records what of a written object is not modelled: of a new object all, of a changed one
// only what it asks for since. What is made with the template of another object is left out, since it
// was said of that.
func (c *Cluster) noteGaps(w trace.Write) {
	if w.Err != nil || w.New == nil || w.New == w.Old || w.Subresource != "" || isOfTemplate(w.New) || c.server().Asks(w.New) {
		return
	}
	var before []gaps.Use
	uses := gaps.Of(w.Kind, w.New)
	if len(uses) > 0 && w.Old != nil {
		before = gaps.Of(w.Kind, w.Old)
	}
	for _, use := range uses {
		if slices.ContainsFunc(before, func(b gaps.Use) bool { return b.Gap == use.Gap }) {
			continue
		}
		record := trace.Gap{About: w.About(), Fields: use.Paths, Cluster: use.Cluster, Here: use.Here}
		c.engine.Trace().Add(trace.Entry{Time: w.Time, Actor: Simulation, Record: record})
		c.gapsMu.Lock()
		if !c.gapsSeen[use.Gap] {
			c.gapsSeen[use.Gap], c.gaps = true, append(c.gaps, record)
		}
		c.gapsMu.Unlock()
	}
}

// isOfTemplate reports whether an object is controlled by one that has the template of a pod.
func isOfTemplate(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(m)
	return owner != nil && gaps.HasTemplate(owner.Kind)
}
