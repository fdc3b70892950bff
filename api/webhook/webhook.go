// Package webhook asks admission webhooks: which of those that are stored are asked about a write, in which words, and what becomes of their
// answers. A program that has the handlers is an [Asker]; webhooks of other programs are not asked. Begin at [Webhooks.Change], which asks those that
// may change an object, before it is validated, and [Webhooks.Check], which asks those that may refuse it, afterwards.
package webhook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/semantic"
)

// Asker has the handlers of a program's webhooks.
type Asker interface {
	// Serves reports whether the program is the one that a client's configuration names.
	Serves(client *admissionregistrationv1.WebhookClientConfig) bool
	// Holds reports whether the match conditions of a webhook hold, which are not empty.
	Holds(conditions []admissionregistrationv1.MatchCondition, q Question) (bool, error)
	// Ask returns the answer of a webhook that is served, or the error of the call. It is called in the goroutine of the request, while the
	// server is not locked.
	Ask(q Question) (*admissionv1.AdmissionReview, error)
}

// Question is one call of a webhook.
type Question struct {
	// Webhook is the name of the webhook.
	Webhook string
	// Client says where it is.
	Client *admissionregistrationv1.WebhookClientConfig
	// Timeout is the time that it has.
	Timeout time.Duration
	// Review has the request, with the objects as structs or maps that say their kind. They are shared: do not modify them.
	Review *admissionv1.AdmissionReview
}

// Changes says in words what the answer to a question changes in an object; "" if nothing. What an answer refuses is told with the write.
func (q Question) Changes(answer *admissionv1.AdmissionResponse) string {
	var operations []struct{ Op, Path string }
	if answer == nil || !answer.Allowed || json.Unmarshal(answer.Patch, &operations) != nil || len(operations) == 0 {
		return ""
	}
	var does []string
	for _, o := range operations {
		does = append(does, o.Op+" "+o.Path)
	}
	return fmt.Sprintf("webhook %s changes what is to be stored: %s", q.Webhook, strings.Join(does, ", "))
}

// Attempt is a write that webhooks are asked about.
type Attempt struct {
	Kind                 *registry.Entry
	Sub, Namespace, Name string
	Operation            admissionv1.Operation
	// Obj is the object that is to be stored, nil for a deletion. Old is the stored one, nil for a new object.
	Obj, Old call.Object
	Options  runtime.Object
	DryRun   bool
	User     authenticationv1.UserInfo
	// Patch returns a copy of an object with a JSON patch applied. The kind says in which version both are.
	Patch func(k *registry.Entry, obj call.Object, patch jsonpatch.Patch) (call.Object, error)
	// Warn tells the client something; nil if it is not to be told.
	Warn func(text string)
	// UID returns the UID of the review for a webhook of that name.
	UID func(webhook string) types.UID
}

// Webhooks asks the webhooks that are stored, as far as a program that serves them is known. The others refuse and change nothing.
//
// Upstream: apiserver admission/plugin/webhook mutating and validating, v0.37.2.
type Webhooks struct {
	Askers []Asker
	// Versions returns the entries of a kind in all its versions.
	Versions func(k *registry.Entry) []*registry.Entry
}

var (
	mutatingWebhooks   = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	validatingWebhooks = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
)

// hook is a webhook of either kind.
type hook struct {
	name       string
	client     *admissionregistrationv1.WebhookClientConfig
	rules      []admissionregistrationv1.RuleWithOperations
	failure    *admissionregistrationv1.FailurePolicyType
	match      *admissionregistrationv1.MatchPolicyType
	timeout    *int32
	namespaces *metav1.LabelSelector
	objects    *metav1.LabelSelector
	again      bool // it is asked again after a later one has changed the object
	conditions []admissionregistrationv1.MatchCondition
	versions   []string
	asker      Asker
}

// Asks reports whether all webhooks of a configuration are asked.
func (w Webhooks) Asks(configuration runtime.Object) bool {
	hooks := hooksOf(configuration)
	return len(w.served(hooks)) == len(hooks)
}

// hooksOf returns the webhooks of a configuration of either kind.
func hooksOf(configuration runtime.Object) (hooks []hook) {
	switch c := configuration.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			h := &c.Webhooks[i]
			hooks = append(hooks, hook{
				h.Name, &h.ClientConfig, h.Rules, h.FailurePolicy, h.MatchPolicy, h.TimeoutSeconds, h.NamespaceSelector, h.ObjectSelector,
				h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy,
				h.MatchConditions, h.AdmissionReviewVersions, nil,
			})
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			h := &c.Webhooks[i]
			hooks = append(hooks, hook{
				h.Name, &h.ClientConfig, h.Rules, h.FailurePolicy, h.MatchPolicy, h.TimeoutSeconds, h.NamespaceSelector, h.ObjectSelector,
				false, h.MatchConditions, h.AdmissionReviewVersions, nil,
			})
		}
	}
	return hooks
}

// stored returns the webhooks of all configurations of a resource whose program is known.
func (w Webhooks) stored(r admission.Reader, resource schema.GroupVersionResource) (hooks []hook) {
	for _, c := range r.List(resource, "") {
		hooks = append(hooks, w.served(hooksOf(c))...)
	}
	return hooks
}

// Change asks the webhooks that may change an object, and returns it changed.
//
// Upstream: mutatingDispatcher.Dispatch, v0.37.2. A webhook that asks to be asked again is, once, if another has changed the object after it.
func (w Webhooks) Change(r admission.Reader, a Attempt) (call.Object, error) {
	if len(w.Askers) == 0 || isExempt(a.Kind.GVK) {
		return a.Obj, nil
	}
	var asked, again []hook // those that are asked again if needed, and those that have to be
	round := func(hooks []hook) error {
		for _, h := range hooks {
			changed, called, err := w.change(r, h, &a)
			if err != nil {
				return err
			}
			if changed {
				again = append(again, asked...)
				asked = nil
			}
			if called && h.again {
				asked = append(asked, h)
			}
		}
		return nil
	}
	if err := round(w.stored(r, mutatingWebhooks)); err != nil {
		return nil, err
	}
	if err := round(again); err != nil {
		return nil, err
	}
	return a.Obj, nil
}

// change asks one webhook, and puts what it makes of the object in its place.
func (w Webhooks) change(r admission.Reader, h hook, a *Attempt) (changed, called bool, _ error) {
	k, err := w.shouldCall(r, h, a)
	if k == nil || err != nil {
		return false, false, err
	}
	answer, err := w.ask(h, a, k, true)
	if answer == nil || err != nil {
		return false, err == nil, err
	}
	if len(answer.Patch) == 0 {
		return false, true, nil
	}
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	if err != nil {
		return false, true, h.failed(fmt.Errorf("received undecodable patch in webhook response: %w", err))
	}
	if len(patch) == 0 {
		return false, true, nil
	}
	if a.Obj == nil {
		return false, true, apierrors.NewInternalError(
			fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.name))
	}
	if kind := answer.PatchType; kind != nil && *kind != admissionv1.PatchTypeJSONPatch {
		return false, true, h.failed(fmt.Errorf("unsupported patch type %q", *kind))
	}
	obj, err := a.Patch(k, inVersion(a.Obj, a.Kind, k), patch)
	if err != nil {
		return false, true, apierrors.NewInternalError(err)
	}
	obj = inVersion(obj, k, a.Kind)
	a.Kind.SetDefaults(obj, false)
	// The times of managed fields lose their nanoseconds in JSON, so that upstream finds any patched struct changed.
	changed = a.Kind.Scheme != nil || !semantic.Equal(a.Obj, obj)
	a.Obj = obj
	return changed, true, nil
}

// Check asks the webhooks that may refuse an object. Each of them is asked; the first refusal is the answer.
//
// Upstream: validatingDispatcher.Dispatch, v0.37.2, which asks all at once.
func (w Webhooks) Check(r admission.Reader, a Attempt) error {
	if len(w.Askers) == 0 || isExempt(a.Kind.GVK) {
		return nil
	}
	type one struct {
		hook
		as *registry.Entry
	}
	var relevant []one
	for _, h := range w.stored(r, validatingWebhooks) {
		k, err := w.shouldCall(r, h, &a)
		if err != nil {
			return err
		}
		if k != nil {
			relevant = append(relevant, one{h, k})
		}
	}
	var first error
	for _, h := range relevant {
		_, err := w.ask(h.hook, &a, h.as, false)
		first = cmp.Or(first, err)
	}
	return first
}

// isExempt reports whether no webhook is asked about objects of a kind: what is wrong with webhooks must be mendable.
// Upstream: predicates/rules IsExemptAdmissionConfigurationResource, v0.37.2.
func isExempt(gvk schema.GroupVersionKind) bool {
	return gvk.Group == admissionregistrationv1.GroupName && slices.Contains([]string{
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
	}, gvk.Kind)
}

// served returns the webhooks whose program is known.
func (w Webhooks) served(hooks []hook) (list []hook) {
	for _, h := range hooks {
		if i := slices.IndexFunc(w.Askers, func(a Asker) bool { return a.Serves(h.client) }); i >= 0 {
			h.asker = w.Askers[i]
			list = append(list, h)
		}
	}
	return list
}

// shouldCall returns the kind, in the version that the webhook wants, if it is to be asked, and nil if it is not.
//
// Upstream: generic Webhook.ShouldCallHook, v0.37.2. A kind whose versions have stores of their own has no equivalent ones here.
func (w Webhooks) shouldCall(r admission.Reader, h hook, a *Attempt) (*registry.Entry, error) {
	inNamespace, err := matchesNamespace(r, h, a)
	if !inNamespace && err == nil {
		return nil, nil
	}
	selects, selectorErr := selectorOf(h.objects)
	if selectorErr == nil && !selectsObject(selects, a.Obj) && !selectsObject(selects, a.Old) {
		return nil, nil
	}
	as := w.matches(h, a)
	if as == nil {
		return nil, nil
	}
	if err := cmp.Or(err, selectorErr); err != nil || len(h.conditions) == 0 {
		return as, err
	}
	holds, err := h.asker.Holds(h.conditions, questionOf(h, a, as))
	if err != nil {
		return nil, h.unlessIgnored(apierrors.NewForbidden(a.Kind.GVR.GroupResource(), a.Name, err))
	}
	if !holds {
		return nil, nil
	}
	return as, nil
}

// unlessIgnored returns the failure of a webhook, nil if its failures are to be ignored.
func (h hook) unlessIgnored(failure error) error {
	if h.failure != nil && *h.failure == admissionregistrationv1.Ignore {
		return nil
	}
	return failure
}

// matches returns the kind in the version of a rule that matches, nil if none does.
func (w Webhooks) matches(h hook, a *Attempt) *registry.Entry {
	for i := range h.rules {
		if matchesRule(&h.rules[i], a, a.Kind.GVR) {
			return a.Kind
		}
	}
	if a.Kind.StoredAs == "" || h.match != nil && *h.match == admissionregistrationv1.Exact {
		return nil
	}
	for i := range h.rules {
		for _, other := range w.Versions(a.Kind) {
			if other.GVR != a.Kind.GVR && matchesRule(&h.rules[i], a, other.GVR) {
				return other
			}
		}
	}
	return nil
}

// Upstream: predicates/rules Matcher.Matches, v0.37.2.
func matchesRule(rule *admissionregistrationv1.RuleWithOperations, a *Attempt, gvr schema.GroupVersionResource) bool {
	inNamespace := a.Kind.Namespaced
	switch scope := rule.Scope; {
	case scope == nil, *scope == admissionregistrationv1.AllScopes:
	case inNamespace != (*scope == admissionregistrationv1.NamespacedScope):
		return false
	}
	return hasOrAll(rule.Operations, admissionregistrationv1.OperationType(a.Operation)) && hasOrAll(rule.APIGroups, gvr.Group) &&
		hasOrAll(rule.APIVersions, gvr.Version) && slices.ContainsFunc(rule.Resources, func(text string) bool {
		resource, sub, _ := strings.Cut(text, "/")
		return (resource == "*" || resource == gvr.Resource) && (sub == "*" || sub == a.Sub)
	})
}

// hasOrAll reports whether a list has an item, or the one that stands for all.
func hasOrAll[T ~string](list []T, item T) bool {
	return slices.Contains(list, "*") || slices.Contains(list, item)
}

// matchesNamespace reports whether a webhook is asked about objects in the namespace of a write.
// Upstream: predicates/namespace Matcher.MatchNamespaceSelector, v0.37.2.
func matchesNamespace(r admission.Reader, h hook, a *Attempt) (bool, error) {
	isNamespace := a.Kind.GVR.Resource == registry.Namespaces.Resource
	if a.Namespace == "" && !isNamespace {
		return true, nil
	}
	selects, err := selectorOf(h.namespaces)
	if err != nil || selects.Empty() {
		return err == nil, err
	}
	if isNamespace && a.Sub == "" && a.Obj != nil {
		return selects.Matches(labels.Set(a.Obj.GetLabels())), nil
	}
	name := a.Namespace
	if isNamespace {
		name = a.Name
	}
	stored, _ := r.Get(registry.Namespaces, name)
	namespace, ok := stored.(*v1.Namespace)
	if !ok {
		return false, apierrors.NewNotFound(registry.Namespaces.GroupResource(), name)
	}
	return selects.Matches(labels.Set(namespace.Labels)), nil
}

// selectorOf reads a selector, which selects everything where it is missing.
func selectorOf(from *metav1.LabelSelector) (labels.Selector, error) {
	if from == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(from)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return selector, nil
}

func selectsObject(selector labels.Selector, obj call.Object) bool {
	return obj != nil && selector.Matches(labels.Set(obj.GetLabels()))
}

// defaultTimeout is the time of a webhook that says nothing.
const defaultTimeout = 10

// ask calls a webhook. The answer is nil if it failed and that is to be ignored.
func (w Webhooks) ask(h hook, a *Attempt, as *registry.Entry, mutating bool) (*admissionv1.AdmissionResponse, error) {
	question := questionOf(h, a, as)
	review, err := h.asker.Ask(question)
	if err != nil {
		return nil, h.failed(fmt.Errorf("failed to call webhook: %w", err))
	}
	if got, want := review.GroupVersionKind(), question.Review.GroupVersionKind(); got != want && got.GroupKind() == want.GroupKind() {
		return nil, h.failed(fmt.Errorf("failed to call webhook: converting (%s.AdmissionReview) to (%s.AdmissionReview): unknown conversion",
			got.Version, want.Version))
	}
	if err := verify(review, question.Review, mutating); err != nil {
		return nil, h.failed(fmt.Errorf("received invalid webhook response: %w", err))
	}
	answer := review.Response
	for _, text := range answer.Warnings {
		if a.Warn != nil {
			a.Warn(text)
		}
	}
	if !answer.Allowed {
		return nil, denied(h.name, answer.Result)
	}
	return answer, nil
}

// denied returns the refusal of a webhook.
// Upstream: admission/plugin/webhook/errors ToStatusErr, v0.37.2.
func denied(webhook string, says *metav1.Status) error {
	var status metav1.Status
	if says != nil {
		status = *says
	}
	if status.Code < http.StatusBadRequest {
		status.Code = http.StatusBadRequest
	}
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	by := fmt.Sprintf("admission webhook %q denied the request", webhook)
	switch {
	case status.Message != "":
		status.Message = by + ": " + status.Message
	case status.Reason != "":
		status.Message = by + ": " + string(status.Reason)
	default:
		status.Message = by + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// failed returns the error of a webhook that did not answer as it has to; nil if such failures are to be ignored.
// Upstream: apiserver util/webhook ErrCallingWebhook, v0.37.2.
func (h hook) failed(why error) error {
	return h.unlessIgnored(apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: %w", h.name, why)))
}

// questionOf returns what a webhook is asked.
func questionOf(h hook, a *Attempt, as *registry.Entry) Question {
	seconds := int32(defaultTimeout)
	if h.timeout != nil {
		seconds = *h.timeout
	}
	return Question{
		Webhook: h.name, Client: h.client, Timeout: time.Duration(seconds) * time.Second,
		Review: &admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: reviewVersion(h.versions).String(), Kind: "AdmissionReview"}, Request: request(h.name, a, as),
		},
	}
}

// reviewVersion returns the first version of a review that is known here: a webhook lists one.
// Upstream: webhook/request CreateAdmissionObjects, v0.37.2.
func reviewVersion(versions []string) schema.GroupVersion {
	known := admissionv1.SchemeGroupVersion
	for _, version := range versions {
		if version == "v1" || version == "v1beta1" {
			known.Version = version
			break
		}
	}
	return known
}

// request says what is asked. The object of a review says its kind.
// Upstream: webhook/request CreateV1AdmissionReview, v0.37.2.
func request(webhook string, a *Attempt, as *registry.Entry) *admissionv1.AdmissionRequest {
	kind, resource := metav1.GroupVersionKind(a.Kind.GVK), metav1.GroupVersionResource(a.Kind.GVR)
	asked := &admissionv1.AdmissionRequest{
		UID: a.UID(webhook), Kind: metav1.GroupVersionKind(as.GVK), Resource: metav1.GroupVersionResource(as.GVR), SubResource: a.Sub,
		RequestKind: &kind, RequestResource: &resource, RequestSubResource: a.Sub,
		Name: a.Name, Namespace: a.Namespace, Operation: a.Operation, UserInfo: a.User, DryRun: &a.DryRun, Options: runtime.RawExtension{Object: a.Options},
	}
	if a.Kind.GVR.GroupResource() == registry.Namespaces.GroupResource() {
		asked.Namespace = a.Name
	}
	if a.Obj != nil {
		asked.Object.Object = call.Labelled(inVersion(a.Obj, a.Kind, as), as.GVK)
	}
	if a.Old != nil {
		asked.OldObject.Object = call.Labelled(inVersion(a.Old, a.Kind, as), as.GVK)
	}
	return asked
}

// inVersion returns an object in another version of its kind: itself, if it is the same.
func inVersion(obj call.Object, from, to *registry.Entry) call.Object {
	if from.GVK == to.GVK {
		return obj
	}
	return to.Shown(obj).(call.Object)
}

// verify returns what is wrong with an answer.
// Upstream: webhook/request VerifyAdmissionResponse, v0.37.2.
func verify(answer, asked *admissionv1.AdmissionReview, mutating bool) error {
	response := answer.Response
	if response == nil {
		return errors.New("webhook response was absent")
	}
	if asked.APIVersion != admissionv1.SchemeGroupVersion.String() {
		return nil // answers in v1beta1 were never verified
	}
	if response.UID != asked.Request.UID {
		return fmt.Errorf("expected response.uid=%q, got %q", asked.Request.UID, response.UID)
	}
	if answer.GroupVersionKind() != asked.GroupVersionKind() {
		return fmt.Errorf("expected webhook response of %v, got %v", asked.GroupVersionKind(), answer.GroupVersionKind())
	}
	switch patched := len(response.Patch) > 0; {
	case mutating && patched && response.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case mutating && !patched && response.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case mutating && patched && *response.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *response.PatchType)
	case !mutating && patched:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && response.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	}
	return nil
}
