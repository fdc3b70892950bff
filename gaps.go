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

// Gaps returns what objects of this run asked for that a cluster does and the simulation does not,
// in the order in which it came up: each entry of the register once, about the first object that
// asked. README has the register under "Not there".
func (c *Cluster) Gaps() []trace.Gap {
	c.gapsMu.Lock()
	defer c.gapsMu.Unlock()
	return slices.Clone(c.gaps)
}

// Deviations returns the situations of this run in which the simulation does otherwise than the modelled release of
// Kubernetes, each once, in the order in which they arose. docs/41-what-v1.37-loses.md has the register.
func (c *Cluster) Deviations() []trace.Deviates { return c.engine.Trace().Deviations() }

// noteGaps records what of a written object is not modelled: of a new object all, of a changed one
// only what it asks for since. What is made with the template of another object is left out, since it
// was said of that.
func (c *Cluster) noteGaps(w trace.Write) {
	if w.Err != nil || w.New == nil || w.New == w.Old || w.Subresource != "" || isOfTemplate(w.New) {
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
