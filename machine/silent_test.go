package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestAMountHangsWhileItsServerIsSilentAndOthersGoOn(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddNFSServer(nfsServer, "/srv")
	c.AddNFSServer("other.example.com", "/srv")
	c.Apply(nfsPod("old", "node-1", `{server: 192.168.203.110, path: /srv}`))
	c.Settle()
	c.Inject(machine.Fault{Machine: "nfs/" + nfsServer, Times: -1, Err: disk.ErrSilent})
	c.Apply(nfsPod("new", "node-1", `{server: 192.168.203.110, path: /srv}`), nfsPod("beside", "node-1", `{server: other.example.com, path: /srv}`))
	c.Delete("pod/old")
	c.RunFor(time.Hour)
	require.Equal(t, v1.PodPending, c.Pod("new").Status.Phase)
	require.Equal(t, v1.PodRunning, c.Pod("beside").Status.Phase)
	require.NotNil(t, c.Pod("old").DeletionTimestamp, "what is mounted cannot be unmounted")
	require.Contains(t, strings.Join(strings.Fields(c.Story()), " "),
		"unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded")
	require.NotContains(t, c.Story(), "FailedMount", "an operation that has not ended says nothing")

	c.Lab().ClearFaults()
	c.RunFor(2 * time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("new").Status.Phase)
	_, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "old", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestAMountOfANodeHangsUntilTheFaultIsGone(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddNFSServer(nfsServer, "/srv")
	c.Inject(machine.Fault{Machine: "node/node-1", Op: "mount", Times: 3, Err: disk.ErrSilent})
	c.Apply(nfsPod("one", "node-1", `{server: 192.168.203.110, path: /srv}`))
	c.Settle()
	require.Equal(t, v1.PodPending, c.Pod("one").Status.Phase, "Settle does not wait for it")
	c.RunFor(10 * time.Second)
	require.Equal(t, v1.PodRunning, c.Pod("one").Status.Phase)
}
