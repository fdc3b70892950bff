package storagesim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// A Job's containers are awaited, and such a rule has no backoff: after some rounds Settle goes on without them, as it does in a crash loop. A cluster that
// never comes to rest reaches its limit of steps.
func TestAJobThatRestartsAllItsContainersAgainAndAgainKeepsNothingFromSettling(t *testing.T) {
	for _, script := range []string{"exit 42", "sleep 2; exit 42", "sleep 59; exit 42"} {
		t.Run(script, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, StepLimit: 20_000})
			c.Apply(fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: again}, spec: {template: {spec: {restartPolicy: Never, containers: [
				{name: c, image: busybox, command: [sh, -c, "%s"], restartPolicy: Never,
				restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]}]}}}}`, script))
			c.Settle()
			restarts := func() int32 {
				pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, pods.Items, 1)
				return pods.Items[0].Status.ContainerStatuses[0].RestartCount
			}
			before := restarts()
			require.Positive(t, before)
			c.RunFor(10 * time.Minute)
			require.Greater(t, restarts(), before+5, "it goes on")
		})
	}
}
