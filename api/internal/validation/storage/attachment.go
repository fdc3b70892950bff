package storage

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

const (
	maxAttachmentMetadata = 256 << 10 // bytes, keys and values together
	maxVolumeError        = 1024      // bytes
)

// checkAttachment validates a VolumeAttachment.
// Upstream: storage/validation ValidateVolumeAttachment, v1.37.
func checkAttachment(p *validation.Problems, va *storagev1.VolumeAttachment) {
	checkAttachmentFields(p, va)
	checkAttacher(p, va.Spec.Attacher, validation.SpecPath.Child("attacher"))
}

// checkAttacher validates the attacher by the tags of its type: last, in characters, and with capitals in what its message says.
// Upstream: storage/v1/zz_generated.validations.go Validate_VolumeAttachmentSpec and apimachinery pkg/api/validate/strfmt.go LongNameCaseless, v1.37.2.
func checkAttacher(p *validation.Problems, name string, at *field.Path) {
	if validation.IsLabel(name) {
		return
	}
	if name == "" {
		p.Required(at, "")
		return
	}
	p.Messages(at, name, content.IsDNS1123SubdomainCaseless(name)) //nolint:staticcheck // deprecated, and the tag calls it
	if len(name) > maxDriverName {
		p.Add(field.TooLongCharacters(at, "", maxDriverName))
	}
}

// checkAttachmentFields validates the fields that have no tags.
func checkAttachmentFields(p *validation.Problems, va *storagev1.VolumeAttachment) {
	checkAttachmentSource(p, &va.Spec.Source, validation.SpecPath.Child("source"))
	p.Subdomain(va.Spec.NodeName, validation.SpecPath.Child("nodeName"))

	size := 0
	for key, value := range va.Status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxAttachmentMetadata {
		p.Add(field.TooLong(validation.StatusPath.Child("attachmentMetadata"), "", maxAttachmentMetadata))
	}
	checkVolumeError(p, va.Status.AttachError, "attachError")
	checkVolumeError(p, va.Status.DetachError, "detachError")
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		p.Subdomain(*name, validation.SpecPath.Child("source", "persistentVolumeName"))
	}
}

func checkVolumeError(p *validation.Problems, e *storagev1.VolumeError, name string) {
	if e == nil {
		return
	}
	if len(e.Message) > maxVolumeError {
		p.Add(field.TooLong(validation.StatusPath.Child(name, "message"), "", maxVolumeError))
	}
	if e.ErrorCode != nil && *e.ErrorCode < 0 {
		p.Invalid(validation.StatusPath.Child(name, "errorCode"), *e.ErrorCode, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
	}
}

func checkAttachmentSource(p *validation.Problems, s *storagev1.VolumeAttachmentSource, at *field.Path) {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		p.Required(at, one)
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		p.Forbidden(at, one)
	case s.InlineVolumeSpec != nil:
		checkInlineVolumeSpec(p, s.InlineVolumeSpec, at.Child("inlineVolumeSpec"))
	case *s.PersistentVolumeName == "":
		p.Required(at.Child("persistentVolumeName"), "must specify non empty persistentVolumeName")
	}
}

// checkAttachmentUpdate validates an update. The tag that fixes the spec comes before those of its fields, which are not looked at then: the
// attacher is validated as one without a tag.
// Upstream: storage/v1/zz_generated.validations.go Validate_VolumeAttachmentSpec, v1.37.
func checkAttachmentUpdate(p *validation.Problems, va, old *storagev1.VolumeAttachment) {
	if va.Spec.Attacher != old.Spec.Attacher {
		CheckDriverName(p, va.Spec.Attacher, validation.SpecPath.Child("attacher"))
	}
	checkAttachmentFields(p, va)
	p.Fixed(va.Spec, old.Spec, validation.SpecPath)
}
