package provisioner_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// callsOf returns the calls in the trace, as sentences.
func callsOf(c *storagesimtest.Cluster) (calls []string) {
	for _, entry := range c.Trace().Records() {
		if call, ok := entry.Record.(trace.Call); ok {
			calls = append(calls, entry.Actor+" "+call.String())
		}
	}
	return calls
}

func TestEachCallOfAProvisionerIsARecordWithItsResultAndItsTime(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{NFSServers: []storagesim.NFSServer{{Name: "nas", Exports: []string{"/srv"}}}})
	faulty := &provisioner.Faulty{}
	faulty.OnProvision(provisioner.Answer{Err: errors.New("busy"), State: provisioner.ProvisioningInBackground}, provisioner.Answer{AnswerLost: true})
	faulty.OnDelete(provisioner.Answer{Err: errors.New("in use")}, provisioner.Answer{Err: &provisioner.IgnoredError{Reason: "it is theirs"}})
	c.AddProvisionController(provisioner.Config{Name: clustertest.ShelfName, New: func(env control.Env) (provisioner.Provisioner, error) {
		faulty.Provisioner = &clustertest.Slow{Env: env, Server: c.Cluster.Machine("nfs/nas").NFSServer().Disk()}
		return faulty, nil
	}})
	c.Apply(clustertest.ShelfClass, clustertest.ShelfClaim("data"))
	c.RunFor(10 * time.Minute)
	pv := "pvc-" + string(c.Claim("data").UID)
	provision, del := "example.com/shelf calls Provision for pvc default/data: ", "example.com/shelf calls Delete for pv "+pv+": "
	require.Equal(t, []string{
		provision + "Background: busy",
		provision + "Background: the answer was lost after 10s",
		provision + "OK, pv " + pv + " after 10s",
	}, callsOf(c))
	c.Delete("pvc/data")
	c.RunFor(time.Hour)
	require.Equal(t, []string{
		del + "Error: in use",
		del + "Ignored: ignored because it is theirs",
		del + "OK",
	}, callsOf(c)[3:])

	require.NotContains(t, c.Story(), "calls Provision for pvc")
	require.NotContains(t, c.Trace().Transcript(0), "calls Provision for pvc")
	details := c.Trace().Tell(trace.Telling{Details: true})
	for _, call := range callsOf(c) {
		require.Contains(t, details, strings.TrimPrefix(call, clustertest.ShelfName+" "))
	}
	told := c.Trace().Tell(trace.Telling{Calls: true})
	require.Equal(t, len(callsOf(c)), strings.Count(told, " calls Provision for ")+strings.Count(told, " calls Delete for "))
	require.Equal(t, c.Story(), c.Trace().Tell(trace.Telling{}))
}

func TestTheRecordsOfAStoryAreLinesOfJSON(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory...)
	c.Settle()
	c.Crash(storagesim.Scheduler)
	c.Settle()
	text, err := trace.JSON(c.Trace().Records())
	require.NoError(t, err)
	again, err := trace.JSON(c.Trace().Records())
	require.NoError(t, err)
	require.Equal(t, text, again)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, len(c.Trace().Records()))
	var types []string
	for i, line := range lines {
		var record struct{ Actor, Type, Topic, Text string }
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		require.Equal(t, c.Trace().Records()[i].Record.String(), record.Text)
		types = append(types, record.Type)
	}
	slices.Sort(types)
	require.Subset(t, slices.Compact(types), []string{"Asset", "Call", "Command", "Crashed", "Event", "Mount", "Write"})
}
