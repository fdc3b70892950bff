package deployment

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// Annotations that the controller writes.
// Upstream: deployment_util.go, v1.37.
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// maxHistory is the number of characters that the annotation of older revisions may have.
const maxHistory = 2000

// isCopied reports whether ReplicaSets have the Deployment's annotation of that name, too.
// Upstream: deployment_util.go skipCopyAnnotation, v1.37.
func isCopied(name string) bool {
	switch name {
	case v1.LastAppliedConfigAnnotation, revisionAnnotation, revisionHistoryAnnotation, desiredReplicasAnnotation, maxReplicasAnnotation,
		appsv1.DeprecatedRollbackTo:
		return false
	}
	return true
}

// revision returns the number in the annotation; 0 if there is none.
// Upstream: deployment_util.go Revision, v1.37.
func revision(annotations map[string]string) int64 {
	n, err := strconv.ParseInt(annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// setNewReplicaSetAnnotations gives the newest ReplicaSet the Deployment's annotations and its revision, and reports whether that
// changed something. A ReplicaSet that was the newest before, and is again after kubectl rollout undo, keeps its earlier
// revisions in an annotation.
// Upstream: deployment_util.go SetNewReplicaSetAnnotations, v1.37.
func (r *rollout) setNewReplicaSetAnnotations(set *appsv1.ReplicaSet, newRevision int64, exists bool) (changed bool) {
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	for name, value := range r.d.Annotations {
		if isCopied(name) && set.Annotations[name] != value {
			set.Annotations[name], changed = value, true
		}
	}
	old, had := set.Annotations[revisionAnnotation]
	if was := revision(set.Annotations); was < newRevision {
		set.Annotations[revisionAnnotation], changed = strconv.FormatInt(newRevision, 10), true
		if had {
			set.Annotations[revisionHistoryAnnotation] = withRevision(set.Annotations[revisionHistoryAnnotation], old)
		}
	}
	if !exists && r.setReplicasAnnotations(set) {
		changed = true
	}
	return changed
}

// withRevision adds a revision to a list, and drops the oldest ones of a list that is too long.
func withRevision(list, revision string) string {
	if list == "" {
		return revision
	}
	list += "," + revision
	for len(list) > maxHistory {
		for i := range list {
			if list[i] == ',' {
				list = list[i+1:]
				break
			}
		}
	}
	return list
}

// setReplicasAnnotations notes at a ReplicaSet how many pods the Deployment is to have, and may have at most: by these it is
// found later that the Deployment was scaled, and by how much. It reports whether that changed something.
// Upstream: deployment_util.go SetReplicasAnnotations, v1.37.
func (r *rollout) setReplicasAnnotations(set *appsv1.ReplicaSet) (changed bool) {
	surge, _ := r.limits()
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	for name, n := range map[string]int32{desiredReplicasAnnotation: r.desired(), maxReplicasAnnotation: r.desired() + surge} {
		if text := strconv.Itoa(int(n)); set.Annotations[name] != text {
			set.Annotations[name], changed = text, true
		}
	}
	return changed
}

// number returns the number in an annotation, if there is one.
func number(set *appsv1.ReplicaSet, annotation string) (int32, bool) {
	n, err := strconv.ParseInt(set.Annotations[annotation], 10, 32)
	return int32(n), err == nil
}
