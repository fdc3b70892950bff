package mount

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine/internal/mountinfo"
)

func TestANamespaceThatMayBeTheMachinesIsRefused(t *testing.T) {
	denied := errors.New("permission denied")
	for name, c := range map[string]struct {
		ns   namespace
		want string
	}{
		"another one, by name": {namespace{own: "mnt:[2]", first: "mnt:[1]"}, ""},
		"the same, by name":    {namespace{own: "mnt:[1]", first: "mnt:[1]"}, "is in the machine's mount namespace; start"},
		"another one, by mounts": {
			namespace{own: "mnt:[2]", firstErr: denied, ownMounts: []string{"40", "41"}, firstMounts: []string{"20", "21"}}, "",
		},
		"the same, by mounts": {
			namespace{own: "mnt:[1]", firstErr: denied, ownMounts: []string{"30", "21"}, firstMounts: []string{"20", "21"}},
			"is in the machine's mount namespace; start",
		},
		"nothing can be read": {namespace{own: "mnt:[1]", firstErr: denied, ownMounts: []string{"21"}}, "cannot be told: permission denied; start"},
		"nothing can be seen": {namespace{own: "mnt:[1]", firstErr: denied, firstMounts: []string{"21"}}, "cannot be told: permission denied; start"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.ns.check()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestMountsTellTwoNamespacesApart(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		own, err := mountinfo.Read("self")
		require.NoError(t, err)
		first, err := mountinfo.Read("1")
		require.NoError(t, err)
		require.NotEmpty(t, own.IDs())
		for _, id := range own.IDs() {
			require.NotContains(t, first.IDs(), id)
		}
	})
}
