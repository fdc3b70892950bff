package validation

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxAttachmentMetadata = 256 << 10 // bytes, keys and values together
	maxVolumeError        = 1024      // bytes
)

// attachment validates a VolumeAttachment.
// Upstream: storage/validation ValidateVolumeAttachment, v1.37.
func (p *problems) attachment(va *storagev1.VolumeAttachment) {
	p.attachmentFields(va)
	p.driverName(va.Spec.Attacher, specPath.Child("attacher")) // last: v1.37 validates it by a tag of its type
}

// attachmentFields validates the fields that have no tags.
func (p *problems) attachmentFields(va *storagev1.VolumeAttachment) {
	p.attachmentSource(&va.Spec.Source, specPath.Child("source"))
	p.subdomain(va.Spec.NodeName, specPath.Child("nodeName"))

	size := 0
	for key, value := range va.Status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxAttachmentMetadata {
		p.add(field.TooLong(statusPath.Child("attachmentMetadata"), "", maxAttachmentMetadata))
	}
	p.volumeError(va.Status.AttachError, "attachError")
	p.volumeError(va.Status.DetachError, "detachError")
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		p.subdomain(*name, specPath.Child("source", "persistentVolumeName"))
	}
}

func (p *problems) volumeError(e *storagev1.VolumeError, name string) {
	if e == nil {
		return
	}
	if len(e.Message) > maxVolumeError {
		p.add(field.TooLong(statusPath.Child(name, "message"), "", maxVolumeError))
	}
	if e.ErrorCode != nil && *e.ErrorCode < 0 {
		p.invalid(statusPath.Child(name, "errorCode"), *e.ErrorCode, validation.InclusiveRangeError(0, math.MaxInt32))
	}
}

func (p *problems) attachmentSource(s *storagev1.VolumeAttachmentSource, at *field.Path) {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		p.required(at, one)
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		p.forbidden(at, one)
	case s.InlineVolumeSpec != nil:
		p.inlineVolumeSpec(s.InlineVolumeSpec, at.Child("inlineVolumeSpec"))
	case *s.PersistentVolumeName == "":
		p.required(at.Child("persistentVolumeName"), "must specify non empty persistentVolumeName")
	}
}

// attachmentUpdate validates an update. A field with a tag is not looked at again while it keeps its value.
// Upstream: storage/v1/zz_generated.validations.go Validate_VolumeAttachmentSpec, v1.37.
func (p *problems) attachmentUpdate(va, old *storagev1.VolumeAttachment) {
	p.attachmentFields(va)
	if va.Spec.Attacher != old.Spec.Attacher {
		p.driverName(va.Spec.Attacher, specPath.Child("attacher"))
	}
	p.fixed(va.Spec, old.Spec, specPath)
}
