package pvcontroller

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestThePrivateCachesKeepTheNewestVersion(t *testing.T) {
	meta := func(version string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: "x", ResourceVersion: version}
	}
	claims, volumes := newClaimCache(), newVolumeCache()
	for _, test := range []struct{ put, want string }{
		{"9", "9"}, {"8", "9"}, {"9", "9"}, {"10", "10"}, {"nonsense", "10"}, {"", "10"}, {"18446744073709551615", "18446744073709551615"},
	} {
		claims.put(&v1.PersistentVolumeClaim{ObjectMeta: meta(test.put)})
		claim, found := claims.get("default/x")
		require.True(t, found)
		require.Equal(t, test.want, claim.ResourceVersion)

		volumes.put(&v1.PersistentVolume{ObjectMeta: meta(test.put)})
		volume, found := volumes.Get("x")
		require.True(t, found)
		require.Equal(t, test.want, volume.ResourceVersion)
	}
	same := &v1.PersistentVolumeClaim{ObjectMeta: meta("18446744073709551615")}
	claims.put(same)
	got, _ := claims.get("default/x")
	require.Same(t, same, got, "an equal version is taken, as a resync brings it")
}
