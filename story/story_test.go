package story

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the outputs of the stories in testdata")

func TestStoriesPrintWhatTheyDid(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			var b strings.Builder
			missed := func(fault string) { t.Errorf("a fault struck nothing: %s", fault) }
			require.NoError(t, Play(t.Context(), &b, file, string(want), Options{Missed: missed}))
			got := b.String()
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			wanted, gotten := strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n"), strings.Split(got, "\n")
			for i := range min(len(wanted), len(gotten)) {
				require.Equal(t, wanted[i], gotten[i], "%s:%d; if this is as it should be: go test ./story -update", file, i+1)
			}
			require.Equal(t, len(wanted), len(gotten), "%s: number of lines", file)
		})
	}
}

func TestACommandWithoutOutputYetNeedsNoFence(t *testing.T) {
	const script = `cluster provisioners= only=kube-scheduler
apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}

# The claim waits.
get pvc data -o name
! get pvc nothing
settle quiet`
	got, err := Run("test.txt", script)
	require.NoError(t, err)
	_, got, _ = strings.Cut(got, "\n\n")
	require.Equal(t, `apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
----
persistentvolumeclaim/data created

# The claim waits.
get pvc data -o name
----
persistentvolumeclaim/data

! get pvc nothing
----
Error from server (NotFound): persistentvolumeclaims "nothing" not found

settle quiet
----
`, got)
	again, err := Run("test.txt", got)
	require.NoError(t, err)
	require.Equal(t, got, again, "what it wrote it can read")
}

func TestACommandThatMustFailEndsTheStoryIfItDoesNot(t *testing.T) {
	_, err := Run("test.txt", "settle quiet\n\n! get nodes\n")
	require.EqualError(t, err, "test.txt:3: get must fail, as the ! before it says, and it did not")
	_, err = Run("test.txt", "! gte nodes\n")
	require.ErrorContains(t, err, `test.txt:1: unknown command "gte" (did you mean "get"?)`)
}
