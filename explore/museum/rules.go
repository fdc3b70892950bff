package museum

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/trace"
)

// The rules of the museum, each for the exhibits that name it.
const (
	// NoAssetIsLost: nothing leaks at the end, not even what upstream is known to leak, which
	// explore.NothingLeaks lets pass.
	NoAssetIsLost = "no asset is lost"
	// NotDetachedInUse: a driver's volume is not detached from a node where it is staged.
	NotDetachedInUse = "not detached in use"
	// UnpublishedOnce: once a VolumeAttachment says that its volume is detached, the driver is
	// not called to detach it.
	UnpublishedOnce = "unpublished once"
	// NotReleasedInUse: no volume is Released while its claim is there.
	NotReleasedInUse = "not released in use"
	// ReleasedWithoutClaim: at the end no volume is Bound whose claim is gone.
	ReleasedWithoutClaim = "released without a claim"
	// ForLivingClaims: a provisioner makes no volume for a claim that is gone already.
	ForLivingClaims = "for living claims"
	// MadeOnce: a provisioner makes no volume again that it has made and deleted for the same
	// claim.
	MadeOnce = "made once"
	// ToldWhy: at the end no claim waits for which a volume was made, unless a Warning event of
	// the claim says why.
	ToldWhy = "told why"
	// DefaultForAll: at the end no claim is without a class if there is a default class.
	DefaultForAll = "default for all"
	// MadeWhereAsked: no volume is bound to a claim for whose node it is out of reach.
	MadeWhereAsked = "made where it was asked for"
)

// noLeaks returns an error that lists what was left behind.
func noLeaks(c *storagesim.Cluster) error {
	found, err := c.Lab().Leaks()
	if err != nil || len(found) == 0 {
		return err
	}
	return &storagesim.LeakError{Leaks: found}
}

func rules() []explore.Rule {
	return []explore.Rule{
		{Name: NoAssetIsLost, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return noLeaks(c) }}
		}},
		{Name: NotDetachedInUse, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return notDetachedInUse(c.Trace().Records()) }}
		}},
		{Name: UnpublishedOnce, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return unpublishedOnce(c.Trace().Records()) }}
		}},
		{Name: NotReleasedInUse, Begin: func(*storagesim.Cluster) explore.Check {
			return explore.Check{Write: newPresent().notReleasedInUse}
		}},
		{Name: ReleasedWithoutClaim, Begin: func(*storagesim.Cluster) explore.Check {
			p := newPresent()
			return explore.Check{Write: p.see, Rest: p.releasedWithoutClaim}
		}},
		{Name: ForLivingClaims, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return forLivingClaims(c.Trace().Records()) }}
		}},
		{Name: MadeOnce, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return madeOnce(c.Trace().Records()) }}
		}},
		{Name: ToldWhy, Begin: func(c *storagesim.Cluster) explore.Check {
			p := newPresent()
			return explore.Check{Write: p.see, Rest: func() error { return p.toldWhy(c.Trace().Records()) }}
		}},
		{Name: DefaultForAll, Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return defaultForAll(c) }}
		}},
		{Name: MadeWhereAsked, Begin: func(*storagesim.Cluster) explore.Check {
			p := newPresent()
			return explore.Check{Write: p.see, Rest: p.madeWhereAsked}
		}},
	}
}

// madeOnce looks at the calls of provisioners. Volumes have the names of their claims' UIDs.
func madeOnce(records []trace.Entry) error {
	deleted := map[string]bool{}
	for _, entry := range records {
		call, ok := entry.Record.(trace.Call)
		if !ok || call.Err != "" {
			continue
		}
		if call.Method != "Provision" { // Delete
			deleted[call.Volume] = true
		} else if deleted[call.Volume] {
			return fmt.Errorf("%s made %s again, which it had made and deleted", entry.Actor, call.Volume)
		}
	}
	return nil
}

// notDetachedInUse looks at the calls to the reference driver, whose nodes have their names for
// IDs. A volume counts as staged until NodeUnstageVolume has been tried.
func notDetachedInUse(records []trace.Entry) error {
	staged := map[string]bool{}
	for _, entry := range records {
		rpc, ok := entry.Record.(trace.RPC)
		if !ok {
			continue
		}
		volume, node := rpc.Request["volume_id"], rpc.Request["node_id"]
		switch rpc.Method {
		case "NodeStageVolume":
			at := fmt.Sprint(volume, " on ", strings.TrimPrefix(rpc.Machine, "node/"))
			staged[at] = staged[at] || rpc.Code == "OK"
		case "NodeUnstageVolume":
			delete(staged, fmt.Sprint(volume, " on ", strings.TrimPrefix(rpc.Machine, "node/")))
		case "ControllerUnpublishVolume":
			if at := fmt.Sprint(volume, " on ", node); staged[at] {
				return fmt.Errorf("at %s volume %s is detached, and it is staged there", entry.Time.Format("15:04:05.000"), at)
			}
		}
	}
	return nil
}

// unpublishedOnce looks at calls to detach and at what VolumeAttachments say, of one volume.
func unpublishedOnce(records []trace.Entry) error {
	detached := false
	for _, entry := range records {
		switch r := entry.Record.(type) {
		case trace.Write:
			if va, ok := r.New.(*storagev1.VolumeAttachment); ok && r.Err == nil {
				old, _ := r.Old.(*storagev1.VolumeAttachment)
				detached = old != nil && !va.Status.Attached && (detached || old.Status.Attached)
			}
		case trace.RPC:
			if r.Method == "ControllerUnpublishVolume" && detached {
				return fmt.Errorf("at %s ControllerUnpublishVolume is called for node %v, from which the volume is detached",
					entry.Time.Format("15:04:05.000"), r.Request["node_id"])
			}
		}
	}
	return nil
}

// present holds the claims and volumes that exist.
type present struct {
	claims  map[types.UID]*v1.PersistentVolumeClaim
	volumes map[string]*v1.PersistentVolume
}

func newPresent() *present {
	return &present{map[types.UID]*v1.PersistentVolumeClaim{}, map[string]*v1.PersistentVolume{}}
}

// see keeps p in step with a write.
func (p *present) see(w trace.Write) error {
	switch old := w.Old.(type) {
	case *v1.PersistentVolumeClaim:
		delete(p.claims, old.UID)
	case *v1.PersistentVolume:
		delete(p.volumes, old.Name)
	}
	switch obj := w.New.(type) {
	case *v1.PersistentVolumeClaim:
		p.claims[obj.UID] = obj
	case *v1.PersistentVolume:
		p.volumes[obj.Name] = obj
	}
	return nil
}

// ownerOf returns the claim of a volume, nil if there is none.
func (p *present) ownerOf(volume *v1.PersistentVolume) *v1.PersistentVolumeClaim {
	if volume.Spec.ClaimRef == nil {
		return nil
	}
	return p.claims[volume.Spec.ClaimRef.UID]
}

func (p *present) notReleasedInUse(w trace.Write) error {
	_ = p.see(w)
	volume, ok := w.New.(*v1.PersistentVolume)
	if !ok || volume.Status.Phase != v1.VolumeReleased {
		return nil
	}
	if claim := p.ownerOf(volume); claim != nil && claim.DeletionTimestamp == nil {
		return fmt.Errorf("volume %s is Released, and claim %s/%s, to which it belongs, is there", volume.Name, claim.Namespace, claim.Name)
	}
	return nil
}

func (p *present) releasedWithoutClaim() error {
	for _, name := range slices.Sorted(maps.Keys(p.volumes)) {
		if volume := p.volumes[name]; volume.Status.Phase == v1.VolumeBound && p.ownerOf(volume) == nil {
			return fmt.Errorf("volume %s is Bound, and the claim to which it belonged is gone", name)
		}
	}
	return nil
}
