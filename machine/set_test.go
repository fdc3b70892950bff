package machine_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/trace"
)

func now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// add adds a machine with files in memory.
func add(t *testing.T, s *machine.Set, kind machine.Kind, name string) *machine.Machine {
	t.Helper()
	m, err := s.Add(machine.Config{Kind: kind, Name: name, Now: now})
	require.NoError(t, err)
	return m
}

func TestAMachineIsFoundByItsNameAndTheErrorSaysWhichThereAre(t *testing.T) {
	s := &machine.Set{}
	server, b, a := add(t, s, machine.NFSServer, "nas"), add(t, s, machine.Node, "b"), add(t, s, machine.Node, "a")
	require.Equal(t, []string{"node/b", "node/a", "nfs/nas"}, s.Names())
	require.Equal(t, []*machine.Machine{b, a}, s.Of(machine.Node))
	for name, want := range map[string]*machine.Machine{"node/a": a, "node/b": b, "nfs/nas": server} {
		m, err := s.Find(name)
		require.NoError(t, err)
		require.Same(t, want, m)
	}
	for name, says := range map[string]string{
		"node/c": `no node is called "c"; expected one of b, a`,
		"nfs/c":  `no NFS server is called "c"; expected nas`,
		"disk/a": `"disk/a" is not a machine (did you mean "node/a"?); expected node/NAME or nfs/NAME`,
	} {
		_, err := s.Find(name)
		require.EqualError(t, err, says)
	}
	_, err := s.Add(machine.Config{Kind: machine.Node, Name: "a", Now: now})
	require.EqualError(t, err, "there is a machine called node/a already")
	require.NoError(t, s.Remove(b))
	require.Nil(t, s.Disk(machine.Node, "b"))
	require.Equal(t, []string{"node/a", "nfs/nas"}, s.Names())
}

// A machine's mounts and files read the same on both kinds of disks.
func TestAMachineMountsOnADirectoryAndInMemory(t *testing.T) {
	for kind, dir := range map[string]string{"directory": t.TempDir(), "memory": ""} {
		t.Run(kind, func(t *testing.T) {
			s := &machine.Set{}
			m, err := s.Add(machine.Config{Kind: machine.Node, Name: "a", Dir: dir, Now: now})
			require.NoError(t, err)
			require.NoError(t, m.Disk().MkdirAll("/data", 0o755))
			require.NoError(t, m.Disk().MkdirAll("/mnt", 0o755))
			require.NoError(t, m.Mounter().Mount("/data", "/mnt", "", []string{"bind"}))
			require.NoError(t, m.Disk().WriteFile("/mnt/x", []byte("through the mount"), 0o644))
			data, err := m.Disk().ReadFile("/data/x")
			require.NoError(t, err)
			require.Equal(t, "through the mount", string(data))
			require.NoError(t, s.Unmount())
			require.NoError(t, s.Close())
			_, err = m.Disk().Stat("/data")
			require.Error(t, err, "it is closed")
		})
	}
}

func TestAFaultOfAMachineStrikesItsMountsAndFilesAndIsToldOf(t *testing.T) {
	var struck []string
	s := &machine.Set{Struck: func(r trace.MachineStruck) { struck = append(struck, r.String()) }}
	a, b := add(t, s, machine.Node, "a"), add(t, s, machine.Node, "b")
	require.NoError(t, s.Inject(machine.Fault{Machine: "node/a", Times: -1, Err: syscall.EIO}))
	later := add(t, s, machine.Node, "later")
	require.NoError(t, s.Inject(machine.Fault{Machine: "node/later", Op: "create", Err: syscall.ENOSPC}))

	require.ErrorIs(t, a.Disk().Mkdir("/x", 0o755), syscall.EIO)
	require.ErrorIs(t, a.Mounter().Mount("/x", "/y", "", []string{"bind"}), syscall.EIO)
	require.NoError(t, b.Disk().Mkdir("/x", 0o755))
	require.ErrorIs(t, later.Disk().Mkdir("/x", 0o755), syscall.ENOSPC)
	require.NoError(t, later.Disk().Mkdir("/x", 0o755))
	s.PauseFaults(true)
	require.NoError(t, a.Disk().Mkdir("/x", 0o755))
	s.PauseFaults(false)
	require.ErrorIs(t, a.Disk().Remove("/x"), syscall.EIO)
	s.ClearFaults()
	require.NoError(t, a.Disk().Remove("/x"))
	require.Equal(t, []string{
		"cannot mkdir /x on node/a: input/output error", "cannot mount /x on /y on node/a: input/output error",
		"cannot mkdir /x on node/later: no space left on device", "cannot remove /x on node/a: input/output error",
	}, struck)
}
