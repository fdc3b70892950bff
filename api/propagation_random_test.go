package api_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// rig is a server with one object of some kind, and its model.
type rig struct {
	clock *clock
	user  *fake.Clientset
	kind  deletable
	model doomed
	rng   *rand.Rand
	log   []string // what was done, for the message of a failure
}

func one[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// newRig makes an object that the seed chooses.
func newRig(t *testing.T, seed uint64, broken string) *rig {
	t.Helper()
	r := &rig{clock: newClock(), rng: rand.New(rand.NewPCG(seed, 1))}
	r.user = fake.New(api.NewServer(api.Config{Now: r.clock.Now}), "user")
	kind := one(r.rng, "config map", "job", "replication controller", "event", "pod", "pod", "pod")
	finalizers := one(r.rng, nil, nil, []string{"example.com/a"}, []string{"orphan"}, []string{"example.com/a", "foregroundDeletion"})
	r.kind = deletables[kind]
	r.model = doomed{
		pod: kind == "pod", orphans: kind == "job" || kind == "replication controller", never: kind == "event",
		onNode: r.rng.IntN(3) > 0, term: one(r.rng, int64(0), 30), finalizers: slices.Clone(finalizers), broken: broken,
	}
	if r.model.pod {
		r.kind = deletable{v1.SchemeGroupVersion.WithResource("pods"), func(m metav1.ObjectMeta) runtime.Object {
			p := pod(m.Name)
			p.ObjectMeta, p.Spec.TerminationGracePeriodSeconds = m, &r.model.term
			if r.model.onNode {
				p.Spec.NodeName = "node-1"
			}
			return p
		}}
	}
	obj := r.kind.new(metav1.ObjectMeta{Name: "x", Namespace: "default", Finalizers: finalizers})
	_, err := r.user.Invokes(clienttesting.NewCreateAction(r.kind.gvr, "default", obj), obj)
	require.NoError(t, err)
	made := r.stored()
	r.model.uid, r.model.version, r.model.generation = string(made.GetUID()), made.GetResourceVersion(), made.GetGeneration()
	r.log = append(r.log, fmt.Sprintf("%s %+v", kind, r.model))
	return r
}

// stored returns the object, nil if it is gone.
func (r *rig) stored() metav1.Object {
	obj, err := r.user.Invokes(clienttesting.NewGetAction(r.kind.gvr, "default", "x"), nil)
	if err != nil {
		return nil
	}
	return obj.(metav1.Object)
}

// options returns options by chance; most preconditions hold.
func (r *rig) options() (opts metav1.DeleteOptions) {
	opts.PropagationPolicy = one(r.rng, nil, nil, new(metav1.DeletePropagationBackground), new(metav1.DeletePropagationForeground),
		new(metav1.DeletePropagationOrphan))
	if r.rng.IntN(20) == 0 {
		opts.PropagationPolicy = new(metav1.DeletionPropagation("Sideways"))
	}
	opts.OrphanDependents = one(r.rng, nil, nil, nil, nil, new(true), new(false))
	opts.GracePeriodSeconds = one(r.rng, nil, nil, new(int64(-1)), new(int64(0)), new(int64(1)), new(int64(10)), new(int64(60)))
	opts.Preconditions = &metav1.Preconditions{}
	if r.rng.IntN(2) == 0 {
		opts.Preconditions.UID = new(types.UID(one(r.rng, r.model.uid, r.model.uid, r.model.uid, "another")))
	}
	if r.rng.IntN(2) == 0 {
		opts.Preconditions.ResourceVersion = new(one(r.rng, r.model.version, r.model.version, r.model.version, "1"))
	}
	opts.DryRun = one(r.rng, nil, nil, nil, nil, nil, []string{"All"}, []string{"Some"})
	return opts
}

// step does one thing to the object and to its model, and says how they differ.
func (r *rig) step() string {
	r.clock.Advance(time.Duration(r.rng.IntN(12_000)) * time.Millisecond)
	before := r.model
	before.finalizers = slices.Clone(r.model.finalizers)
	if len(r.model.finalizers) > 0 && r.rng.IntN(4) == 0 {
		finalizer := one(r.rng, r.model.finalizers...)
		rest := slices.DeleteFunc(slices.Clone(r.model.finalizers), func(f string) bool { return f == finalizer })
		patch := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, quoted(rest))
		_, err := r.user.Invokes(clienttesting.NewPatchAction(r.kind.gvr, "default", "x", types.MergePatchType, []byte(patch)), nil)
		r.log = append(r.log, fmt.Sprint(patch, err))
		if apierrors.IsNotFound(err) != r.model.gone {
			return fmt.Sprintf("the object is gone: %v, expected %v", err, r.model.gone)
		}
		if !r.model.gone {
			r.model.letGo(finalizer)
		}
		return r.compare(before)
	}
	opts := r.options()
	want := r.model.delete(opts, r.clock.Now())
	_, err := r.user.Invokes(clienttesting.NewDeleteActionWithOptions(r.kind.gvr, "default", "x", opts), nil)
	got := 200
	if err != nil {
		got = int(err.(apierrors.APIStatus).Status().Code)
	}
	r.log = append(r.log, fmt.Sprintf("delete %s: %v", opts.String(), err))
	if got != want {
		return fmt.Sprintf("code %d, expected %d", got, want)
	}
	return r.compare(before)
}

func quoted(words []string) string {
	text := "["
	for i, w := range words {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%q", w)
	}
	return text + "]"
}

// compare says how the stored object differs from its model. before is the model as it was:
// a step that changes nothing makes no new version.
func (r *rig) compare(before doomed) string {
	show := func(d doomed) string {
		grace := int64(-1)
		if d.grace != nil {
			grace = *d.grace
		}
		return fmt.Sprintf("finalizers %q deleted %d grace %d generation %d", d.finalizers, d.deleted, grace, d.generation)
	}
	obj := r.stored()
	if obj == nil || r.model.gone {
		if obj == nil && r.model.gone {
			return ""
		}
		return fmt.Sprintf("gone: %v, expected %v", obj == nil, r.model.gone)
	}
	got := doomed{finalizers: obj.GetFinalizers(), grace: obj.GetDeletionGracePeriodSeconds(), generation: obj.GetGeneration()}
	if ts := obj.GetDeletionTimestamp(); ts != nil {
		got.deleted = ts.Unix()
	}
	if show(got) != show(r.model) {
		return show(got) + ", expected " + show(r.model)
	}
	changed := show(before) != show(r.model)
	if changed != (obj.GetResourceVersion() != r.model.version) {
		return fmt.Sprintf("a new version: %v, expected %v", !changed, changed)
	}
	r.model.version = obj.GetResourceVersion()
	return ""
}

// differs runs cases against a model with a broken rule ("": none), until one disagrees.
func differs(t *testing.T, cases int, broken string) string {
	t.Helper()
	for seed := range uint64(cases) {
		r := newRig(t, seed, broken)
		for range 6 {
			if said := r.step(); said != "" {
				return fmt.Sprintf("seed %d: %s\n%q", seed, said, r.log)
			}
		}
	}
	return ""
}

func TestDeletionsWithAnyOptionsFollowTheRules(t *testing.T) {
	require.Empty(t, differs(t, 1000, ""))
}

// The comparison above can fail: it notices each rule that the model gets wrong.
func TestABrokenRuleOfDeletionIsNoticed(t *testing.T) {
	for _, rule := range []string{
		"the UID is a precondition", "the version is a precondition", "a dry run changes nothing", "a negative grace period is a second",
		"a pod without a node goes at once", "nothing else changes while the grace period runs", "a grace period does not end in the past",
		"events have no dependents", "orphanDependents is a policy", "a finalizer wins over the default of the kind", "some kinds orphan by default",
		"the options win over a finalizer", "upstream forgets the version",
	} {
		t.Run(rule, func(t *testing.T) { require.NotEmpty(t, differs(t, 1000, rule)) })
	}
}
