package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/internal/quantity"
)

// Forbidden returns the error with which admission refuses.
func Forbidden(resource schema.GroupResource, name, reason string) error {
	return apierrors.NewForbidden(resource, name, errors.New(reason))
}

// Unprocessable returns the error for a request that is well-formed and cannot be carried out.
func Unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// OfObject returns the error with which admission refuses an object, whose name may not have been generated yet.
// Upstream: apiserver admission NewForbidden, v1.37.
func OfObject(resource schema.GroupResource, obj call.Object, err error) error {
	name := obj.GetName()
	if name == "" {
		name = obj.GetGenerateName()
	}
	return Forbidden(resource, name, err.Error())
}

// maxRefusal is the largest size of the errors in a refusal, in bytes.
const maxRefusal = 64 << 10

// shorten returns the first errors, as many as fit into a refusal, and one more that counts the others and quotes the
// last. If the first error alone is too long, its text is cut.
func shorten(errs field.ErrorList) field.ErrorList {
	left := maxRefusal
	for i, err := range errs {
		text := err.ErrorBody()
		if left -= len(text); left >= 0 {
			continue
		}
		kept := slices.Clone(errs[:i])
		if i == 0 {
			kept = append(kept, &field.Error{Type: err.Type, Field: err.Field, BadValue: field.OmitValueType{},
				Detail: bounded.Text(strings.TrimPrefix(text, err.Type.String()+": "), maxRefusal)})
			i++
		}
		if more := len(errs) - i; more > 0 {
			kept = append(kept, &field.Error{Type: field.ErrorTypeInvalid, Field: errs[len(errs)-1].Field, BadValue: field.OmitValueType{},
				Detail: fmt.Sprintf("... %d more errors; the last is: %s", more, bounded.Text(errs[len(errs)-1].Detail, 1024))})
		}
		return kept
	}
	return errs
}

// Internal returns the status for an error without a code of its own.
func Internal(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

// AsStatus returns an error of a library as one that an API server answers with.
func AsStatus(err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	return Internal(err.Error())
}

// Invalid returns the error for an object that is not valid, with as many of its errors as are told.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(kind, name, shorten(errs))
}

// Quantity returns the error for a quantity that a real server would accept, and compute with for minutes.
func Quantity(kind schema.GroupKind, name string, err *quantity.Error) error {
	return Invalid(kind, name, field.ErrorList{field.Invalid(field.NewPath(err.Field), err.Value, err.Problem)})
}

// Namespace returns the error for an object of another namespace than that of the request.
func Namespace() error {
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}
