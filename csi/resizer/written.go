package resizer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// written holds the versions that this controller has written, by key. Upstream puts them into the informer's store,
// so that it does not use older ones.
type written[T metav1.Object] map[string]T

// newest returns the object of the cache, or the written one as long as that is newer.
func (w written[T]) newest(key string, cached T) T {
	own, ok := w[key]
	if !ok {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(own.GetResourceVersion(), cached.GetResourceVersion())
	if err != nil || order <= 0 || own.GetUID() != cached.GetUID() {
		delete(w, key)
		return cached
	}
	return own
}
