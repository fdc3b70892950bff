package api_test

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// doomed holds the fields of an object that a deletion changes, and those that decide about it: a second
// implementation of upstream's rules, line by line, to compare the server with.
// broken names rules that it gets wrong on purpose: the comparison must notice.
// Upstream: registry/generic/registry Store.Delete; rest.BeforeDelete, v1.37.
type doomed struct {
	pod, orphans, never bool // a pod; a kind that orphans as a rule; one that has no such finalizer
	onNode              bool
	term                int64 // a pod's own grace period
	uid, version        string
	gone                bool
	finalizers          []string
	deleted             int64 // Unix time, 0: not being deleted
	grace               *int64
	generation          int64
	broken              string
}

func (d *doomed) holds(rule string) bool { return d.broken != rule }

// delete returns the code of the answer.
func (d *doomed) delete(opts metav1.DeleteOptions, now time.Time) int {
	switch {
	case opts.PropagationPolicy != nil && opts.OrphanDependents != nil:
		return 422
	case opts.PropagationPolicy != nil && !slices.Contains([]metav1.DeletionPropagation{"Background", "Foreground", "Orphan"}, *opts.PropagationPolicy):
		return 422
	case len(opts.DryRun) > 0 && opts.DryRun[0] != "All":
		return 422
	case d.gone:
		return 404
	case opts.Preconditions.UID != nil && string(*opts.Preconditions.UID) != d.uid && d.holds("the UID is a precondition"):
		return 409
	case opts.Preconditions.ResourceVersion != nil && *opts.Preconditions.ResourceVersion != d.version && d.holds("the version is a precondition"):
		return 409
	}
	after := *d
	after.finalizers = slices.Clone(d.finalizers)
	stripped := after.apply(opts, now)
	if stripped && len(opts.DryRun) == 0 && opts.Preconditions.ResourceVersion != nil && d.holds("upstream forgets the version") {
		return 409
	}
	if len(opts.DryRun) == 0 || !d.holds("a dry run changes nothing") {
		*d = after
	}
	return 200
}

// apply reports whether the object goes at once, since the deletion takes its finalizers away.
func (d *doomed) apply(opts metav1.DeleteOptions, now time.Time) (stripped bool) {
	asked := opts.GracePeriodSeconds
	if asked != nil && *asked < 0 && d.holds("a negative grace period is a second") {
		asked = new(int64(1))
	}
	graceful, left := false, int64(0)
	switch {
	case !d.pod:
	case d.deleted == 0:
		graceful, left = true, d.term
		if asked != nil {
			left = *asked
		}
		if !d.onNode && d.holds("a pod without a node goes at once") {
			left = 0
		}
		d.deleted, d.grace = now.Unix()+left, &left
		d.generation++
	case d.grace == nil || *d.grace == 0:
	case asked == nil || *asked >= *d.grace:
		if d.holds("nothing else changes while the grace period runs") {
			return false
		}
	default:
		graceful, left = true, *asked
		end, stays := d.deleted-*d.grace+*asked, *asked
		if time.Unix(end, 0).Before(now) && d.holds("a grace period does not end in the past") {
			end, stays = now.Unix(), min(stays, 1)
		}
		d.deleted, d.grace = end, &stays
	}
	orphan, foreground, had := d.orphan(opts), d.foreground(opts), len(d.finalizers) > 0
	d.finalizers = slices.DeleteFunc(d.finalizers, func(f string) bool { return f == "orphan" && !orphan || f == "foregroundDeletion" && !foreground })
	if orphan && !slices.Contains(d.finalizers, "orphan") {
		d.finalizers = append(d.finalizers, "orphan")
	}
	if foreground && !slices.Contains(d.finalizers, "foregroundDeletion") {
		d.finalizers = append(d.finalizers, "foregroundDeletion")
	}
	switch held := len(d.finalizers) > 0; {
	case !held && left == 0:
		d.gone = true
	case !graceful:
		if d.deleted == 0 {
			d.generation += min(d.generation, 1)
		}
		if d.deleted == 0 || time.Unix(d.deleted, 0).After(now) {
			d.deleted = now.Unix()
		}
		d.grace = new(int64)
	}
	return d.gone && had && !graceful
}

// orphan implements shouldOrphanDependents.
func (d *doomed) orphan(opts metav1.DeleteOptions) bool {
	orphanDependents := opts.OrphanDependents
	switch {
	case d.never && d.holds("events have no dependents"):
		return false
	case orphanDependents != nil && d.holds("orphanDependents is a policy"):
		return *orphanDependents
	case opts.PropagationPolicy != nil:
		return *opts.PropagationPolicy == "Orphan"
	}
	for _, f := range d.finalizers {
		switch {
		case !d.holds("a finalizer wins over the default of the kind"):
		case f == "orphan":
			return true
		case f == "foregroundDeletion":
			return false
		}
	}
	return d.orphans && d.holds("some kinds orphan by default")
}

// foreground implements shouldDeleteDependents.
func (d *doomed) foreground(opts metav1.DeleteOptions) bool {
	switch {
	case d.never, opts.OrphanDependents != nil:
		return false
	case opts.PropagationPolicy != nil && d.holds("the options win over a finalizer"):
		return *opts.PropagationPolicy == "Foreground"
	}
	return slices.Contains(d.finalizers, "foregroundDeletion")
}

// letGo takes a finalizer away, as an update does.
func (d *doomed) letGo(finalizer string) {
	d.finalizers = slices.DeleteFunc(d.finalizers, func(f string) bool { return f == finalizer })
	d.gone = d.gone || d.deleted != 0 && len(d.finalizers) == 0 && *d.grace == 0
}
