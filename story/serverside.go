package story

import (
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/internal/tables"
)

// The managers of kubectl apply with --server-side and without.
const (
	serverSideManager = "kubectl"
	clientSideManager = "kubectl-client-side-apply"
	// earlier is the server's name for the managers of fields that were set before they were tracked.
	earlier = "before-first-apply"
)

// track notes the managers of an object's fields if apply without --server-side made it, which tracks none. Fields that still have the
// values that were applied belong to that apply, as on a cluster; the others in its manifest belong to the manager "before-first-apply", since their
// manager is not known. For kubectl's own manager the first ones have gone over to it already: a cluster lets it change them, because they are in the
// annotation of kubectl apply, which objects of stories lack.
//
// Upstream: apimachinery managedfields/internal lastAppliedManager.Apply, v0.37.2.
func (c *call) track(ref tables.Ref, manager string) error {
	applied := c.cluster.Lab().LastApplied(ref.Resource.GroupVersionResource(), ref.Namespace, ref.Name)
	live, err := c.get(ref)
	if err != nil || applied == nil || len(live.GetManagedFields()) > 0 {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	changed, err := c.changedSince(ref, applied)
	if err != nil {
		return err
	}
	set, entry, err := c.fieldsOf(ref, applied)
	if err != nil {
		return err
	}
	others := &fieldpath.Set{}
	set.Iterate(func(path fieldpath.Path) {
		if slices.Contains(changed, path.String()) {
			others.Insert(path.Copy())
		}
	})
	own := metav1.ManagedFieldsEntry{
		Manager: clientSideManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: entry.APIVersion, Time: entry.Time, FieldsType: entry.FieldsType,
	}
	theirs := own
	theirs.Manager = earlier
	if manager == serverSideManager {
		own.Manager, own.Operation = manager, metav1.ManagedFieldsOperationApply
	}
	var entries []metav1.ManagedFieldsEntry
	for _, e := range []struct {
		entry metav1.ManagedFieldsEntry
		set   *fieldpath.Set
	}{{own, set.Difference(others)}, {theirs, others}} {
		if e.set.Empty() {
			continue
		}
		data, err := e.set.ToJSON()
		if err != nil {
			return err
		}
		e.entry.FieldsV1 = metav1.NewFieldsV1(string(data))
		entries = append(entries, e.entry)
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": entries}})
	if err != nil {
		return err
	}
	req := about("patch", ref)
	req.PatchType, req.Patch, req.Track = types.MergePatchType, data, true
	_, err = c.cluster.Lab().Do(req)
	return err
}

// dryApply returns a request that applies JSON to an object as the manager of apply without --server-side, and stores nothing.
func dryApply(ref tables.Ref, data []byte, force bool) api.Request {
	req := about("patch", ref)
	req.PatchType, req.Patch = types.ApplyPatchType, data
	req.Write = metav1.PatchOptions{Force: &force, FieldManager: clientSideManager, DryRun: []string{metav1.DryRunAll}}
	return req
}

// changedSince returns the paths of the fields that have other values than those that were applied: the server calls them conflicts.
func (c *call) changedSince(ref tables.Ref, applied []byte) (paths []string, err error) {
	_, err = c.cluster.Lab().Do(dryApply(ref, applied, false))
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && apierrors.IsConflict(err) && status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			paths = append(paths, cause.Field)
		}
		return paths, nil
	}
	return nil, err
}

// fieldsOf returns the fields of an object that were applied, and how the server notes them.
func (c *call) fieldsOf(ref tables.Ref, applied []byte) (*fieldpath.Set, metav1.ManagedFieldsEntry, error) {
	made, err := c.cluster.Lab().Do(dryApply(ref, applied, true))
	if err != nil {
		return nil, metav1.ManagedFieldsEntry{}, err
	}
	for _, entry := range made.(metav1.Object).GetManagedFields() {
		if entry.Manager == clientSideManager && entry.FieldsV1 != nil {
			set := &fieldpath.Set{}
			return set, entry, set.FromJSON(entry.FieldsV1.GetRawReader())
		}
	}
	return &fieldpath.Set{}, metav1.ManagedFieldsEntry{}, nil // nothing but names was applied
}

// applyTracked carries out a server-side apply. What apply without --server-side set goes over to the manager, and the apply is repeated, so that
// fields go which are in the manifest no more.
//
// Upstream: kubectl pkg/cmd/apply/apply.go applyOneObject and migrateToSSAIfNecessary, v0.37.2.
func (c *call) applyTracked(ref tables.Ref, req api.Request) error {
	made, err := c.cluster.Lab().Do(req)
	if err != nil {
		return err
	}
	data, err := csaupgrade.UpgradeManagedFieldsPatch(made, sets.New(clientSideManager), req.Write.FieldManager)
	if err != nil || data == nil {
		return err
	}
	move := about("patch", ref)
	move.PatchType, move.Patch, move.Track = types.JSONPatchType, data, true
	if _, err := c.cluster.Lab().Do(move); err != nil {
		return err
	}
	_, err = c.cluster.Lab().Do(req)
	return err
}
