package volumemanager

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A token is that of an account which is there. It is kept until four fifths of its time are over, and longer while the account is missing, until it
// has expired.
func TestATokenIsGivenForAnAccountAndRenewedWhileThatIsThere(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	ctx, accounts := t.Context(), r.User.CoreV1().ServiceAccounts("default")
	ask := func(name string, seconds *int64) (*authenticationv1.TokenRequest, error) {
		return p.host.GetServiceAccountToken(ctx, "default", name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: seconds, BoundObjectRef: &authenticationv1.BoundObjectReference{UID: "web"},
		}})
	}
	expires := func(name string, seconds *int64) time.Duration {
		answer, err := ask(name, seconds)
		require.NoError(t, err)
		assert.Equal(t, serviceAccountJWT, answer.Status.Token)
		return answer.Status.ExpirationTimestamp.Sub(r.Engine.Now().Truncate(time.Second))
	}
	r.Settle()
	_, err := ask("", nil)
	assert.EqualError(t, err, `failed to fetch token: serviceaccounts "default" not found`, "the account of a pod that names none")
	for _, name := range []string{"default", "robot"} {
		_, err := accounts.Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	assert.Equal(t, time.Hour, expires("", nil))
	ten := new(int64(600))
	assert.Equal(t, 10*time.Minute, expires("robot", ten))
	r.run(7 * time.Minute)
	assert.Equal(t, 3*time.Minute, expires("robot", ten), "the same")
	r.run(time.Minute)
	assert.Equal(t, 10*time.Minute, expires("robot", ten), "a new one")

	require.NoError(t, accounts.Delete(ctx, "robot", metav1.DeleteOptions{}))
	r.run(9 * time.Minute)
	assert.Equal(t, time.Minute, expires("robot", ten), "there is no other")
	r.run(time.Minute + time.Second)
	_, err = ask("robot", ten)
	assert.EqualError(t, err, `failed to fetch token: serviceaccounts "robot" not found`)

	r.vm.decisions.NoDefaultAccount = true
	_, err = ask("", nil)
	assert.EqualError(t, err, "failed to fetch token: resource name may not be empty")
}
