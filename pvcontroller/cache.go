package pvcontroller

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// follow connects informers, private caches and queues.
// Upstream: pv_controller_base.go NewController, deleteVolume and deleteClaim, v1.37.
func (c *controller) follow() {
	c.volumeInformer.Handle(control.Handler[*v1.PersistentVolume]{
		Add:    func(volume *v1.PersistentVolume) { c.volumes.put(volume); c.volumeQueue.Add(volume.Name) },
		Update: func(_, volume *v1.PersistentVolume) { c.volumes.put(volume); c.volumeQueue.Add(volume.Name) },
		Delete: func(volume *v1.PersistentVolume) {
			c.volumes.Delete(volume.Name)
			if ref := volume.Spec.ClaimRef; ref != nil { // the claim shall soon know that it is Lost
				c.claimQueue.Add(claimRefKey(ref))
			}
		},
	})
	c.claimInformer.Handle(control.Handler[*v1.PersistentVolumeClaim]{
		Add:    func(claim *v1.PersistentVolumeClaim) { c.claims.put(claim); c.claimQueue.Add(control.Key(claim)) },
		Update: func(_, claim *v1.PersistentVolumeClaim) { c.claims.put(claim); c.claimQueue.Add(control.Key(claim)) },
		Delete: func(claim *v1.PersistentVolumeClaim) {
			delete(c.claims.byKey, control.Key(claim))
			if claim.Spec.VolumeName != "" { // the volume shall soon be released
				c.volumeQueue.Add(claim.Spec.VolumeName)
			}
		},
	})
}

// claimRefKey returns the key of the claim that a claimRef names.
// Upstream: index.go claimrefToClaimKey, v1.37.
func claimRefKey(ref *v1.ObjectReference) string { return ref.Namespace + "/" + ref.Name }

// podsByClaim is an index of pods by the keys of the claims they use.
const podsByClaim = "claim"

// claimCache holds the newest known version of each claim.
// Upstream: PersistentVolumeController.claims, v1.37.
type claimCache struct {
	byKey map[string]*v1.PersistentVolumeClaim
}

func newClaimCache() *claimCache { return &claimCache{byKey: map[string]*v1.PersistentVolumeClaim{}} }

func (c *claimCache) get(key string) (*v1.PersistentVolumeClaim, bool) {
	claim, found := c.byKey[key]
	return claim, found
}

// newer reports whether a newer version than this one, of that key, is known.
func (c *claimCache) newer(key string, claim *v1.PersistentVolumeClaim) bool {
	known, found := c.byKey[key]
	return found && isNewer(known, claim)
}

// put stores the claim unless a newer version is known.
// Upstream: pv_controller_base.go storeObjectUpdate, v1.37.
func (c *claimCache) put(claim *v1.PersistentVolumeClaim) {
	if key := control.Key(claim); !c.newer(key, claim) {
		c.byKey[key] = claim
	}
}

// volumeCache holds the newest known version of each volume, indexed for matching.
// Upstream: PersistentVolumeController.volumes, v1.37.
type volumeCache struct{ *binding.Index }

func newVolumeCache() *volumeCache { return &volumeCache{binding.NewIndex()} }

// newer reports whether a newer version than this one is known.
func (c *volumeCache) newer(volume *v1.PersistentVolume) bool {
	known, found := c.Get(volume.Name)
	return found && isNewer(known, volume)
}

// put stores the volume unless a newer version is known.
func (c *volumeCache) put(volume *v1.PersistentVolume) {
	if !c.newer(volume) {
		c.Put(volume)
	}
}

// storeClaimUpdate remembers the outcome of an own write, so that the next step sees
// it before the informer does. A claim that the informer no longer has stays gone.
// Upstream: pv_controller_base.go storeClaimUpdate, v1.37.
func (c *controller) storeClaimUpdate(claim *v1.PersistentVolumeClaim) {
	if seen, found := c.claimInformer.Get(control.Key(claim)); found && seen.UID == claim.UID {
		c.claims.put(claim)
	}
}

// storeVolumeUpdate remembers the outcome of an own write to a volume.
// Upstream: pv_controller_base.go storeVolumeUpdate, v1.37.
func (c *controller) storeVolumeUpdate(volume *v1.PersistentVolume) {
	if known, _ := c.volumeInformer.Get(volume.Name); c.cfg.Remember(known, volume) {
		c.volumes.put(volume)
	}
}

// isNewer reports whether a is newer than b. What is no version is older than any.
func isNewer(a, b control.Object) bool {
	of, than := a.GetResourceVersion(), b.GetResourceVersion()
	if order, err := resourceversion.CompareResourceVersion(of, than); err == nil {
		return order > 0
	}
	_, err := resourceversion.CompareResourceVersion(of, of)
	return err == nil
}
