package storagesim

import (
	"io/fs"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/trace"
)

func (c *Cluster) Server() *api.Server { return c.engine.Server() }
func (c *Cluster) Seed() uint64        { return c.Lab().Seed() }
func (c *Cluster) Actors() []string    { return c.engine.Actors() }
func (c *Cluster) Dir() string         { return c.Lab().Dir() }
func (c *Cluster) Step() (bool, error) { return c.engine.Step() }
func (c *Cluster) Interrupt()          { c.engine.Interrupt() }
func (c *Cluster) CrashFor(actor string, downtime time.Duration) error {
	return c.engine.CrashFor(actor, downtime)
}
func (c *Cluster) Lag(actor, resource string) error { return c.engine.Lag(actor, resource) }
func (c *Cluster) Records() []trace.Entry           { return c.Trace().Records() }
func (c *Cluster) Transcript(width int) string      { return c.Trace().Transcript(width) }
func (c *Cluster) ShortIDs(text string) string      { return c.Trace().ShortIDs(text) }
func (c *Cluster) FullIDs(text string) string       { return c.Trace().FullIDs(text) }
func (c *Cluster) Tell(how trace.Telling) string    { return c.Trace().Tell(how) }
func (c *Cluster) TellRecords(r []trace.Entry, how trace.Telling) string {
	return c.Trace().TellRecords(r, how)
}
func (c *Cluster) StoryPage(from, limit, width int) (text string, next int) {
	return c.Trace().Page(from, limit, width)
}
func (c *Cluster) Gaps() []trace.Gap            { return c.Trace().Gaps() }
func (c *Cluster) Deviations() []trace.Deviates { return c.Trace().Deviations() }
func (c *Cluster) ReadFile(where, path string) ([]byte, error) {
	text, err := c.Machine(where).ReadFile(path)
	return []byte(text), err
}
func (c *Cluster) WriteFile(where, path string, data []byte) error {
	return c.Machine(where).WriteFile(path, string(data))
}
func (c *Cluster) MakeDir(where, path string, mode fs.FileMode) error {
	return c.Machine(where).MakeDir(path, mode)
}
func (c *Cluster) ListDir(where, path string) ([]string, error) {
	return c.Machine(where).ListDir(path)
}
func (c *Cluster) Disk(name string) (*disk.Disk, error) { return c.Machine(name).Disk() }
func (c *Cluster) VolumeStats(pod string) (stats []kubelet.VolumeStats, err error) {
	return c.Machine("pod/" + pod).VolumeStats()
}
func (c *Cluster) NFSServer(name string) *nfs.Server        { return c.Machine("nfs/" + name).NFSServer() }
func (c *Cluster) HostDir(name, dir string) (string, error) { return c.Machine(name).HostDir(dir) }
func (c *Cluster) Exec(pod, container string, command ...string) (ExecResult, error) {
	return c.Machine("pod/"+pod).Exec(container, command...)
}
func (c *Cluster) ExecStreams(pod, container string, config runtime.ExecConfig) (exitCode int32, err error) {
	return c.Machine("pod/"+pod).ExecStreams(container, config)
}
func (c *Cluster) BeginExec(pod, container string, config runtime.ExecConfig) (*Execution, error) {
	return c.Machine("pod/"+pod).BeginExec(container, config)
}
func (c *Cluster) Logs(pod, container string, previous bool) (string, error) {
	return c.Machine("pod/"+pod).Logs(container, previous)
}
func (c *Cluster) Machines() []string                            { return c.Lab().Machines() }
func (c *Cluster) Sockets() *socket.Table                        { return c.Lab().Sockets() }
func (c *Cluster) Do(req api.Request) (apiruntime.Object, error) { return c.Lab().Do(req) }
func (c *Cluster) Serves(name string) bool                       { return c.Lab().Serves(name) }
func (c *Cluster) Explanation(ref string) (Explanation, error)   { return c.Lab().Explanation(ref) }
func (c *Cluster) Leaks() ([]Leak, error)                        { return c.Lab().Leaks() }
func (c *Cluster) WithoutInventory() (names []string)            { return c.Lab().WithoutInventory() }
func (c *Cluster) ClearFaults()                                  { c.Lab().ClearFaults() }
func (c *Cluster) MissedFaults() []string                        { return c.Lab().MissedFaults() }
func (c *Cluster) OnAct(f func(verb, ref string) bool)           { c.Lab().OnAct(f) }
func (c *Cluster) OnRest(f func())                               { c.Lab().OnRest(f) }
func (c *Cluster) InjectMachine(f machine.Fault) error           { return c.Inject(f) }
func (c *Cluster) InjectCSI(f socket.Fault) error                { return c.Inject(f) }
func (c *Cluster) InjectPoint(f engine.PointFault) error         { return c.Inject(f) }
func (c *Cluster) InstallSnapshots() error                       { return c.Lab().InstallSnapshots() }
func (c *Cluster) InstallOpenEBS(cfg ...openebs.Config) error {
	return c.AddProvisionController(openebs.Controller(append(cfg, openebs.Config{})[0]))
}
func (c *Cluster) InstallLocalPath(cfg ...localpath.Config) error {
	return c.AddProvisionController(localpath.Controller(append(cfg, localpath.Config{})[0]))
}

func (c *Cluster) GetYAML(args ...string) (string, error) {
	return c.Get(append(args, "-o", "yaml")...)
}
func (c *Cluster) Counters(name string) (*provisioner.Counters, error) { return c.Lab().Counters(name) }
