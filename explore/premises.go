package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// The callers of a driver go by its answers, and so do the rules CallOrder and CSICalls: they tell nodes apart by the node_id that NodeGetInfo
// answered, and volumes by their volume_id. The specification of CSI v1.13 asks for that: each "MUST contain enough information to uniquely identify
// this specific" node or volume "vs all other" ones "supported by this plugin". A driver that answers otherwise makes its callers break the rules.

// answers follows what drivers answered, entry by entry.
type answers struct {
	log    *trace.Log
	ids    bool                 // look at nothing but IDs
	seen   int                  // entries that were looked at
	idOf   map[[2]string]string // driver, machine -> node ID
	nameOf map[[2]string]string // driver, volume ID -> the name that CreateVolume was called with
	page   map[string]string    // driver -> its last answer to ListVolumes
}

func newAnswers(log *trace.Log) *answers {
	return &answers{log: log, idOf: map[[2]string]string{}, nameOf: map[[2]string]string{}, page: map[string]string{}}
}

// look returns an error for an answer since the last look that two nodes, or two volumes, cannot both have.
func (a *answers) look() error {
	if a.log.Len() == a.seen {
		return nil
	}
	entries := a.log.Since(a.seen)
	a.seen += len(entries)
	for _, entry := range entries {
		if rpc, ok := entry.Record.(trace.RPC); ok {
			if err := a.see(rpc); err != nil {
				return about(rpc.Driver, "%s at %s: %w", rpc.Driver, entry.Time.Format("15:04:05.000"), err)
			}
		}
	}
	return nil
}

func (a *answers) see(rpc trace.RPC) error {
	volume, _ := rpc.Request["volume_id"].(string)
	switch rpc.Method {
	case "NodeGetInfo":
		if err := checkLimit(rpc); err != nil && !a.ids {
			return err
		}
		if id, _ := rpc.Answer["node_id"].(string); id != "" && rpc.Code == "OK" {
			return a.node(rpc.Driver, rpc.Machine, id)
		}
	case "CreateVolume":
		made, _ := rpc.Answer["volume"].(map[string]any)
		id, _ := made["volume_id"].(string)
		name, _ := rpc.Request["name"].(string)
		if id == "" || rpc.Code != "OK" {
			return nil
		}
		if other, taken := a.nameOf[[2]string{rpc.Driver, id}]; taken && other != name {
			return fmt.Errorf("CreateVolume answers the same volume_id %q for %s and for %s: the driver must give each volume its own", id, other, name)
		}
		a.nameOf[[2]string{rpc.Driver, id}] = name
	case "ListVolumes":
		return a.list(rpc)
	case "DeleteVolume": // also when it failed: the driver may have done it
		delete(a.nameOf, [2]string{rpc.Driver, volume})
	}
	return nil
}

// checkLimit returns an error for a negative number of volumes. "The plugin MUST NOT set negative values here" (CSI v1.13); a kubelet only logs it, and the
// scheduler then places any number of volumes.
func checkLimit(rpc trace.RPC) error {
	if limit, ok := rpc.Answer["max_volumes_per_node"]; ok && strings.HasPrefix(fmt.Sprint(limit), "-") {
		return fmt.Errorf("NodeGetInfo answers max_volumes_per_node %v on %s: it must not be negative, and is ignored; 0 is no limit", limit, rpc.Machine)
	}
	return nil
}

// list returns an error for a page that ends with the token with which it began, and is the same as the one before: the next would be, too, and
// csi-attacher (pkg/attacher/lister.go, v4.13) would read on until its memory ends.
func (a *answers) list(rpc trace.RPC) error {
	from, _ := rpc.Request["starting_token"].(string)
	next, _ := rpc.Answer["next_token"].(string)
	page := fmt.Sprint(rpc.Answer)
	if next != "" && next == from && page == a.page[rpc.Driver] && !a.ids {
		return fmt.Errorf("ListVolumes answers the same page with next_token %q again, when it is asked with starting_token %q: "+
			"csi-attacher reads on until its memory ends. The last page must have no next_token", next, from)
	}
	a.page[rpc.Driver] = page
	return nil
}

// node takes note of the ID of a driver's node.
func (a *answers) node(driver, machine, id string) error {
	var others []string
	for at, other := range a.idOf {
		if at[0] == driver && at[1] != machine && other == id {
			others = append(others, at[1])
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("NodeGetInfo answers the same node_id %q on %s and on %s: the driver must give each node its own", id, slices.Min(others), machine)
	}
	a.idOf[[2]string{driver, machine}] = id
	return nil
}

// misled returns what makes the callers of drivers break the rules of CSI without a fault of theirs: what the drivers answered, or two
// PersistentVolumes of one volume; nil if there is nothing of that kind.
func misled(log *trace.Log) error {
	given := newAnswers(log)
	given.ids = true
	if err := given.look(); err != nil {
		return err
	}
	handles, can := map[[2]string]string{}, map[[3]string]bool{}
	for _, entry := range log.Since(0) {
		switch r := entry.Record.(type) {
		case trace.Write:
			if r.Err != nil {
				continue
			}
			if err := sameHandle(handles, r); err != nil {
				return err
			}
		case trace.RPC:
			if err := changed(can, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameHandle returns an error for a PersistentVolume with the driver and the handle of another.
func sameHandle(handles map[[2]string]string, w trace.Write) error {
	if w.Kind != "PersistentVolume" {
		return nil
	}
	if pv, ok := w.Old.(*v1.PersistentVolume); ok && pv != nil && pv.Spec.CSI != nil && w.New == nil {
		delete(handles, [2]string{pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle})
	}
	pv, ok := w.New.(*v1.PersistentVolume)
	if !ok || pv == nil || pv.Spec.CSI == nil {
		return nil
	}
	key := [2]string{pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle}
	if other, taken := handles[key]; taken && other != pv.Name {
		return fmt.Errorf("%s and %s have the same volumeHandle %q of driver %s", pathOfVolume(other), pathOfVolume(pv.Name), key[1], key[0])
	}
	handles[key] = pv.Name
	return nil
}

// changed returns an error for a driver that no longer says of itself what the rules go by.
func changed(can map[[3]string]bool, rpc trace.RPC) error {
	capability := map[string]string{"NodeGetCapabilities": "STAGE_UNSTAGE_VOLUME", "ControllerGetCapabilities": "PUBLISH_UNPUBLISH_VOLUME"}[rpc.Method]
	if capability == "" || rpc.Code != "OK" {
		return nil
	}
	list, _ := rpc.Answer["capabilities"].([]any)
	has := slices.ContainsFunc(list, func(one any) bool {
		fields, _ := one.(map[string]any)
		called, _ := fields["rpc"].(map[string]any)
		return called["type"] == capability
	})
	key := [3]string{rpc.Driver, rpc.Machine, rpc.Method}
	if had, known := can[key]; known && had != has {
		return fmt.Errorf("%s of %s on %s answers with %s at one time, and without it at another", rpc.Method, rpc.Driver, rpc.Machine, capability)
	}
	can[key] = has
	return nil
}

// unnamed returns what makes it implausible to lay a breach of the rules of CSI to the callers of drivers: they were misled, or nothing at all happened in
// the run that is out of the ordinary. "" if it is plausible.
func (f *Failure) unnamed() string {
	if err := misled(f.log); err != nil {
		return fmt.Sprintf("the callers of the driver are not to blame: %v", err)
	}
	if !f.Plan.isPlain() || troubled(f.log) {
		return ""
	}
	return "nothing out of the ordinary happened before that, so it is hardly a bug of Kubernetes: look at what the driver answers, such as its IDs and " +
		"capabilities. If that is right, it is a bug of this library: please report it; " +
		fmt.Sprintf("Config.Except: []string{%q} explores without the rule", f.Rule())
}

// troubled reports whether the scenario itself made trouble.
func troubled(log *trace.Log) bool {
	return slices.ContainsFunc(log.Since(0), func(entry trace.Entry) bool {
		switch r := entry.Record.(type) {
		case trace.Struck, trace.MachineStruck, trace.PointStruck, trace.Crashed, trace.Held, trace.Stopped:
			return true
		case trace.RPC:
			return r.Fault != ""
		}
		return false
	})
}

// noted adds a line to what a failure says.
func (f *Failure) noted(note string) {
	f.note = note
	if broken, ok := errors.AsType[*Broken](f.Err); ok && note != "" {
		f.Err = &Broken{broken.Rule, fmt.Errorf("%w\n%s", broken.Err, note)}
	}
}
