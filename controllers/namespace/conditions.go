package namespace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions holds the conditions that report a problem, and the errors of deletions.
// Upstream: deletion/status_condition_utils.go namespaceConditionUpdater, v1.37.
type conditions struct {
	bad      []v1.NamespaceCondition
	failures []string
}

// fine returns all conditions in order, as they are without problems.
// Upstream: deletion/status_condition_utils.go, v1.37.
func fine() []v1.NamespaceCondition {
	return []v1.NamespaceCondition{
		{Type: v1.NamespaceDeletionDiscoveryFailure, Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
		{Type: v1.NamespaceDeletionGVParsingFailure, Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
		{Type: v1.NamespaceDeletionContentFailure, Reason: "ContentDeleted", Message: "All content successfully deleted, may be waiting on finalization"},
		{Type: v1.NamespaceContentRemaining, Reason: "ContentRemoved", Message: "All content successfully removed"},
		{Type: v1.NamespaceFinalizersRemaining, Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished"},
	}
}

func (u *conditions) add(condition v1.NamespaceConditionType, reason, message string) {
	u.bad = append(u.bad, v1.NamespaceCondition{Type: condition, Status: v1.ConditionTrue, Reason: reason, Message: message})
}

// discoveryError records that not all kinds could be found.
// Upstream: deletion/status_condition_utils.go ProcessDiscoverResourcesErr, v1.37.
func (u *conditions) discoveryError(err error) {
	if err != nil {
		u.add(v1.NamespaceDeletionDiscoveryFailure, "DiscoveryFailed", err.Error())
	}
}

// contentErrors records that the objects of a kind could not be deleted.
// Upstream: deletion/status_condition_utils.go ProcessDeleteContentErr, v1.37.
func (u *conditions) contentErrors(err error) {
	if err != nil {
		u.failures = append(u.failures, err.Error())
	}
}

// contentTotals records what remains.
// Upstream: deletion/status_condition_utils.go ProcessContentTotals, v1.37.
func (u *conditions) contentTotals(left *remaining) {
	var objects, finalizers []string
	for resource, n := range left.objects {
		objects = append(objects, fmt.Sprintf("%s.%s has %d resource instances", resource.Resource, resource.Group, n))
	}
	for finalizer, n := range left.finalizers {
		finalizers = append(finalizers, fmt.Sprintf("%s in %d resource instances", finalizer, n))
	}
	slices.Sort(objects)
	slices.Sort(finalizers)
	if len(objects) > 0 {
		u.add(v1.NamespaceContentRemaining, "SomeResourcesRemain", "Some resources are remaining: "+strings.Join(objects, ", "))
	}
	if len(finalizers) > 0 {
		u.add(v1.NamespaceFinalizersRemaining, "SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: "+strings.Join(finalizers, ", "))
	}
}

// say writes the conditions if they have changed. It ignores an error: the next attempt writes them again.
// Upstream: deletion/namespaced_resources_deleter.go deleteAllContent, v1.37.
func (c *controller) say(ctx context.Context, ns *v1.Namespace, report conditions) {
	if failures := report.failures; len(failures) > 0 {
		slices.Sort(failures)
		report.add(v1.NamespaceDeletionContentFailure, "ContentDeletionFailed",
			fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(failures), strings.Join(failures, ", ")))
	}
	ns = ns.DeepCopy()
	if updateConditions(&ns.Status, report.bad, metav1.NewTime(c.env.Now())) {
		_, _ = c.client.Namespaces().UpdateStatus(ctx, ns, metav1.UpdateOptions{})
	}
}

// updateConditions updates the conditions, and reports whether that changed them.
// Upstream: deletion/status_condition_utils.go updateConditions, v1.37.
func updateConditions(status *v1.NamespaceStatus, bad []v1.NamespaceCondition, now metav1.Time) (changed bool) {
	find := func(list []v1.NamespaceCondition, condition v1.NamespaceConditionType) int {
		return slices.IndexFunc(list, func(c v1.NamespaceCondition) bool { return c.Type == condition })
	}
	for _, is := range fine() {
		is.Status = v1.ConditionFalse
		if i := find(bad, is.Type); i >= 0 {
			is = bad[i]
		}
		is.LastTransitionTime = now
		at := find(status.Conditions, is.Type)
		if at < 0 {
			status.Conditions = append(status.Conditions, is)
			changed = true
			continue
		}
		was := &status.Conditions[at]
		if was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		changed = changed || was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message
		*was = is
	}
	return changed
}
