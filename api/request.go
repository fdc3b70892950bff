package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/trace"
)

// request is one request on its way through the server. It is a value: a phase that learns more of it, such as the name of a
// new object, returns it in a draft.
type request struct {
	actor, verb          string
	kind                 *registry.Entry
	form                 *registry.Entry // in which a patch is written, where it is not kind: see doEventsV1
	sub, namespace, name string
	ended                func() error // the error of the request's context
	dryRun               bool
	manager              string            // field manager; the actor if empty
	tracked              bool              // obj comes with its managedFields: an apply, or a write of another form of it
	applied              bool              // obj is the outcome of an apply
	untidy               *bool             // set by an apply whose outcome is stored otherwise than it is shown
	tracks               bool              // Request.Track
	strict               bool              // unknown fields in a patch are refused
	created              *bool             // Request.Created
	warn                 func(text string) // Request.Warn; nil where nothing is to be warned of
	warnFields           func(text string) // the same for fields that the kind does not have; nil if they are to be ignored
	shared               bool              // Request.Shared

	// What the preparer adds.
	generated bool     // the name is made by the server
	dropped   []string // fields that the server left out, for the trace
	size      int      // of the object that is stored, in bytes; 0 if it was not measured
}

// outcome holds what a request did to one object: see Write.
type outcome struct {
	old, new, last call.Object
	// ended is the answer to an update that has removed the object: what the client wanted, in the version that it replaced.
	// Upstream: registry/generic/registry Store.deleteWithoutFinalizers, v1.37.2.
	ended call.Object
}

// answer returns the object for the caller.
func (o outcome) answer() call.Object {
	switch {
	case o.new != nil:
		return o.new
	case o.ended != nil:
		return o.ended
	}
	return o.last
}

// reporter tells the hooks of OnWrite of each write.
type reporter struct {
	tables *tables
	clock  call.Clock
	hooks  []func(trace.Write)
}

// report calls the hooks.
func (p *reporter) report(r request, out outcome, err error) {
	if len(p.hooks) == 0 || r.dryRun {
		return
	}
	w := trace.Write{
		RV: p.tables.objects.Version(), Time: p.clock(), Actor: r.actor, Verb: r.verb, Resource: r.kind.GVR, Subresource: r.sub,
		Namespace: r.namespace, Name: r.name, Kind: r.kind.GVK.Kind, Code: codeOf(r, out, err), Err: err,
		Dropped: r.dropped,
	}
	if out.old != nil {
		w.Old = out.old
	}
	if out.new != nil {
		w.New, w.Size = out.new, r.size
	}
	if out.last != nil {
		w.Last = out.last
	}
	if obj := out.answer(); obj != nil {
		w.Name = obj.GetName() // generated
	}
	for _, hook := range p.hooks {
		hook(w)
	}
}

func codeOf(r request, out outcome, err error) int {
	switch {
	case err != nil:
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return int(status.Status().Code)
		}
		return http.StatusInternalServerError
	case r.verb == "create", out.old == nil:
		return http.StatusCreated
	}
	return http.StatusOK
}

func (r request) notFound() error {
	return apierrors.NewNotFound(r.kind.GVR.GroupResource(), r.name)
}

func (r request) conflict(err error) error {
	return apierrors.NewConflict(r.kind.GVR.GroupResource(), r.name, err)
}

func (r request) invalid(errs field.ErrorList) error {
	return refusal.Invalid(r.kind.GVK.GroupKind(), r.name, errs)
}

// refuse reports a write that did not get as far as the store.
func (p *reporter) refuse(r request, err error) error {
	p.tables.objects.Lock()
	defer p.tables.objects.Unlock()
	p.report(r, outcome{}, err)
	return err
}

// draft is an object that is ready to be stored, with the request as the phases return it. It was prepared without the lock,
// against what was read: whatever a client sends, no other client waits while it is checked. The lock is held only while versions
// are compared, quotas are charged and the object is stored.
type draft struct {
	request
	// old is the stored object that obj replaces, nil if obj is new.
	old, obj call.Object
	// late refuses the write after its quotas were charged; nil if nothing does.
	late error
	// same: nothing changed. ends: the object is removed, since nothing holds it any longer.
	same, ends bool
	// deleted is the number of removed objects of the resource on which the UID of a new object depends.
	deleted uint64
	// reserved has the addresses and ports that are reserved for a service until it is stored.
	reserved *v1.Service
}

// isUntidy reports whether the object is stored otherwise than it is shown.
func (d *draft) isUntidy() bool { return d.untidy != nil && *d.untidy }

// errStale reports inside the server that the stored object is not the one that was read.
var errStale = errors.New("the object was written meanwhile")

// errModified has the text of upstream's OptimisticLockErrorMsg.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// wrongUID returns the conflict of an update for an object with another UID.
// Upstream: apiserver storage Preconditions.Check, v1.37.
func (r request) wrongUID(asked, is types.UID) error {
	return otherThan(r, "UID", string(asked), string(is))
}

// otherThan returns the conflict of a request for an object with another value of a field.
func otherThan(r request, field, asked, is string) error {
	return r.conflict(fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
		"Precondition failed: %s in precondition: %v, %s in object meta: %v", r.storageKey(), field, asked, field, is))
}

// storageKey returns the key of the request's object in etcd, as messages name it: those of a dry run leave out its prefix.
// Upstream: apiserver registry/generic/registry dryrun.go, v1.37.2.
func (r request) storageKey() string {
	key := r.kind.StorageKey(store.KeyOf(r.namespace, r.name))
	if r.dryRun {
		return key
	}
	return "/registry" + key
}

// checkVersion refuses an update that is based on an older version of the object. Without a
// resourceVersion it is accepted, where the kind allows that. A UID is a
// precondition of an update; in a patch it is a field that cannot change.
func (r request) checkVersion(old, obj call.Object) error {
	if uid := obj.GetUID(); uid != "" && uid != old.GetUID() && r.verb != "patch" {
		return r.wrongUID(uid, old.GetUID())
	}
	rv := obj.GetResourceVersion()
	if rv == "" || rv == "0" {
		if !r.kind.Conditional {
			return nil
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: r.kind.GVR.Group, Kind: r.kind.GVR.Resource}, r.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	if _, err := strconv.ParseUint(rv, 10, 64); err != nil {
		return refusal.Internal(err.Error())
	}
	if rv != old.GetResourceVersion() {
		return r.conflict(errModified)
	}
	return nil
}

// asShown returns a stored object as the version of the request shows it, nil if there is none. It is shared if it is stored so.
func (r request) asShown(old call.Object) call.Object {
	if old == nil || r.kind.StoredAs == "" {
		return old
	}
	return r.kind.Shown(old).(call.Object)
}

// target returns what a patch of the request is for.
func (r request) target() *patch.Target {
	return &patch.Target{Kind: r.kind, Sub: r.sub, Namespace: r.namespace, Name: r.name, Strict: r.strict, Warn: r.warnFields}
}
