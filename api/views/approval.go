package views

import (
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
)

// SigningSubresources returns the subresources of certificatesigningrequests: approval sets conditions and nothing else. No
// certificate is signed here.
func SigningSubresources() map[string]Subresource {
	return map[string]Subresource{"approval": {Verbs: metav1.Verbs{"get", "patch", "update"}, Part: &Part{
		Keep: func(obj, old call.Object, now metav1.Time) {
			keepConditions(obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest), now)
		},
		Validate: func(obj, old call.Object) field.ErrorList {
			return validateApproval(obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest))
		},
	}}}
}

// keepConditions keeps all but the conditions, and gives those that have no times the present one; a condition whose
// status stays keeps the time of its last transition.
// Upstream: pkg/registry/certificates/certificates csrApprovalStrategy.PrepareForUpdate and populateConditionTimestamps, v1.37.2.
func keepConditions(csr, old *certificatesv1.CertificateSigningRequest, now metav1.Time) {
	for i := range csr.Status.Conditions {
		c := &csr.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, was := range old.Status.Conditions {
			if was.Type == c.Type && was.Status == c.Status && !was.LastTransitionTime.IsZero() {
				c.LastTransitionTime = was.LastTransitionTime
				break
			}
		}
	}
	conditions := csr.Status.Conditions
	csr.Spec, csr.Status = old.Spec, old.Status
	csr.Status.Conditions = conditions
}

// final lists the conditions that are never false and are never taken back.
var final = []certificatesv1.RequestConditionType{
	certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
}

// validateApproval returns what is wrong with the conditions.
// Upstream: pkg/apis/certificates/validation ValidateCertificateSigningRequestApprovalUpdate and validateConditions, v1.37.2.
func validateApproval(csr, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	errs, at := field.ErrorList{}, field.NewPath("status", "conditions")
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range csr.Status.Conditions {
		errs = append(errs, validateCondition(&c, at.Index(i))...)
		if c.Type == certificatesv1.CertificateApproved && seen[certificatesv1.CertificateDenied] ||
			c.Type == certificatesv1.CertificateDenied && seen[certificatesv1.CertificateApproved] {
			errs = append(errs, field.Invalid(at, c.Type, "Approved and Denied conditions are mutually exclusive"))
		}
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(at.Index(i).Child("type"), c.Type))
		}
		seen[c.Type] = true
	}
	for _, t := range final {
		is := func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == t }
		if slices.ContainsFunc(old.Status.Conditions, is) && !seen[t] {
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	return errs
}

func validateCondition(c *certificatesv1.CertificateSigningRequestCondition, at *field.Path) field.ErrorList {
	errs := field.ErrorList{}
	if c.Type == "" {
		errs = append(errs, field.Required(at.Child("type"), ""))
	}
	allowed := []v1.ConditionStatus{v1.ConditionFalse, v1.ConditionTrue, v1.ConditionUnknown}
	if slices.Contains(final, c.Type) {
		allowed = []v1.ConditionStatus{v1.ConditionTrue}
	}
	switch {
	case c.Status == "":
		errs = append(errs, field.Required(at.Child("status"), ""))
	case !slices.Contains(allowed, c.Status):
		errs = append(errs, field.NotSupported(at.Child("status"), c.Status, allowed))
	}
	return errs
}
