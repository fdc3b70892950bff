package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/machine/workdir"
	"github.com/storagesim/storagesim/story/bundled"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// runOptions are the flags of run.
type runOptions struct {
	files        []string
	manifests    manifest.Reader
	kustomize    string
	extra        bool // --extra-create-metadata
	nodes        []string
	nfs          []string
	disks        []string
	csi          []string
	commands     []string // of --csi-command
	realMounts   bool
	provisioners []string
	defaultClass string
	standIns     bool     // --stand-ins
	entrypoints  []string // --entrypoint
	diskSize     string
	named        []string // of --csi
	// provisionersSet is false where the manifests choose the provisioners.
	provisionersSet bool
	// started are the drivers of commands, and patience the time in which each must make its socket.
	started  []csiEndpoint
	patience time.Duration
	// again is the command line, for an error that tells another way to start it.
	again []string

	seed    uint64
	output  string
	keep    string
	serves  bool // the cluster is offered to clients
	passing time.Duration
	wait    time.Duration
	width   int
	verbose bool
	filter  filterOptions
	// tableWidth is the width of tables; 0 for any.
	tableWidth int
}

// outputs lists the values of -o; empty means the story and then the tables.
var outputs = []string{"", "story", "table", "yaml", "json", "trace", html, mermaidDiagram, svgPicture, perfettoTrace}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run -f FILE...",
		Short: "Apply manifests, let the cluster come to rest, and tell what happened",
		Long: `run makes a cluster, applies manifests in the order given, runs until the cluster is
at rest, and prints the story (who did what, when and why), the tables that kubectl
get would print and, for each pod that does not run and each claim that is not bound,
why.

Manifests are YAML or JSON. If anything in any of them is wrong (an unknown field, a
wrong type, a bad quantity, a duplicate), nothing is applied, and each problem is
reported with file, line, object, field and what was expected. Objects of a kind, or
of a version of a kind, that the API server does not have are reported, as are those
that it refuses, and the others are applied: the exit code is then 1. The kinds of
CustomResourceDefinitions among the manifests are known.

run starts the provisioners that the StorageClasses of the manifests name, if the
simulation has them; --provisioners names others instead. What manifests ask for and
the simulation does not model (README lists it) is named in a note.

A program that an image may have and the simulation does not is taken to run where the
container would end without it, or in an init container and a Job to have succeeded. A
probe that calls one succeeds. The story says so of each. In images of BusyBox only
BusyBox's programs are taken.

--stand-ins runs a stand-in for each other provisioner or CSI driver that classes,
volumes or inline volumes name: the reference CSI driver under that name, with the
CSIDriver of the manifests if there is one, or a provisioner of hostPath volumes where
the name cannot be a CSI driver's. --csi NAME runs one. The story begins with what is
stood in for. Parameters of classes are not checked, and the volumes that
PersistentVolumes name by volumeHandle exist.

--csi-endpoint names CSI drivers in other processes. A process serves one node; with
{node} in the address there is one for each. The driver is asked for its name; write
NAME=ADDRESS for one that starts later. The paths that it gets are real paths on this
machine, in the nodes' directories. --csi-command starts a driver, and ends it.

A driver that mounts makes its mounts in those directories. They are not the
simulation's: what is still mounted at the end stays, and so does the directory, and an
error names each mount and the command that ends it. Nothing behind a mount is removed.
With --real-mounts the simulation mounts, too; then start both in a mount namespace of
their own, in which all mounts end with them:

  unshare --mount storagesim run -f manifests/ --real-mounts --csi-command 'DRIVER {socket}'

--wait is for scripts: at rest, it lets virtual time pass until each claim is Bound,
each pod is ready or has succeeded, and each StatefulSet, Deployment, DaemonSet and Job
is complete. What is not there in time is named on standard error, with the reason.

Exit codes: 0 all well; 1 something in the manifests is wrong, or was refused, or
the cluster does not come to rest; 2 the command line is wrong, or there is nothing
that --wait could wait for; 3 something that --wait waits for is not there in time;
130 interrupted.`,
		Example: `  # A claim and a pod on two nodes: the story, then the tables.
  storagesim run -f claim.yaml -f pod.yaml --nodes node-1,node-2

  # Every manifest of a directory; only the tables.
  storagesim run -f manifests/ -o table

  # Every object at rest, as one List, for other tools.
  storagesim run -f manifests/ -o json | jq '.items[].kind'

  # What happened, a line of JSON for each record, for other tools.
  storagesim run -f manifests/ -o trace | jq 'select(.topic == "write") | .text'

  # A page of what happened, one file for a browser. -o mermaid is a diagram for an issue.
  storagesim run -f manifests/ -o html > page.html

  # The manifests of another program.
  helm template ./chart | storagesim run -f -

  # Another order of the same events; the same seed always gives the same one.
  storagesim run -f manifests/ --seed 7

  # Five more minutes, for whatever has to be waited for.
  storagesim run -f manifests/ --for 5m

  # The story of one claim, without what repeats in each run.
  storagesim run -f manifests/ -o story --about pvc/data

  # A local volume needs its directory, as a disk mounted on the node would be.
  storagesim run -f local-volume.yaml --disk node-1:/data/k8s/localpv

  # Manifests for the driver of a cloud, without the driver.
  storagesim run -f manifests/ --stand-ins

  # The same for one driver. Each node is a zone of its own, and can have 25 volumes.
  storagesim run -f manifests/ --csi ebs.csi.aws.com,topology=topology.ebs.csi.aws.com/zone,limit=25

  # Volumes on an NFS server, which is a directory of this machine.
  storagesim run -f manifests/ --nfs 192.168.203.110:/data/nfs

  # A CSI driver of your own that runs already, in any language.
  storagesim run -f manifests/ --csi-endpoint unix:///tmp/csi.sock

  # The same, started here at a socket that it is told.
  storagesim run -f manifests/ --csi-command 'mydriver --endpoint unix://{socket} --nodeid {node}'

  # Keep the nodes' directories, to look at the volumes; and at what the kubelet has
  # of its pods, in node-1/var/lib/kubelet/pods, and mounts, in node-1/run/mounts.
  storagesim run -f manifests/ --keep /tmp/nodes && find /tmp/nodes`,
		Args: manifestsByFlag,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.parsed(cmd)
			o.tableWidth = o.width
			if !cmd.Flags().Changed("width") {
				o.width, o.tableWidth = terminal.Width(cmd.OutOrStdout()), terminal.TableWidth(cmd.OutOrStdout())
			}
			err := errors.Join(o.check(), checkView(o.output, cmd.OutOrStdout()))
			if err == nil && o.keep == "" && cmd.Flags().Changed("keep") {
				err = errors.New("--keep: name a directory, new or empty")
			}
			if err == nil && o.wait <= 0 && cmd.Flags().Changed("wait") {
				err = fmt.Errorf("--wait %s: the time must be more than 0", o.wait)
			}
			if err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	addClusterFlags(flags, &o)
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the order of events; 0 is the order in which they occur")
	flags.StringVarP(&o.output, "output", "o", "", "`FORMAT`: story, table, yaml, json, trace, html, mermaid, svg or perfetto (default: story, then tables)")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "have the story tell each step of a pod's start, the calls of provisioners, and what they and programs made")
	o.filter.add(flags)
	flags.StringVar(&o.keep, "keep", "", keepHelp)
	flags.IntVar(&o.width, "width", 0, widthHelp)
	flags.DurationVar(&o.wait, "wait", 0, "virtual `TIME` in which claims must be Bound, pods ready, workloads complete, for example 10m")
	flags.DurationVar(&o.passing, "for", 0, "virtual `TIME` to let pass after the cluster has come to rest, for example 5m")
	return cmd
}

const keepHelp = "make the nodes' directories in `DIR`, which must be new or empty, and keep them"

// addClusterFlags adds the flags that say what cluster there is.
func addClusterFlags(flags *pflag.FlagSet, o *runOptions) {
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifest `FILE`, directory of manifests, or - for standard input; may be repeated")
	flags.BoolVarP(&o.manifests.Recursive, "recursive", "R", false, "read directories below those of -f, too")
	flags.StringVarP(&o.manifests.Namespace, "namespace", "n", "", "`NAMESPACE` of the manifests that name none; one that names another is refused")
	flags.StringVarP(&o.kustomize, "kustomize", "k", "", "names the command that runs kustomize for a `DIR`")
	flags.StringSliceVar(&o.nodes, "nodes", []string{"node-1", "node-2"}, "`NAMES` of the nodes, separated by commas")
	flags.Lookup("nodes").Value = oneLine{flags.Lookup("nodes").Value}
	flags.StringArrayVar(&o.nfs, "nfs", nil, "`SERVER:PATH` that an NFS server exports; without it no nfs volume can be mounted; may be repeated")
	flags.StringArrayVar(&o.disks, "disk", nil, "`NODE:PATH` of a directory of the node, or below /dev a block device, there from the start; repeatable")
	flags.StringVar(&o.diskSize, "disk-size", "", "`SIZE` of each machine's disk in memory, which a node tells as its ephemeral-storage (default 256Mi)")
	flags.StringArrayVar(&o.csi, "csi-endpoint", nil, csiHelp)
	flags.StringArrayVar(&o.commands, "csi-command", nil, commandHelp)
	flags.BoolVar(&o.extra, "extra-create-metadata", false, "tell drivers in other processes the claims', volumes' and snapshots' names")
	flags.StringVar(&o.defaultClass, "default-class", "", "make the StorageClass `NAME` the default; if there is none, it is made on local-path")
	flags.BoolVar(&o.standIns, "stand-ins", false, "run a stand-in for each driver and provisioner that is named and that nothing serves")
	flags.StringArrayVar(&o.named, "csi", nil, "run the reference CSI driver as `NAME` (NAME,topology=KEY,attach=false,limit=N); may be repeated")
	flags.BoolVar(&o.realMounts, "real-mounts", false, "have the kernel mount volumes on the nodes, in a mount namespace of this process's own (Linux)")
	flags.StringSliceVar(&o.provisioners, "provisioners", nil, "provisioners to run: "+strings.Join(bundled.Names(), ", ")+
		"; empty for none (default: those of the classes)")
	flags.StringArrayVar(&o.entrypoints, "entrypoint", nil,
		"`IMAGE=SCRIPT` that containers of IMAGE run that name no command; \"$@\" are their args; may be repeated")
}

// parsed completes the options from what the flags of the command are.
func (o *runOptions) parsed(cmd *cobra.Command) {
	o.provisionersSet = cmd.Flags().Changed("provisioners")
	o.patience = askTime
	o.again = strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value, values := f.Value, []string{f.Value.String()}
		if line, ok := value.(oneLine); ok {
			value = line.Value
		}
		if list, ok := value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			o.again = append(o.again, "--"+f.Name+"="+value)
		}
	})
	o.chooseNodes(cmd.Flags())
}

// oneLine is a flag's value without line breaks. A list ends at the first one, so that what follows
// would be lost.
type oneLine struct{ pflag.Value }

func (v oneLine) Set(text string) error {
	if strings.ContainsAny(text, "\r\n") {
		return errors.New("there is a line break in it; separate names by commas")
	}
	return v.Value.Set(text)
}

func (o *runOptions) check() error {
	switch {
	case o.kustomize != "":
		return o.checkCluster()
	case len(o.files) == 0:
		return errors.New("nothing to apply: give manifests with -f")
	case !slices.Contains(outputs, o.output):
		return fmt.Errorf("-o: unknown format %q%s", o.output, prose.OneOf(o.output, outputs[1:]))
	case o.filter.set() && !slices.Contains([]string{"", "story", "trace"}, o.output):
		return o.filter.checkOutput(o.output)
	case o.width != 0 && o.width < terminal.LeastWidth:
		return badWidth(o.width)
	case o.passing < 0:
		return fmt.Errorf("--for %s: the time must not be negative", o.passing)
	}
	if err := o.checkCluster(); err != nil {
		return err
	}
	return checkKeep(o.keep)
}

// checkOnce says which provisioner is given twice.
func checkOnce(provisioners []string) error {
	for i, name := range provisioners {
		if slices.Contains(provisioners[:i], name) {
			return fmt.Errorf("--provisioners: %q is given twice", name)
		}
	}
	return nil
}

// checkCluster checks the flags of addClusterFlags.
func (o *runOptions) checkCluster() error {
	if o.kustomize != "" {
		return fmt.Errorf("-k: kustomize is a program of its own; write kubectl kustomize %s | %s -f -", mount.Quote(o.kustomize), o.again[0]+" "+o.again[1])
	}
	if o.extra && len(o.csi) == 0 && len(o.commands) == 0 {
		return errors.New("--extra-create-metadata is for drivers of --csi-endpoint and --csi-command")
	}
	if msgs := validation.ValidateNamespaceName(o.manifests.Namespace, false); o.manifests.Namespace != "" && len(msgs) > 0 {
		return fmt.Errorf("--namespace: %q is not the name of a namespace: %s", o.manifests.Namespace, strings.Join(msgs, "; "))
	}
	for _, name := range o.provisioners {
		if !slices.Contains(bundled.Names(), name) {
			return fmt.Errorf("--provisioners: there is no %q%s", name, prose.OneOf(name, bundled.Names()))
		}
	}
	if err := checkOnce(o.provisioners); err != nil {
		return err
	}
	if _, err := nfsServers(o.nfs); err != nil {
		return err
	}
	if err := bundled.CheckNodes("--nodes", o.nodes, o.serves && len(o.csi)+len(o.commands) == 0); err != nil {
		return err
	}
	if _, err := bundled.ParseEntrypoints("--entrypoint", o.entrypoints); err != nil {
		return err
	}
	if _, err := bundled.ParseDiskSize("--disk-size", o.diskSize); err != nil {
		return err
	}
	if _, err := o.csiEndpoints(); err != nil {
		return err
	}
	if _, err := o.csiCommands(); err != nil {
		return err
	}
	if _, err := bundled.ParseStandIns("--csi", o.named); err != nil {
		return err
	}
	if msgs := validation.NameIsDNSSubdomain(o.defaultClass, false); o.defaultClass != "" && len(msgs) > 0 {
		return fmt.Errorf("--default-class: %q is not the name of a class: %s", o.defaultClass, strings.Join(msgs, "; "))
	}
	if o.realMounts && len(o.nfs) > 0 {
		return errors.New("--real-mounts: nodes make bind mounts only, so that there can be no --nfs")
	}
	_, err := bundled.ParseDisks("--disk", o.disks, o.nodes)
	return err
}

// checkKeep refuses a directory with something in it: what an earlier run left
// there would be the nodes' disks of this one.
func checkKeep(dir string) error { return checkNewOrEmpty("--keep", dir) }

// checkNewOrEmpty reports what is wrong with the directory that a flag names, "" if it is not given.
func checkNewOrEmpty(flag, dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", flag, manifest.Plainly(dir, err))
	case len(entries) > 0:
		return fmt.Errorf("%s %s: the directory is not empty, it has %q; name a new or an empty one", flag, dir, entries[0].Name())
	}
	return nil
}

// nfsServers returns the servers with their exports, in order.
func nfsServers(exports []string) ([]storagesim.NFSServer, error) {
	var servers []storagesim.NFSServer
	for _, export := range exports {
		name, path, ok := nfs.SplitSource(export)
		if !ok || !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("--nfs: %q is not SERVER:PATH, such as 192.168.203.110:/data/nfs or [fd00::1]:/data/nfs", export)
		}
		if err := nfs.CheckName(name); err != nil {
			return nil, fmt.Errorf("--nfs: %w", err)
		}
		i := slices.IndexFunc(servers, func(s storagesim.NFSServer) bool { return s.Name == name })
		if i < 0 {
			i, servers = len(servers), append(servers, storagesim.NFSServer{Name: name})
		}
		servers[i].Exports = append(servers[i].Exports, path)
	}
	return servers, nil
}

// run prints what happened to out, also after an error, unless ctx is done.
func (o *runOptions) run(ctx context.Context, in io.Reader, out, errOut io.Writer) (err error) {
	defer func() {
		if err != nil {
			tellPlayers(o.files, errOut)
		}
	}()
	objects, unknown := readAll(o.manifests, o.files, in, errOut)
	if len(objects) == 0 {
		return unknown
	}
	if o.wait > 0 {
		if err := canWait(objects); err != nil {
			return usageError{errors.Join(err, unknown)}
		}
	}
	c, end, err := o.cluster(ctx, storagesim.Config{Seed: o.seed, Dir: o.keep, TakePrograms: true, RecordValues: o.output == html || o.output == "trace"}, errOut)
	defer func() { err = end(err) }()
	if err != nil {
		return err
	}
	err = errors.Join(o.play(ctx, c, objects, errOut), unknown)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = errors.Join(err, o.print(out, c))
	if o.wait > 0 {
		// What was refused is a mistake in the manifests, and comes first.
		if late := tellBehind(errOut, c, o.wait, terminal.Width(errOut)); err == nil {
			return late
		}
	}
	return err
}

// cluster makes the cluster that the flags describe, and cfg completes, starts the drivers of
// --csi-command, and has ctx interrupt the cluster. end ends all that, also after an error: it returns err, or what
// could not be ended. That is told in any case, since an interrupted command, and one whose output is not read any
// more, say nothing else.
func (o *runOptions) cluster(ctx context.Context, cfg storagesim.Config, errOut io.Writer) (c *storagesim.Cluster, end func(err error) error, err error) {
	tellLeft(errOut)
	drivers, stop := &children{}, func() bool { return true }
	end = func(err error) error {
		stop()
		ends := []error{drivers.stop()}
		if c != nil {
			ends = append(ends, c.Close())
		}
		left := errors.Join(ends...)
		if left != nil {
			fmt.Fprintln(errOut, "error:", prose.Printable(left.Error()))
		}
		if err == nil && left != nil {
			return quietError{left}
		}
		return err
	}
	if c, err = o.newCluster(cfg); err != nil {
		return nil, end, err
	}
	stop = context.AfterFunc(ctx, c.Engine().Interrupt)
	drivers, o.started, err = o.startDrivers(ctx)
	return c, end, err
}

// tellLeft names the directories of earlier runs that were killed.
func tellLeft(errOut io.Writer) {
	for _, dir := range workdir.Left() {
		how := "to remove it: rm -r " + mount.Quote(dir)
		if mounted := mount.Check(dir); mounted != nil {
			how = mounted.Error()
		}
		fmt.Fprintf(errOut, "note: the directory %s of an earlier run is still there; %s\n", dir, prose.Printable(how))
	}
}

// newCluster makes the cluster.
func (o *runOptions) newCluster(cfg storagesim.Config) (*storagesim.Cluster, error) {
	servers, err := nfsServers(o.nfs)
	if err != nil {
		return nil, err
	}
	if cfg.Entrypoints, err = bundled.ParseEntrypoints("--entrypoint", o.entrypoints); err != nil {
		return nil, err
	}
	if cfg.DiskSize, err = bundled.ParseDiskSize("--disk-size", o.diskSize); err != nil {
		return nil, err
	}
	cfg.RealMounts = o.realMounts
	cfg.Nodes, cfg.NoNodes, cfg.NFSServers = storagesim.Nodes(o.nodes...), len(o.nodes) == 0, servers
	if cfg.Dir == "" && len(o.csi) == 0 && len(o.commands) == 0 && !o.realMounts { // a driver in another process cannot reach files in memory
		cfg.Disks = storagesim.MemoryDisks
	} else if cfg.DiskSize != 0 {
		return nil, errors.New("--disk-size: the disks are directories of this machine with --keep, --csi-endpoint, --csi-command and --real-mounts, and " +
			"have no size of their own")
	}
	c, err := storagesim.New(cfg)
	if o.realMounts && errors.Is(err, machine.ErrRealMounts) {
		return nil, o.unshared(err)
	}
	return c, err
}

// unshared completes the error of a process that cannot make real mounts with the command that can.
func (o *runOptions) unshared(err error) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("--real-mounts: %w", err)
	}
	unshare, args := "unshare --mount ", make([]string, len(o.again))
	if os.Geteuid() != 0 {
		unshare = "unshare --user --map-root-user --mount "
	}
	for i, arg := range o.again {
		args[i] = mount.Quote(arg)
	}
	line, and := strings.Join(args, " "), ""
	if len(o.csi) > 0 {
		line, and = "sh -c "+mount.Quote("DRIVER & "+line), ", where DRIVER is the command of the driver"
	}
	return fmt.Errorf("--real-mounts: %w. Start the simulator and the driver in a mount namespace of their own%s:\n  %s", err, and, unshare+line)
}

// readAll reads manifests and reports all their errors. If only kinds are unknown, the other objects come with the error.
func readAll(r manifest.Reader, files []string, in io.Reader, errOut io.Writer) ([]manifest.Object, error) {
	r.Kinds = crd.NewRegistry()
	objects, err := read(r, files, in)
	if errs := (manifest.Errors)(nil); errors.As(err, &errs) {
		fmt.Fprintln(errOut, errs)
		return objects, quietError{err}
	}
	return objects, err
}

// tellPlayers names the command that plays a folder of an example: its program applies the manifests one after the other, with what they need
// around them.
func tellPlayers(files []string, errOut io.Writer) {
	for _, dir := range files {
		programs, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is right: at worst there is no file
		if len(programs) == 0 {
			continue
		}
		command := "go test ."
		if slices.Contains(programs, filepath.Join(dir, "main.go")) {
			command = "go run ."
		}
		fmt.Fprintf(errOut, "note: a Go program in %s plays its manifests: cd %s && %s\n", dir, dir, command)
	}
}

// play applies the objects to a cluster whose nodes are ready.
func (o *runOptions) play(ctx context.Context, c *storagesim.Cluster, objects []manifest.Object, errOut io.Writer) error {
	if err := o.prepare(ctx, c, objects); err != nil {
		return err
	}
	if err := c.Settle(); err != nil {
		return err
	}
	tellGaps(errOut, objects)
	refused := applyAll(c, objects, errOut)
	if err := c.Settle(); err != nil {
		return errors.Join(err, refused)
	}
	if o.wait > 0 {
		if err := wait(c, o.wait); err != nil {
			return errors.Join(err, refused)
		}
	}
	return errors.Join(c.RunFor(o.passing), refused)
}

// read parses the manifests of all files as one set.
func read(r manifest.Reader, files []string, in io.Reader) ([]manifest.Object, error) {
	if len(files) == 1 && files[0] == "/dev/stdin" {
		files = []string{"-"}
	}
	if !slices.Contains(files, "-") {
		return r.Files(files...)
	}
	if len(files) > 1 {
		return nil, errors.New("-f - cannot be combined with other files")
	}
	data, err := manifest.ReadAll("standard input", in)
	if err != nil {
		return nil, err
	}
	return r.Set(manifest.Source{Name: "standard input", Data: data})
}

// applyAll applies the objects, in order, and tells of those that are refused. One that occurs twice is applied twice, as kubectl does it. What tellGaps
// has told is not told again.
func applyAll(c *storagesim.Cluster, objects []manifest.Object, errOut io.Writer) error {
	c.Lab().OnWarning(warner(errOut, registry.UnaskedMessage))
	defer c.Lab().OnWarning(nil)
	var refused error
	first := map[string]manifest.Object{}
	for _, obj := range objects {
		key := strings.Join([]string{obj.Resource.Group, obj.Ref(), obj.Meta().GetNamespace()}, " ")
		if at, twice := first[key]; !twice {
			first[key] = obj
		} else if obj.Meta().GetName() != "" {
			fmt.Fprintf(errOut, "note: %s:%d: %s is at %s:%d, too: both are applied in this order, as kubectl does it\n",
				obj.File, obj.Line, obj.Ref(), at.File, at.Line)
		}
		err := c.Apply(string(obj.JSON))
		if err == nil {
			continue
		}
		fmt.Fprintln(errOut, obj.Refused(err))
		refused = quietError{errors.New("some objects were refused")}
	}
	return refused
}

// unlessTold keeps what keep does, which may be nil, without the refusals that applyAll has told: run's user only applies.
func unlessTold(keep func(trace.Entry) bool) func(trace.Entry) bool {
	return func(e trace.Entry) bool {
		w, ok := e.Record.(trace.Write)
		return !(ok && w.Err != nil && e.Actor == storagesim.User) && (keep == nil || keep(e))
	}
}

// warner prints what the server warns of, each text once, as kubectl does. before was told already.
// Upstream: client-go rest/warnings.go warningWriter.HandleWarningHeader, v0.37.2.
func warner(errOut io.Writer, before string) func(text string) {
	told := map[string]bool{before: true}
	return func(text string) {
		if !told[text] {
			told[text] = true
			fmt.Fprintln(errOut, "Warning:", text)
		}
	}
}

func (o *runOptions) print(out io.Writer, c *storagesim.Cluster) error {
	keep, err := o.filter.keep(c)
	if err != nil {
		return err
	}
	if o.output == "" || o.output == "story" {
		how := trace.Telling{Width: o.width, Shorten: c.Trace().ShortIDs, Keep: unlessTold(keep), Fold: trace.FoldNoise}
		if o.verbose {
			how.Details, how.Fold = true, trace.FoldUpkeep
		}
		story := c.Trace().Tell(how)
		if _, err := io.WriteString(out, story); err != nil {
			return err
		}
	}
	if o.output == "" {
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	switch o.output {
	case "", "table":
		view := tables.View{Kinds: c.Engine().Server().Registry(), Objects: c.Engine().Server().Objects(true), Now: c.Now(), Shorten: c.Trace().ShortIDs,
			Width: o.tableWidth}
		err := listAll(out, view)
		if err != nil || o.output == "table" {
			return err
		}
		return why(out, c, o.width)
	case "trace":
		entries := c.Trace().Records()
		if keep != nil {
			entries = slices.DeleteFunc(slices.Clone(entries), func(e trace.Entry) bool { return !keep(e) })
		}
		records, err := trace.JSON(entries)
		if err == nil {
			_, err = io.WriteString(out, records)
		}
		return err
	case html, mermaidDiagram, svgPicture, perfettoTrace:
		return viewCluster(out, c, o.output, view.Options{Title: "run " + quoted(dashF(o.files)), Repeat: o.repeat()})
	case "yaml", "json":
		return tables.Print(out, o.output, c.Engine().Server().Objects(true))
	}
	return nil
}

// listed names the resources in the tables, and snapshotsListed those added if there are
// snapshots.
const (
	listed          = "sc,pv,pvc,sts,deploy,ds,jobs,pods,va"
	snapshotsListed = ",volumesnapshots,volumesnapshotcontents"
)

// listAll prints the tables, or what they would show if there is no such object.
func listAll(out io.Writer, view tables.View) error {
	names := listed
	if _, err := view.Kinds.Find("volumesnapshots"); err == nil {
		names += snapshotsListed
	}
	for _, obj := range view.Objects {
		switch obj.(type) {
		case *storagev1.StorageClass, *v1.PersistentVolume, *v1.PersistentVolumeClaim, *appsv1.StatefulSet, *appsv1.Deployment, *appsv1.DaemonSet, *batchv1.Job,
			*v1.Pod, *storagev1.VolumeAttachment:
			return view.Get(out, tables.Options{AllNamespaces: true}, names)
		}
	}
	text := "The tables show StorageClasses, PersistentVolumes, PersistentVolumeClaims, StatefulSets, Deployments, DaemonSets, Jobs, " +
		"Pods and VolumeAttachments; there are none."
	_, err := fmt.Fprintln(out, prose.Wrap(text, view.Width, 2))
	return err
}
