package explore

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/trace"
)

// Coverage says how much a number of runs saw, so that "nothing was found" means something.
type Coverage struct {
	// States is the number of different states of all claims, volumes, pods and attachments there
	// were, without what differs between any two runs, such as UIDs: phases, who is bound to
	// whom, which node, whether they are being deleted, and which finalizers they have.
	States int `json:"states"`
	// Orders is the number of different orders of writes there were.
	Orders int `json:"orders"`
	// NewState and NewOrder are the last runs that had a state, or an order, that none
	// before had. Where they are far behind the number of runs, more runs will find little.
	NewState int `json:"newState"`
	NewOrder int `json:"newOrder"`
	// Places is the number of single faults that the plain run has: each of its calls (an actor, a verb, a resource or a
	// method, and its number) with each kind of fault that it can meet. Tried is the number of those that were played, each in a
	// run of its own, and Recovered that of these runs in which all rules held, without those that fail by bugs of Kubernetes.
	Places    int `json:"places"`
	Tried     int `json:"tried"`
	Recovered int `json:"recovered"`
	// Points lists the names of the points of the author's code (package mayfail) that the plain run reaches, sorted. One
	// that is missing is in code that the scenario does not come to.
	Points []string `json:"points,omitempty"`
	// Missed is the number of runs with faults or holds that struck nothing, since the run did not do what the plain run does;
	// Unreached lists the first of such faults and holds.
	Missed    int      `json:"missed"`
	Unreached []string `json:"unreached,omitempty"`
}

// String returns the coverage in one line.
func (c Coverage) String() string {
	if c.Orders == 0 && c.Places == 0 { // each run has an order, and a plain run that goes well has places
		return "nothing was explored, since the plain run failed"
	}
	text := fmt.Sprintf("%d states (the last new one in run %d), %d orders of writes (the last in run %d), %d of %d places recover",
		c.States, c.NewState, c.Orders, c.NewOrder, c.Recovered, c.Places)
	if left := c.Places - c.Tried; left > 0 {
		text += fmt.Sprintf(", %d were not tried", left)
	}
	if len(c.Points) > 0 {
		text += "; points reached: " + strings.Join(c.Points, ", ")
	}
	if len(c.Unreached) > 0 {
		text += fmt.Sprintf("; trouble struck nothing in %d (such as %s)", c.Missed, strings.Join(c.Unreached, ", "))
	}
	return text
}

// Of faults that struck nothing, unreachedShown are named, and no more than unreachedKept are kept.
const unreachedShown, unreachedKept = 3, 10_000

// covered collects what runs saw. Runs happen beside each other.
type covered struct {
	mu     sync.Mutex
	states map[uint64]int // the first run that had it
	orders map[uint64]int
	places map[Fault]bool
	points []string            // see Coverage.Points
	single map[Fault]singleRun // the first of each
	missed []int               // the runs whose trouble struck nothing
	first  map[string]int      // by what struck nothing first: the first such run, of some
}

// singleRun is a run with a single fault in order.
type singleRun struct {
	run       int
	recovered bool
}

func newCovered() *covered {
	return &covered{states: map[uint64]int{}, orders: map[uint64]int{}, places: map[Fault]bool{}, single: map[Fault]singleRun{}, first: map[string]int{}}
}

// expect takes the single faults of the plain run as all places.
func (c *covered) expect(p *planner) {
	for _, place := range p.points {
		_, name, _ := strings.Cut(place, " ")
		c.points = append(c.points, name)
	}
	slices.Sort(c.points)
	c.points = slices.Compact(c.points)
	for _, f := range slices.Concat(p.crashes, p.faults) {
		c.places[f] = true
	}
}

// add takes over what a run saw.
func (c *covered) add(run int, plan Plan, r *recorded, recovered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := r.seen
	for state := range s.states {
		if first, known := c.states[state]; !known || run < first {
			c.states[state] = run
		}
	}
	if first, known := c.orders[s.order]; !known || run < first {
		c.orders[s.order] = run
	}
	switch {
	case len(r.missed) > 0:
		c.missed = append(c.missed, run)
		if first, known := c.first[r.missed[0]]; known && run < first || !known && len(c.first) < unreachedKept {
			c.first[r.missed[0]] = run
		}
	case plan.Size() == 1 && len(plan.Faults) == 1 && c.places[plan.Faults[0]]:
		if first, known := c.single[plan.Faults[0]]; !known || run < first.run {
			c.single[plan.Faults[0]] = singleRun{run, recovered}
		}
	}
}

// coverage sums up the runs from 1 to last. Others may have been played beside the last one, as many as there are cores: they do not count.
func (c *covered) coverage(last int) Coverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Coverage{Places: len(c.places), Points: c.points}
	out.States, out.NewState = firsts(c.states, last)
	out.Orders, out.NewOrder = firsts(c.orders, last)
	for _, s := range c.single {
		if s.run <= last {
			out.Tried++
			if s.recovered {
				out.Recovered++
			}
		}
	}
	for _, run := range c.missed {
		if run <= last {
			out.Missed++
		}
	}
	names := slices.SortedFunc(maps.Keys(c.first), func(a, b string) int { return cmp.Or(cmp.Compare(c.first[a], c.first[b]), cmp.Compare(a, b)) })
	for _, name := range names {
		if c.first[name] <= last && len(out.Unreached) < unreachedShown {
			out.Unreached = append(out.Unreached, name)
		}
	}
	return out
}

// firsts returns how many of what runs saw was seen up to the run last, and which run was the last to see something new.
func firsts(seen map[uint64]int, last int) (n, newest int) {
	for _, run := range seen {
		if run <= last {
			n, newest = n+1, max(newest, run)
		}
	}
	return n, newest
}

// seen holds the states that one run saw.
type seen struct {
	states map[uint64]bool
	now    uint64 // the present state: the sum of the objects'
	order  uint64 // the writes so far
}

func newSeen() *seen { return &seen{states: map[uint64]bool{}} }

func (s *seen) write(w trace.Write) {
	if w.Err != nil || w.Old == w.New {
		return
	}
	was, is := abstract(w.Old), abstract(w.New)
	s.order = s.order*1099511628211 + number(w.Actor) + number(w.Verb) + number(w.Kind) + is
	if was == is {
		return
	}
	s.now += is - was
	s.states[s.now] = true
}

func number(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum64()
}

// abstract returns a number for what matters of an object, 0 for those that do not.
func abstract(obj runtime.Object) uint64 {
	var parts [8]string
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		parts = [8]string{"c", o.Namespace, o.Name, string(o.Status.Phase), bound(o.Spec.VolumeName), when(o.DeletionTimestamp != nil),
			strings.Join(o.Finalizers, ",")}
	case *v1.PersistentVolume:
		parts = [8]string{"v", "", volumeKey(o), string(o.Status.Phase), bound(o.Spec.StorageClassName), when(o.DeletionTimestamp != nil),
			strings.Join(o.Finalizers, ",")}
	case *v1.Pod:
		parts = [8]string{"p", o.Namespace, ids.ReplaceAllString(o.Name, ""), string(o.Status.Phase), o.Spec.NodeName, when(o.DeletionTimestamp != nil)}
	case *storagev1.VolumeAttachment:
		parts = [8]string{"a", "", o.Spec.NodeName, when(o.Status.Attached), when(o.Status.AttachError != nil), when(o.DeletionTimestamp != nil)}
	default:
		return 0
	}
	return number(strings.Join(parts[:], "/"))
}

// volumeKey names a volume by its claim, since provisioned ones have names by chance.
func volumeKey(pv *v1.PersistentVolume) string {
	if ref := pv.Spec.ClaimRef; ref != nil {
		return ref.Namespace + "/" + ref.Name
	}
	return pv.Name
}

// ids are UIDs in names, as helper pods have them.
var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+`)

func bound(name string) string { return when(name != "") }

func when(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
