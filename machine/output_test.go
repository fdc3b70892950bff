package machine_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestTheOutputOfACommandIsNotHeldWhole(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(strings.ReplaceAll(strings.Split(filler, "    command")[0], "filler", "quiet") + `    command: [sleep, infinity]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
`)
	c.Settle()
	result, err := c.Cluster.Machine("pod/quiet").Exec("", "sh", "-c",
		"x=aaaaaaaa; while [ ${#x} -lt 500000 ]; do x=$x$x; done; for i in $(seq 60); do echo $x >> /data/f; done; for i in $(seq 60); do cat /data/f; done")
	require.NoError(t, err)
	require.Regexp(t, `a\.\.\. \d{10} bytes more$`, result.Stdout[len(result.Stdout)-40:])
	require.Less(t, len(result.Stdout), 17<<20)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(1<<29))
}
