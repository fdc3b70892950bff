package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAMessageIsMendedByTheObjectThatItNames(t *testing.T) {
	for message, want := range map[string]string{
		`MountVolume.SetUp failed for volume "v" : secret "tls" not found`:                          "create secret tls in the same namespace",
		`MountVolume.SetUp failed for volume "v" : [secret "a" not found, configmap "b" not found]`: "create secret a and configmap b in the same namespace",
		`pods "web-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2`:           "raise ResourceQuota few, or delete some of what it counts",
		`rpc error: code = ResourceExhausted desc = full`:                                           "ask for less, or make room on the storage",
		`rpc error: code = Internal desc = disk "x" not found`:                                      "remove the cause that the message names",
	} {
		assert.Equal(t, want, mend(message))
	}
}
