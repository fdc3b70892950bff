package attacher

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/status"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/trace"
)

// markAsAttached writes that the volume is attached.
//
// Upstream: util.go markAsAttached, v4.13.
func (a *csiAttacher) markAsAttached(ctx context.Context, va *storage.VolumeAttachment, metadata map[string]string) error {
	attached := va.DeepCopy()
	attached.Status.Attached = true
	attached.Status.AttachmentMetadata = metadata
	attached.Status.AttachError = nil
	_, err := a.patchVA(ctx, va, attached, "status")
	return err
}

// saveAttachError writes why the volume could not be attached, with the code of a gRPC error. It ignores an error of
// the write: the next try repeats it.
//
// Upstream: csi_handler.go saveAttachError, v4.13.
func (a *csiAttacher) saveAttachError(ctx context.Context, va *storage.VolumeAttachment, failed error) {
	failure := &storage.VolumeError{Message: failed.Error(), Time: metav1.NewTime(a.env.Now())}
	if st, ok := status.FromError(failed); ok {
		code := int32(st.Code()) // gRPC's codes are small
		failure.ErrorCode = &code
	}
	saved := va.DeepCopy()
	saved.Status.AttachError = failure
	a.saveError(ctx, va, saved)
}

// saveDetachError writes why the volume could not be detached.
//
// Upstream: csi_handler.go saveDetachError, v4.13.
func (a *csiAttacher) saveDetachError(ctx context.Context, va *storage.VolumeAttachment, failed error) {
	saved := va.DeepCopy()
	saved.Status.DetachError = &storage.VolumeError{Message: failed.Error(), Time: metav1.NewTime(a.env.Now())}
	a.saveError(ctx, va, saved)
}

func (a *csiAttacher) saveError(ctx context.Context, va, saved *storage.VolumeAttachment) {
	if _, err := a.patchVA(ctx, va, saved, "status"); err != nil {
		a.env.Trace(trace.Decision{About: trace.RefOf("VolumeAttachment", va), Text: "could not save the error in its status: " + err.Error()})
	}
}

// patchVA writes the difference between the two, as a merge patch.
//
// Upstream: csi_handler.go patchVA and util.go createMergePatch, v4.13.
func (a *csiAttacher) patchVA(ctx context.Context, from, to *storage.VolumeAttachment, subresources ...string) (*storage.VolumeAttachment, error) {
	was := storage.VolumeAttachment{ObjectMeta: from.ObjectMeta, Status: from.Status}
	is := storage.VolumeAttachment{ObjectMeta: to.ObjectMeta, Status: to.Status} // nothing writes the spec
	semantic.DropEqual(&was.ObjectMeta, &is.ObjectMeta)
	semantic.DropEqual(&was.Status, &is.Status)
	before, err := json.Marshal(&was)
	if err != nil {
		return from, err
	}
	after, err := json.Marshal(&is)
	if err != nil {
		return from, err
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return from, err
	}
	ctx = readonly.Answers(ctx)
	patched, err := a.client.StorageV1().VolumeAttachments().Patch(ctx, from.Name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return from, err
	}
	return patched, nil
}
