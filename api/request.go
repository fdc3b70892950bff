package api

import (
	"errors"
	"net/http"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/api/address"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/trace"
)

// request is one request on its way through the server. It is a value: a phase that learns more of it, such as the name of a
// new object, returns it in a draft.
type request struct {
	address.Address
	actor      string
	form       *registry.Entry   // in which a patch is written, where it is not Kind: see doEventsV1
	ended      func() error      // the error of the request's context
	manager    string            // the field manager that the client has named: see preparer.owner
	tracked    bool              // obj comes with its managedFields: an apply, or a write of another form of it
	applied    bool              // obj is the outcome of an apply
	untidy     *bool             // set by an apply whose outcome is stored otherwise than it is shown
	tracks     bool              // Request.Track
	strict     bool              // unknown fields in a patch are refused
	ignore     bool              // the client has asked to ignore them
	created    *bool             // Request.Created
	warn       func(text string) // Request.Warn; nil where nothing is to be warned of
	warnFields func(text string) // the same for fields that the kind does not have; nil if they are to be ignored
	shared     bool              // Request.Shared

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
	if len(p.hooks) == 0 || r.DryRun {
		return
	}
	w := trace.Write{
		RV: p.tables.objects.Version(), Time: p.clock(), Actor: r.actor, Verb: r.Verb, Resource: r.Kind.GVR, Subresource: r.Sub,
		Namespace: r.Namespace, Name: r.Name, Kind: r.Kind.GVK.Kind, Code: codeOf(r, out, err), Err: err,
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
	case r.Verb == "create", out.old == nil:
		return http.StatusCreated
	}
	return http.StatusOK
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
	// named is the name that a new object came with.
	named string
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

// asShown returns a stored object as the version of the request shows it, nil if there is none. It is shared if it is stored so.
func (r request) asShown(old call.Object) call.Object {
	if old == nil || r.Kind.StoredAs == "" {
		return old
	}
	return r.Kind.Shown(old).(call.Object)
}

// target returns what a patch of the request is for.
func (r request) target() *patch.Target {
	return &patch.Target{Kind: r.Kind, Sub: r.Sub, Namespace: r.Namespace, Name: r.Name, Strict: r.strict, Warn: r.warnFields, Ignore: r.ignore}
}
