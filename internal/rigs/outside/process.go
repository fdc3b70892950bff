// Package outside runs a CSI driver in a process of its own, for tests: the test's binary,
// started again.
package outside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// variable has the configuration of a driver, as JSON, and makes a process one.
const variable = "STORAGESIM_TEST_CSI_DRIVER"

// Config configures a driver. Start sets fields that are empty.
type Config struct {
	// Name is the driver's name, Node the ID of its node.
	Name, Node string
	// Socket is the path of its socket, and Dir the directory with a directory for each volume.
	Socket, Dir string
	// Mount, if set, makes NodePublishVolume mount on Linux, in place of copying: "bind" mounts all of Dir, "ro" does so
	// read-only, "none" mounts nothing, "tmpfs" mounts a file system in memory with the file "kept", "nested" mounts that in the directory
	// "nested" of a bind mount, and "busy" keeps a file of a bind mount open.
	Mount string
	// After, if set, says what happens after the mount: "hang" never answers, and "die" ends the process.
	After string
}

// Main serves as a driver, and does not return, if the process was started by Start. Call it in
// TestMain.
func Main() {
	text, ok := os.LookupEnv(variable)
	var cfg Config
	var err error
	switch {
	case ok:
		err = json.Unmarshal([]byte(text), &cfg)
	case len(os.Args) == 4 && os.Args[1] == variable: // by Command
		if err = json.Unmarshal([]byte(os.Args[2]), &cfg); err == nil {
			cfg.Socket = os.Args[3]
		}
	default:
		return
	}
	if err == nil {
		err = serve(cfg)
	}
	fmt.Fprintln(os.Stderr, "driver:", err)
	os.Exit(1)
}

func serve(cfg Config) error {
	_ = os.Remove(cfg.Socket)
	l, err := net.Listen("unix", cfg.Socket)
	if err != nil {
		return err
	}
	d, s := &driver{cfg: cfg}, grpc.NewServer()
	spec.RegisterIdentityServer(s, d)
	spec.RegisterControllerServer(s, d)
	spec.RegisterNodeServer(s, d)
	return s.Serve(l)
}

// Process is a driver's process.
type Process struct {
	Config
	t   testing.TB
	cmd *exec.Cmd
}

// New returns a driver that is not started yet.
func New(t testing.TB, cfg Config) *Process {
	dir, err := os.MkdirTemp("", "csi") // short, as a socket's path must be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if cfg.Name == "" {
		cfg.Name = "outside.csi.example.com"
	}
	if cfg.Node == "" {
		cfg.Node = "id-of-node-1"
	}
	cfg.Socket, cfg.Dir = filepath.Join(dir, "csi.sock"), filepath.Join(dir, "volumes")
	require.NoError(t, os.Mkdir(cfg.Dir, 0o755))
	return &Process{Config: cfg, t: t}
}

// Start returns a driver that listens. It is killed when the test ends.
func Start(t testing.TB, cfg Config) *Process {
	p := New(t, cfg)
	p.Start()
	return p
}

// Endpoint returns the driver's address.
func (p *Process) Endpoint() string { return "unix://" + p.Socket }

// Command returns a command for --csi-command that starts the driver.
func (p *Process) Command() string {
	text, err := json.Marshal(p.Config)
	require.NoError(p.t, err)
	self, err := os.Executable()
	require.NoError(p.t, err)
	return "'" + self + "' " + variable + " '" + string(text) + "' {socket}"
}

// Start starts the process, and waits until it listens.
func (p *Process) Start() {
	text, err := json.Marshal(p.Config)
	require.NoError(p.t, err)
	self, err := os.Executable()
	require.NoError(p.t, err)
	p.cmd = exec.Command(self)
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), variable+"="+string(text)), os.Stderr
	require.NoError(p.t, p.cmd.Start())
	p.t.Cleanup(p.Kill)
	require.True(p.t, soon.Is(p.t, func() bool {
		conn, err := net.Dial("unix", p.Socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}), "the driver does not listen")
}

// Kill ends the process, as kill -9 does.
func (p *Process) Kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// Waits reports whether a CreateVolume waits for GoOn.
func (p *Process) Waits() bool { return exists(p.Dir + ".waits") }

// GoOn ends the waiting, also that of calls to come.
func (p *Process) GoOn() { require.NoError(p.t, os.WriteFile(p.Dir+".goes-on", nil, 0o600)) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// snapshots returns the directory of the snapshots, a directory each.
func (c Config) snapshots() string { return c.Dir + ".snapshots" }

// Volumes returns the IDs of the volumes that the driver has.
func (p *Process) Volumes() []string { return p.in(p.Dir) }

// Snapshots returns the IDs of the snapshots that the driver has.
func (p *Process) Snapshots() []string { return p.in(p.snapshots()) }

// in returns the names of what is in a directory.
func (p *Process) in(dir string) []string {
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(p.t, err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
