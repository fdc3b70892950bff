package serve

import (
	"net/http"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
)

// definitionsPath is the path at which clients create CustomResourceDefinitions.
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// withSnapshots hands everything on, and runs the snapshot controller and the snapshotters as soon as a client
// has defined the kinds of snapshots, for example by kubectl. On a cluster the three come apart, and snapshots
// wait for ever where only the definitions are installed.
func (s *run) withSnapshots(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, definitionsPath) {
			s.Do(s.installSnapshots)
		}
	})
}

// withAfterWrite hands everything on, and calls f after what may have written.
func (s *run) withAfterWrite(f func(), next http.Handler) http.Handler {
	if f == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if r.Method != http.MethodGet {
			s.Do(f)
		}
	})
}

// installSnapshots does nothing as long as a kind is missing, and when they are installed already.
func (s *run) installSnapshots() {
	for _, kind := range []string{"VolumeSnapshot", "VolumeSnapshotContent", "VolumeSnapshotClass"} {
		if _, err := s.cluster.Engine().Server().Registry().New(snapshotv1.SchemeGroupVersion.WithKind(kind)); err != nil {
			return
		}
	}
	_ = s.cluster.Lab().InstallSnapshots() // it fails only when the cluster is closed, which the server tells anyway
}
