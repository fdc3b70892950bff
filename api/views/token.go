package views

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
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
// Upstream: pkg/apis/authentication validation, v1.37.
const (
	defaultTokenLife = 3600
	leastTokenLife   = 10 * 60
)

// LifeOfToken returns how long the token lasts that a request asks for.
func LifeOfToken(tr *authenticationv1.TokenRequest, account string) (time.Duration, error) {
	life := int64(defaultTokenLife)
	if tr.Spec.ExpirationSeconds != nil {
		life = *tr.Spec.ExpirationSeconds
	}
	if life < leastTokenLife || life > 1<<32 {
		gk := schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}
		return 0, apierrors.NewInvalid(gk, account, field.ErrorList{
			field.Invalid(field.NewPath("spec", "expirationSeconds"), life, "may not specify a duration less than 10 minutes, or more than 2^32 seconds"),
		})
	}
	return time.Duration(life) * time.Second, nil
}

// Token answers a TokenRequest for an account with the token that a digest makes.
func Token(tr *authenticationv1.TokenRequest, account call.Object, now, ends metav1.Time, digest [sha256.Size]byte) *authenticationv1.TokenRequest {
	out, life := tr.DeepCopy(), int64(ends.Sub(now.Time)/time.Second)
	out.Name, out.Namespace, out.UID, out.CreationTimestamp = account.GetName(), account.GetNamespace(), account.GetUID(), now
	out.Spec.ExpirationSeconds = &life
	out.Status = authenticationv1.TokenRequestStatus{Token: tokenPrefix + hex.EncodeToString(digest[:]), ExpirationTimestamp: ends}
	return out
}

// tokenPrefix begins the tokens of service accounts; the rest is a digest.
const tokenPrefix = "storagesim."

// isToken reports whether a text has the form of a token of a service account. It is not kept which of them were given out.
func isToken(text string) bool {
	digest, ok := strings.CutPrefix(text, tokenPrefix)
	sum, err := hex.DecodeString(digest)
	return ok && err == nil && len(sum) == sha256.Size
}
