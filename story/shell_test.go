package story

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// sentences returns the records of a shell's cluster.
func sentences(s *Shell) (list []string) {
	for _, e := range s.Cluster().Engine().Trace().Since(0) {
		list = append(list, e.Actor+" "+e.Record.String())
	}
	return list
}

var oneClaim = []string{"apiVersion: v1", "kind: PersistentVolumeClaim", "metadata: {name: data}", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"}

func done(t *testing.T, s *Shell, line string, input ...string) string {
	t.Helper()
	output, err := s.Do(line, input...)
	require.NoError(t, err)
	return output
}

func TestGoingBackPlaysTheSameRecordsUpToThere(t *testing.T) {
	s := NewShell(t.Context(), Options{})
	defer func() { require.NoError(t, s.Close()) }()
	done(t, s, "cluster nodes=node-1 seed=7")
	done(t, s, "apply", oneClaim...)
	done(t, s, "run-for 1m")
	all, steps := sentences(s), s.steps()
	for _, n := range []uint64{1, 2, 7, steps / 3} {
		before := s.steps()
		_, err := s.Back(n)
		require.NoError(t, err)
		require.Equal(t, before-n, s.steps())
		require.Equal(t, all[:len(sentences(s))], sentences(s))
	}
	line, err := s.Back(s.steps())
	require.NoError(t, err)
	require.Empty(t, line)
	require.Equal(t, "cluster nodes=node-1 seed=7", s.played[0].text)
	require.Len(t, s.played, 2, "what took no step stays")
	line, err = s.BackOne()
	require.NoError(t, err)
	require.Equal(t, "apply", line)
	require.NotContains(t, sentences(s), "user creates pvc default/data")
}

func TestGoingBackBeyondTheBeginningIsRefused(t *testing.T) {
	s := NewShell(t.Context(), Options{})
	defer func() { require.NoError(t, s.Close()) }()
	_, err := s.BackOne()
	require.EqualError(t, err, "this is the beginning: no command was played")
	_, err = s.Back(1)
	require.EqualError(t, err, "back 1: that is before the beginning: the cluster has taken 0 steps since it was ready")
	_, err = s.Back(0)
	require.ErrorContains(t, err, "expected a number of steps from 1")
	done(t, s, "step 3")
	steps := s.steps()
	_, err = s.Back(steps + 1)
	require.ErrorContains(t, err, "that is before the beginning")
	require.Equal(t, steps, s.steps(), "and nothing is lost")
	require.Len(t, s.played, 1)
}

// A run that does not repeat itself is told of.
func TestARunThatIsAnotherTheSecondTimeIsToldOf(t *testing.T) {
	s := NewShell(t.Context(), Options{})
	defer func() { require.NoError(t, s.Close()) }()
	done(t, s, "apply", oneClaim...)
	done(t, s, "settle")
	s.Cluster().Engine().Trace().Add(trace.Entry{Time: s.Cluster().Now(), Actor: "somebody", Record: trace.Stopped{}})
	s.played[1].output = ""
	s.played[0].input = append([]string{"# other"}, oneClaim...)
	s.played[0].input[3] = "metadata: {name: other}"
	_, err := s.Back(1)
	require.ErrorContains(t, err, "the run did not repeat itself")
}

func TestWhatIsNoCommandChangesNothing(t *testing.T) {
	s := NewShell(t.Context(), Options{})
	defer func() { require.NoError(t, s.Close()) }()
	for line, want := range map[string]string{
		"kubectl get pods": "commands are written without it", "get": "wrong number of arguments", `get "pods`: "is not closed", "get pods\nget pvc": "a command is one line",
	} {
		_, err := s.Do(line)
		require.ErrorContains(t, err, want)
	}
	_, err := s.Do("apply", "a: b", "----")
	require.ErrorContains(t, err, "no line of its input is ----")
	require.Empty(t, s.Script())
}

func TestAShellOnAClusterOfOthersDoesNotGoBack(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{})
	require.NoError(t, err)
	defer c.Close()
	s := Attach(context.Background(), c, c.Now(), Options{})
	done(t, s, "settle quiet")
	require.Contains(t, done(t, s, "get nodes"), "node-1")
	_, err = s.Back(1)
	require.ErrorIs(t, err, errAttached)
	_, err = s.BackOne()
	require.ErrorIs(t, err, errAttached)
	require.NoError(t, s.Close())
	require.NotEmpty(t, c.Actors(), "the cluster is still there")
}

func TestWhichCommandsNeedInput(t *testing.T) {
	for line, want := range map[string]bool{
		"apply": true, "! create": true, "apply -f x": false, "apply --filename=x": false, "patch pvc data": true, "patch pvc data -p {}": false, "write node/a:/b": true, "write node/a:/b c": false,
		"get pods": false, "": false, "!": false, `"`: false,
	} {
		require.Equal(t, want, NeedsInput(line), line)
	}
}
