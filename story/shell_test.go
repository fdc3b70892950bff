package story

import (
	"context"
	"slices"
	"strings"
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

var oneClaim = []string{"apiVersion: v1", "kind: PersistentVolumeClaim", "metadata: {name: data}",
	"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"}

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
		"kubectl get pods": "commands are written without it", "get": "wrong number of arguments", `get "pods`: "is not closed",
		"get pods\nget pvc": "a command is one line",
	} {
		_, err := s.Do(line)
		require.ErrorContains(t, err, want)
	}
	_, err := s.Do("apply", "a: b", "----")
	require.ErrorContains(t, err, "no line of its input is ----")
	require.Empty(t, s.Script())
}

func TestTheLinesOfTheInputAreCountedFromItsFirst(t *testing.T) {
	s := NewShell(t.Context(), Options{Width: -1})
	defer func() { require.NoError(t, s.Close()) }()
	require.Contains(t, done(t, s, "apply", "apiVersion: v1", "kind: ConfigMap", "metadata: {name: a, nam: b}"), "shell:3: ")
	require.Contains(t, done(t, s, "apply", "a: b: c"), "shell:1: ")
}

// alike returns a cluster that is the same each time.
func alike(t *testing.T) *storagesim.Cluster {
	t.Helper()
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node-1"), Disks: storagesim.MemoryDisks, RecordValues: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Settle())
	return c
}

func TestAForkHasTheSameRecordsUpToTheChosenOne(t *testing.T) {
	c := alike(t)
	s := Attach(t.Context(), c, c.Now(), Options{})
	first := s.First()
	require.Equal(t, c.Engine().Trace().Len()-1, first)
	done(t, s, "apply", oneClaim...)
	done(t, s, "# the user waits")
	done(t, s, "settle")
	done(t, s, "fail persistent-volume-binder any persistentvolumeclaims")
	done(t, s, "run-for 1m")
	all, script := sentences(s), s.Script()
	for record := first; record < len(all); record++ {
		f, err := s.Fork(alike(t), record)
		require.NoError(t, err, record)
		got := sentences(f)
		require.Equal(t, all[:len(got)], got)
		require.Greater(t, len(got), record)
		for _, line := range f.Lines() {
			require.True(t, slices.Contains(s.Lines(), line) || strings.HasPrefix(line, "step "), line)
		}
	}
	none, err := s.Fork(alike(t), first)
	require.NoError(t, err)
	require.Empty(t, none.Lines())
	applied, err := s.Fork(alike(t), first+1)
	require.NoError(t, err)
	require.Equal(t, []string{"apply"}, applied.Lines())
	require.NotContains(t, done(t, applied, "run-for 1m"), "fails", "what came later is not there")

	require.Equal(t, script, s.Script(), "this one stays")
	for _, record := range []int{-1, first - 1, len(all)} {
		_, err := s.Fork(alike(t), record)
		require.ErrorContains(t, err, "expected one from ")
	}
}

func TestAForkOfARunThatIsAnotherTheSecondTimeIsRefused(t *testing.T) {
	c := alike(t)
	s := Attach(t.Context(), c, c.Now(), Options{})
	done(t, s, "apply", oneClaim...)
	done(t, s, "settle")
	other := alike(t)
	require.NoError(t, other.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}"))
	_, err := s.Fork(other, s.records()-1)
	require.ErrorIs(t, err, errAnother)
	c.Engine().Trace().Add(trace.Entry{Time: c.Now(), Actor: "a goroutine", Record: trace.Stopped{}})
	_, err = s.Fork(alike(t), s.records()-1)
	require.ErrorIs(t, err, errAnother)
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
	require.NotEmpty(t, c.Engine().Actors(), "the cluster is still there")
}

func TestWhichCommandsNeedInput(t *testing.T) {
	for line, want := range map[string]bool{
		"apply": true, "! create": true, "apply -f x": false, "apply --filename=x": false, "patch pvc data": true, "patch pvc data -p {}": false,
		"write node/a:/b": true, "write node/a:/b c": false,
		"get pods": false, "": false, "!": false, `"`: false,
	} {
		require.Equal(t, want, NeedsInput(line), line)
	}
}
