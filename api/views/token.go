package views

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
)

// AccountSubresources returns the subresources of service accounts.
func AccountSubresources() map[string]Subresource {
	return map[string]Subresource{"token": {
		GVK: authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), Verbs: metav1.Verbs{"create"},
	}}
}

// How long a token may last, in seconds.
// Upstream: pkg/apis/authentication validation and v1 SetDefaults_TokenRequestSpec, v1.37.2.
const (
	defaultTokenLife = 3600
	leastTokenLife   = 10 * 60
	mostTokenLife    = 1 << 32
)

// apiAudience is the audience of tokens that name none: the issuer of the server that docs/apiserver.md compares with this one.
const apiAudience = "https://kubernetes.default.svc"

// tokenRequests is the kind that errors name.
var tokenRequests = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind()

// TokenRequestFor returns a TokenRequest for an account as it is answered, without its token. account is nil if there is none; missing is the error then.
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.2.
func TokenRequestFor(tr *authenticationv1.TokenRequest, namespace, name string, account call.Object, missing error,
	now metav1.Time) (*authenticationv1.TokenRequest, error) {
	invalid := func(err *field.Error) error { return apierrors.NewInvalid(tokenRequests, name, field.ErrorList{err}) }
	metadata := field.NewPath("metadata")
	switch {
	case tr.Name != "" && tr.Name != name:
		return nil, invalid(field.Invalid(metadata.Child("name"), tr.Name, "must match the service account name if specified"))
	case tr.Namespace != "" && tr.Namespace != namespace:
		return nil, invalid(field.Invalid(metadata.Child("namespace"), tr.Namespace, "must match the service account namespace if specified"))
	case account == nil:
		return nil, missing
	case tr.UID != "" && tr.UID != account.GetUID():
		return nil, apierrors.NewConflict(schema.GroupResource{Group: tokenRequests.Group, Resource: tokenRequests.Kind}, name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", tr.UID, account.GetUID()))
	}
	out := tr.DeepCopy()
	out.Name, out.Namespace, out.UID, out.CreationTimestamp = account.GetName(), account.GetNamespace(), account.GetUID(), now
	out.Status = authenticationv1.TokenRequestStatus{}
	if len(out.Spec.Audiences) == 0 {
		out.Spec.Audiences = []string{apiAudience}
	}
	if errs := validateTokenRequest(&out.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequests, "", errs)
	}
	return out, nil
}

// DefaultTokenLife sets how long a token lasts that a request does not say.
func DefaultTokenLife(tr *authenticationv1.TokenRequest) {
	if life := int64(defaultTokenLife); tr.Spec.ExpirationSeconds == nil {
		tr.Spec.ExpirationSeconds = &life
	}
}

// validateTokenRequest returns what is wrong with the spec. Attestations are only for webhooks, which are not asked here.
// Upstream: pkg/apis/authentication/validation ValidateTokenRequest, v1.37.2.
func validateTokenRequest(spec *authenticationv1.TokenRequestSpec) field.ErrorList {
	var errs field.ErrorList
	at := field.NewPath("spec")
	life := at.Child("expirationSeconds")
	if *spec.ExpirationSeconds < leastTokenLife {
		errs = append(errs, field.Invalid(life, *spec.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
	}
	if *spec.ExpirationSeconds > mostTokenLife {
		errs = append(errs, field.Invalid(life, *spec.ExpirationSeconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if isForWebhook(spec.BoundObjectRef) {
		if len(spec.Audiences) != 1 {
			errs = append(errs, field.Invalid(at.Child("audiences"), spec.Audiences, "must be length 1 when bound to a webhook config"))
		}
		if len(spec.Attestations) != 1 {
			errs = append(errs, field.Invalid(at.Child("attestations"), spec.Attestations,
				"webhook bound requests require exactly one admissionReviewAPIGroups attestation"))
		}
		if _, ok := spec.Attestations[admissionReviews]; len(spec.Attestations) == 1 && !ok {
			for name := range spec.Attestations {
				errs = append(errs, field.NotSupported(at.Child("attestations").Key(name), name, []string{admissionReviews}))
			}
		}
	} else if len(spec.Attestations) > 0 {
		return field.ErrorList{field.Invalid(at.Child("attestations"), spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	return errs
}

// admissionReviews is the attestation of a token for a webhook.
const admissionReviews = "admissionReviewAPIGroups"

func isForWebhook(ref *authenticationv1.BoundObjectReference) bool {
	return ref != nil && ref.APIVersion == admissionregistrationv1.SchemeGroupVersion.String() &&
		(ref.Kind == "ValidatingWebhookConfiguration" || ref.Kind == "MutatingWebhookConfiguration")
}

// BoundTo returns the resource of the object to which a token is bound, and whether it is in the namespace of the account. An error says that no token is
// bound to such objects.
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.2. Tokens for webhooks are not made here.
func BoundTo(ref *authenticationv1.BoundObjectReference) (resource schema.GroupVersionResource, namespaced bool, err error) {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch gvk.GroupKind().String() {
	case "Pod":
		resource, namespaced = v1.SchemeGroupVersion.WithResource("pods"), true
	case "Secret":
		resource, namespaced = v1.SchemeGroupVersion.WithResource("secrets"), true
	case "Node":
		resource = v1.SchemeGroupVersion.WithResource("nodes")
	default:
		return resource, false, apierrors.NewBadRequest("cannot bind token to object of type " + gvk.String())
	}
	if ref.Name == "" {
		return resource, false, apierrors.NewBadRequest("Name parameter required.")
	}
	return resource, namespaced, nil
}

// MayBindToken returns why a token of an account is not bound to an object. A pod that names no account has the default one, which on a cluster
// admission names.
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.2.
func MayBindToken(account string, ref *authenticationv1.BoundObjectReference, to metav1.Object) error {
	if pod, ok := to.(*v1.Pod); ok && cmp.Or(pod.Spec.ServiceAccountName, "default") != account {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account))
	}
	if ref.UID != "" && ref.UID != to.GetUID() {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name, fmt.Errorf(
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

// SetToken puts the token that a digest makes into a TokenRequest.
func SetToken(tr *authenticationv1.TokenRequest, ends metav1.Time, digest [sha256.Size]byte) {
	tr.Status = authenticationv1.TokenRequestStatus{Token: tokenPrefix + hex.EncodeToString(digest[:]), ExpirationTimestamp: ends}
}

// tokenPrefix begins the tokens of service accounts; the rest is a digest.
const tokenPrefix = "storagesim."

// isToken reports whether a text has the form of a token of a service account. It is not kept which of them were given out.
func isToken(text string) bool {
	digest, ok := strings.CutPrefix(text, tokenPrefix)
	sum, err := hex.DecodeString(digest)
	return ok && err == nil && len(sum) == sha256.Size
}
