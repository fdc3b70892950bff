package call

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckWriteOptions refuses options of a create, update or patch whose values are not valid.
// Upstream: endpoints/handlers createHandler, UpdateResource and PatchResource, v1.37.
func CheckWriteOptions(req *Request) error {
	o := req.Write
	if o.FieldManager == "" && o.FieldValidation == "" && o.Force == nil && len(o.DryRun) == 0 && req.PatchType != types.ApplyYAMLPatchType {
		return nil // as most
	}
	var errs field.ErrorList
	var kind string
	switch req.Verb {
	case "create":
		kind = "CreateOptions"
		errs = metavalidation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager,
			FieldValidation: o.FieldValidation})
	case "update":
		kind = "UpdateOptions"
		errs = metavalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager,
			FieldValidation: o.FieldValidation})
	default:
		kind = "PatchOptions"
		errs = metavalidation.ValidatePatchOptions(&o, req.PatchType)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
	}
	return nil
}

// CheckDeleteOptions refuses options that are not valid, before the object is looked up.
// Upstream: endpoints/handlers DeleteResource, v1.37.
func CheckDeleteOptions(opts metav1.DeleteOptions) error {
	if errs := metavalidation.ValidateDeleteOptions(&opts); len(errs) > 0 {
		return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("DeleteOptions").GroupKind(), "", errs)
	}
	return nil
}
