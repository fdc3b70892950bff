package provisioner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/fault"
)

// Faulty puts faults in front of a Provisioner: a script of answers, each given
// once or several times, and then the Provisioner's own. Faults of the API are
// the engine's (engine.Fault); these are the backend's.
//
//	p := &provisioner.Faulty{Provisioner: mine}
//	c.AddProvisioner("example.com/nfs", p)
//	p.OnProvision(provisioner.Answer{AnswerLost: true})
//
// It has all optional interfaces, and answers for a Provisioner that has not got
// one as the library would. With Config.New, wrap what New makes and keep the
// Faulty outside, so that the script outlives a crash:
//
//	faulty := &provisioner.Faulty{}
//	cfg.New = func(env control.Env) (_ provisioner.Provisioner, err error) {
//		faulty.Provisioner, err = build(env)
//		return faulty, err
//	}
type Faulty struct {
	// Provisioner answers the calls that the script does not.
	Provisioner Provisioner

	onProvision, onDelete fault.Script[*Answer]
	// made holds the volumes that Provisioner made and has not deleted.
	made assets
}

// Answer is an answer that a Faulty gives instead of its Provisioner. The zero Answer is a
// final error. These are the usual faults:
//
//	Answer{Err: err}                                  // Provision fails finally
//	Answer{Err: err, State: ProvisioningInBackground} // ... and may go on
//	Answer{Err: err, State: ProvisioningReschedule}   // ... on this node
//	Answer{AnswerLost: true}                          // it succeeds, but the answer is lost
//	Answer{Before: func() { c.Crash(name) }}          // the process dies right after the call
//	Answer{Panic: "oh"}                               // its code is broken
type Answer struct {
	// Claim, if set, limits the answer to the volume of this claim, "namespace/name".
	Claim string
	// Skip lets so many calls about it pass first.
	Skip int
	// Times is the number of calls that get this answer after those: default 1, negative for ever.
	Times int
	// Before is done first: for example, a crash asked for.
	Before func()
	// Panic, if not nil, is the value with which the call panics.
	Panic any
	// AnswerLost lets the Provisioner do its work first and then replaces its answer, by
	// default with ErrAnswerLost and the state Background, as after a timeout.
	AnswerLost bool
	// State and Err are the answer. An Answer with nothing but Before lets the
	// call through.
	//
	// By default the state of an error is Finished, but Background if the Provisioner has made a
	// volume for the claim and not deleted it: Finished says that there is none, and the library
	// then forgets the claim and leaves such a volume behind for ever. To play a backend that
	// does say so, set State to ProvisioningFinished.
	State ProvisioningState
	Err   error
}

// ErrAnswerLost is the error that the library gets for a call whose answer was lost.
var ErrAnswerLost = errors.New("the answer was lost")

// errFaulty is the error of an Answer without one.
var errFaulty = errors.New("refused on purpose")

// OnProvision adds answers to calls of Provision, in order.
func (f *Faulty) OnProvision(answers ...Answer) { add(&f.onProvision, answers) }

// OnDelete adds answers to calls of Delete, in order. Their State means nothing.
func (f *Faulty) OnDelete(answers ...Answer) { add(&f.onDelete, answers) }

// Clear ends all faults.
func (f *Faulty) Clear() {
	f.onProvision.Clear()
	f.onDelete.Clear()
}

func add(script *fault.Script[*Answer], answers []Answer) {
	for _, answer := range answers {
		script.Add(&answer, answer.Skip, answer.Times)
	}
}

// next takes the first answer about the claim out of a script, nil if there is none. The
// script may be asked from several goroutines: a call that blocks for ever is given up
// by the engine, without waiting for it.
func next(script *fault.Script[*Answer], claim string) *Answer {
	answer, _ := script.Strike(func(a *Answer) bool { return a.Claim == "" || a.Claim == claim })
	return answer
}

// Provision implements Provisioner. Where an Answer fails the call and sets no State, the state is Background if the claim may have
// a volume.
func (f *Faulty) Provision(ctx context.Context, options ProvisionOptions) (volume *v1.PersistentVolume, state ProvisioningState, err error) {
	answer := next(&f.onProvision, claimToClaimKey(options.PVC))
	err = answer.give(func() (err error) {
		if volume, state, err = f.Provisioner.Provision(ctx, options); err == nil && volume != nil {
			f.made.add(volume.Name, options.PVC)
		}
		return err
	})
	switch {
	case answer == nil || answer.passes():
		return volume, state, err
	case answer.State != "":
		return nil, answer.State, err
	case answer.AnswerLost || f.made.has(options.PVC):
		return nil, ProvisioningInBackground, err
	}
	return nil, ProvisioningFinished, err
}

// Delete implements Provisioner.
func (f *Faulty) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	claim := ""
	if ref := volume.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	answer := next(&f.onDelete, claim)
	return answer.give(func() error {
		err := f.Provisioner.Delete(ctx, volume)
		if err == nil {
			f.made.remove(volume.Name)
		}
		return err
	})
}

// assets records the volumes that exist. Calls may come from several goroutines, as those of next.
type assets struct {
	mu     sync.Mutex
	claims map[string]claimID // by volume
}

// claimID tells claims apart, also in unit tests whose claims have no UID.
type claimID struct {
	key string
	uid types.UID
}

func idOf(claim *v1.PersistentVolumeClaim) claimID {
	return claimID{claimToClaimKey(claim), claim.UID}
}

func (a *assets) add(volume string, claim *v1.PersistentVolumeClaim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.claims == nil {
		a.claims = map[string]claimID{}
	}
	a.claims[volume] = idOf(claim)
}

func (a *assets) remove(volume string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.claims, volume)
}

// has reports whether there is a volume for a claim.
func (a *assets) has(claim *v1.PersistentVolumeClaim) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(a.claims)), idOf(claim))
}

// passes reports whether the call reaches the Provisioner, and its answer the caller: a has nothing but Before.
func (a *Answer) passes() bool {
	return a.Before != nil && !a.AnswerLost && a.Err == nil && a.State == "" && a.Panic == nil
}

// give answers a call of the Provisioner, work, as a says. A nil Answer calls work.
func (a *Answer) give(work func() error) error {
	if a == nil {
		return work()
	}
	if a.Before != nil {
		a.Before()
	}
	switch {
	case a.passes():
		return work()
	case a.AnswerLost:
		if err := work(); err != nil {
			return err
		}
	}
	switch {
	case a.Panic != nil:
		panic(a.Panic)
	case a.Err != nil:
		return a.Err
	case a.AnswerLost:
		return ErrAnswerLost
	}
	return errFaulty
}

// ShouldProvision implements Qualifier.
func (f *Faulty) ShouldProvision(ctx context.Context, claim *v1.PersistentVolumeClaim) bool {
	qualifier, ok := f.Provisioner.(Qualifier)
	return !ok || qualifier.ShouldProvision(ctx, claim)
}

// ShouldDelete implements DeletionGuard.
func (f *Faulty) ShouldDelete(ctx context.Context, volume *v1.PersistentVolume) bool {
	guard, ok := f.Provisioner.(DeletionGuard)
	return !ok || guard.ShouldDelete(ctx, volume)
}

// SupportsBlock implements BlockProvisioner.
func (f *Faulty) SupportsBlock(ctx context.Context) bool {
	block, ok := f.Provisioner.(BlockProvisioner)
	return ok && block.SupportsBlock(ctx)
}

// Volumes implements Inventory. It fails if the Provisioner has no inventory.
func (f *Faulty) Volumes(ctx context.Context) ([]string, error) {
	inventory, ok := InventoryOf(f.Provisioner)
	if !ok {
		return nil, fmt.Errorf("a provisioner of type %T has no inventory", f.Provisioner)
	}
	return inventory.Volumes(ctx)
}

// Unwrap returns the Provisioner behind the faults.
func (f *Faulty) Unwrap() Provisioner { return f.Provisioner }

// InventoryOf returns the provisioner's inventory, if it has one: of a wrapper with a
// method Unwrap, like Faulty, that of what it wraps.
func InventoryOf(p Provisioner) (Inventory, bool) {
	if wrapper, ok := p.(interface{ Unwrap() Provisioner }); ok {
		return InventoryOf(wrapper.Unwrap())
	}
	inventory, ok := p.(Inventory)
	return inventory, ok
}
