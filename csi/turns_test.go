package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/csi/socket"
)

// The attacher attaches a volume to node-2 after the controller has taken its first error for the answer. The controller then tries node-1,
// where the driver must refuse, and both nodes share the volume's backoff: node-2 has its turn, too.
func TestANodeWhereAttachingFailsDoesNotKeepAnotherFromItsTurn(t *testing.T) {
	c := growing(t, 2)
	c.Inject(socket.Fault{Method: "ControllerPublishVolume", Code: codes.Internal, Message: "not now", Times: 2})
	c.Apply(growingPod("second", "node-2"))
	c.RunFor(700 * time.Millisecond)
	c.Apply(growingPod("first", "node-1"))
	c.RunFor(3 * time.Minute)
	story := c.Story()
	require.Contains(t, story, "is attached to node node-2", "node-1 was tried while the volume was there")
	assert.Equal(t, v1.PodRunning, c.Pod("second").Status.Phase)
	assert.Equal(t, v1.PodPending, c.Pod("first").Status.Phase)
	why, err := c.Lab().Explanation("pod/first")
	require.NoError(t, err)
	assert.Equal(t, "pod/default/second", why.Verdict.Object, why.Text)
	assert.True(t, strings.Contains(why.Verdict.Do, "ReadWriteMany"), why.Verdict.Do)
}

// A call that was begun while no driver was there is the driver's once it answers.
func TestACallThatOutlastsTheDriversAbsenceHasItsName(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.RequireRunning("web")
	c.Stop("csi-driver/csi.storagesim.io/node-1")
	c.Inject(socket.Fault{Method: "NodeUnpublishVolume", Delay: 14 * time.Second, Times: 1})
	c.Delete("pod/web")
	c.RunFor(5 * time.Second) // the call waits
	c.Start("csi-driver/csi.storagesim.io/node-1")
	c.RunFor(time.Minute)
	require.Regexp(t, `calls NodeUnpublishVolume of csi\.storagesim\.io with volume_id .*: OK after 14s`, c.Story())
}
