package volumemanager

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	tokenLifetime     = time.Hour
	tokenMaxAge       = 24 * time.Hour
	serviceAccountJWT = "this-is-not-a-token.storagesim-signs-none"
	defaultAccount    = "default"
)

// tokens are the tokens that pods have, by what was asked for. Another process of the kubelet knows none of them.
type tokens map[string]*authenticationv1.TokenRequest

// GetServiceAccountToken returns a text that is not a real token, if the account is there. It is asked for again when four fifths of its time
// are over, or a day; if that fails, the pod keeps the token that it has, until that has expired.
//
// Upstream: pkg/kubelet/token/token_manager.go GetServiceAccountToken, v1.37.2. There up to 10 s by chance are added to the time, and for up to
// a minute an error names the token that has expired.
func (h *host) GetServiceAccountToken(ctx context.Context, namespace, name string, request *authenticationv1.TokenRequest) (
	*authenticationv1.TokenRequest, error) {
	if !h.given.decisions.NoDefaultAccount {
		name = cmp.Or(name, defaultAccount)
	}
	maps.DeleteFunc(h.tokens, func(_ string, t *authenticationv1.TokenRequest) bool {
		return h.Now().After(t.Status.ExpirationTimestamp.Time)
	})
	key := tokenKey(namespace, name, request)
	had, ok := h.tokens[key]
	if ok && h.Now().Before(renewal(had)) {
		return had, nil
	}
	token, err := h.requestToken(ctx, namespace, name, request)
	switch {
	case err == nil:
		h.tokens[key] = token
		return token, nil
	case ok:
		return had, nil
	default:
		return nil, fmt.Errorf("failed to fetch token: %w", err)
	}
}

// requestToken answers as the API server does, which is asked for no more than whether the account is there.
//
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.2.
func (h *host) requestToken(ctx context.Context, namespace, name string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	if _, err := h.GetClient().CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	answer := request.DeepCopy()
	if answer.Spec.ExpirationSeconds == nil {
		answer.Spec.ExpirationSeconds = new(int64(tokenLifetime / time.Second))
	}
	expires := metav1.NewTime(h.Now().Add(lifetime(answer)).Truncate(time.Second))
	answer.Status = authenticationv1.TokenRequestStatus{Token: serviceAccountJWT, ExpirationTimestamp: expires}
	return answer, nil
}

// renewal returns the time from which a token is asked for again.
//
// Upstream: pkg/kubelet/token/token_manager.go requiresRefresh, v1.37.2.
func renewal(token *authenticationv1.TokenRequest) time.Time {
	expires, whole := token.Status.ExpirationTimestamp.Time, lifetime(token)
	return expires.Add(-whole).Add(min(whole*4/5, tokenMaxAge))
}

// lifetime returns how long a token is valid.
func lifetime(token *authenticationv1.TokenRequest) time.Duration {
	return time.Duration(*token.Spec.ExpirationSeconds) * time.Second
}

// tokenKey identifies what is asked for.
//
// Upstream: pkg/kubelet/token/token_manager.go keyFunc, v1.37.2.
func tokenKey(namespace, name string, request *authenticationv1.TokenRequest) string {
	seconds, bound := int64(0), authenticationv1.BoundObjectReference{}
	if s := request.Spec.ExpirationSeconds; s != nil {
		seconds = *s
	}
	if b := request.Spec.BoundObjectRef; b != nil {
		bound = *b
	}
	return fmt.Sprintf("%q/%q/%q/%d/%q", name, namespace, request.Spec.Audiences, seconds, bound.UID)
}
