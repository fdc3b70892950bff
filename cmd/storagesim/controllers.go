package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/live/remote"
	"github.com/storagesim/storagesim/trace"
)

// controllerName is a controller that control can run: what it is called on its command line,
// its actor, and the name by which kube-controller-manager --controllers knows it, if that
// runs it.
type controllerName struct{ short, actor, upstream string }

var controllerNames = []controllerName{
	{"pv-binder", storagesim.PVController, "persistentvolume-binder-controller"},
	{"pvc-protection", storagesim.PVCProtection, "persistentvolumeclaim-protection-controller"},
	{"pv-protection", storagesim.PVProtection, "persistentvolume-protection-controller"},
	{"ephemeral-volume", storagesim.EphemeralVolumes, "ephemeral-volume-controller"},
	{"expand", storagesim.VolumeExpansion, "persistentvolume-expander-controller"},
	{"statefulset", storagesim.StatefulSets, "statefulset-controller"},
	{"garbage-collector", storagesim.GarbageCollection, "garbage-collector-controller"},
	{"attach-detach", storagesim.AttachDetach, "persistentvolume-attach-detach-controller"},
	{"scheduler", storagesim.Scheduler, ""},
	{"node-lifecycle", storagesim.NodeLifecycle, "node-lifecycle-controller"},
	{"taint-eviction", storagesim.TaintEviction, "taint-eviction-controller"},
	{"pod-gc", storagesim.PodGC, "pod-garbage-collector-controller"},
	{"namespace", storagesim.NamespaceDeletion, "namespace-controller"},
	{"vac-protection", storagesim.VACProtection, "volumeattributesclass-protection-controller"},
	{"resource-quota", storagesim.ResourceQuotas, "resourcequota-controller"},
	{"disruption", storagesim.Disruption, "disruption-controller"},
	{"deployment", storagesim.Deployments, "deployment-controller"},
	{"replicaset", storagesim.ReplicaSets, "replicaset-controller"},
	{"replicationcontroller", storagesim.ReplicationControllers, "replicationcontroller-controller"},
	{"daemonset", storagesim.DaemonSets, "daemonset-controller"},
	{"job", storagesim.Jobs, "job-controller"},
	{"ttl-after-finished", storagesim.TTLAfterFinished, "ttl-after-finished-controller"},
	{"cronjob", storagesim.CronJobs, "cronjob-controller"},
	{"snapshot-controller", storagesim.SnapshotController, ""},
}

// controlOptions are the flags of control.
type controlOptions struct {
	kubeconfig, context string
	only                []string
	provisioners, csi   []string
	lease               string
	noLease             bool
	qps                 float32
	burst               int
	scheduler           string
	verbose             bool
}

func newControl() *cobra.Command {
	var o controlOptions
	cmd := &cobra.Command{
		Use:   "control --kubeconfig FILE [--only NAMES] [--provisioners NAMES] [--csi-endpoint ADDRESS]",
		Short: "Run controllers against a real API server, until Ctrl-C",
		Long: `control runs the controllers of the simulation, the same code, against the API server
that a kubeconfig names: that of a real cluster, or one that storagesim serve offers.
It prints what they do, a line each, until Ctrl-C.

--only says which. They must not run on that cluster already: two PV controllers would
undo each other's work. A kube-controller-manager leaves its own out with
--controllers='*,-NAME'.

` + controllerTable() + `
--provisioners runs provisioners of this library there, and --csi-endpoint the sidecars of a
CSI driver whose controller listens at that address: csi-provisioner, csi-attacher,
csi-resizer and, where the CustomResourceDefinitions of snapshots are, csi-snapshotter. The
driver's node servers are the cluster's own to run, and so is its CSIDriver object.

One control at a time does the work: the others wait for its lease.`,
		Example: `  # A cluster without controllers, and one for it.
  storagesim serve --only none --kubeconfig kubeconfig &
  storagesim control --kubeconfig kubeconfig --only pv-binder,scheduler

  # A provisioner and a driver's sidecars for a cluster that has the controllers.
  storagesim control --kubeconfig kubeconfig --provisioners local-path --csi-endpoint unix:///tmp/csi.sock`,
		Args: noArgs("control"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			actors, err := o.actors()
			if err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), actors, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` that names the API server (default: $KUBECONFIG, as for kubectl)")
	flags.StringVar(&o.context, "context", "", "`NAME` of the kubeconfig's context to use (default: its current one)")
	flags.StringSliceVar(&o.only, "only", nil, "`NAMES` of the controllers to run, separated by commas")
	flags.StringSliceVar(&o.provisioners, "provisioners", nil, "`NAMES` of provisioners to run: local-path, nfs, openebs")
	flags.StringArrayVar(&o.csi, "csi-endpoint", nil, csiHelp)
	flags.StringVar(&o.lease, "lease", "kube-system/storagesim-control", "`NAMESPACE/NAME` of the lease")
	flags.BoolVar(&o.noLease, "no-lease", false, "do without the lease: make sure yourself that no other control runs")
	flags.Float32Var(&o.qps, "qps", 50, "`NUMBER` of requests a second that each controller makes at most; negative for any")
	flags.IntVar(&o.burst, "burst", 100, "`NUMBER` of requests that may come at once")
	flags.StringVar(&o.scheduler, "scheduler-name", "",
		"`NAME` that pods give in spec.schedulerName to be scheduled by this scheduler (default: default-scheduler)")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print details, too")
	return cmd
}

// controllerTable lists the controllers for the help.
func controllerTable() string {
	var b strings.Builder
	for _, n := range controllerNames {
		fmt.Fprintf(&b, "  %-19s %s\n", n.short, n.upstream)
	}
	return b.String()
}

// actors checks the flags, and returns the controllers to run.
func (o *controlOptions) actors() ([]string, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	if namespace, name, ok := strings.Cut(o.lease, "/"); !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("--lease: %q is not NAMESPACE/NAME", o.lease)
	}
	if math.IsNaN(float64(o.qps)) || o.qps == 0 {
		return nil, fmt.Errorf("--qps: %v: it must be above 0, or negative for no limit", o.qps)
	}
	if o.burst < 1 {
		return nil, fmt.Errorf("--burst: %d: it must be 1 or more", o.burst)
	}
	return names, o.checkMore()
}

// controllersNamed returns the actors of controllers as --only names them.
func controllersNamed(names []string) (actors []string, _ error) {
	for _, name := range names {
		at := slices.IndexFunc(controllerNames, func(n controllerName) bool {
			return name != "" && slices.Contains([]string{n.short, n.actor, n.upstream}, name)
		})
		if at < 0 {
			return nil, fmt.Errorf("--only: there is no controller %q%s", name, prose.OneOf(name, shortNames()))
		}
		if !slices.Contains(actors, controllerNames[at].actor) {
			actors = append(actors, controllerNames[at].actor)
		}
	}
	return actors, nil
}

func shortNames() (names []string) {
	for _, n := range controllerNames {
		names = append(names, n.short)
	}
	return names
}

// run runs the controllers until ctx ends.
func (o *controlOptions) run(ctx context.Context, names []string, out, errOut io.Writer) error {
	cfg, err := o.restConfig()
	if err != nil {
		return err
	}
	actors, stop, err := o.build(ctx, cfg, names)
	defer stop()
	if err != nil {
		return err
	}
	namespace, lease, _ := strings.Cut(o.lease, "/")
	fmt.Fprintf(errOut, "running %s against %s; Ctrl-C ends it\n", strings.Join(actorsOf(actors), ", "), cfg.Host)
	err = remote.Run(ctx, remote.Config{
		REST: cfg, Actors: actors, LeaseNamespace: namespace, Lease: lease, NoLease: o.noLease, QPS: o.qps, Burst: o.burst,
		Warn: func(err error) { fmt.Fprintln(errOut, "warning:", err) },
		Tell: func(e trace.Entry) { o.print(out, e) },
	})
	return endedBy(ctx, err)
}

// print prints one record as a line.
func (o *controlOptions) print(out io.Writer, e trace.Entry) {
	event, ok := e.Record.(trace.Event)
	if ok && event.Repeated || trace.IsDetail(e.Record.Topic()) && !o.verbose {
		return
	}
	fmt.Fprintf(out, "%s  %s  %s\n", e.Time.Local().Format(time.TimeOnly), e.Actor, strings.ReplaceAll(e.Record.String(), "\n", "; "))
}

// restConfig reads the kubeconfig.
func (o *controlOptions) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--kubeconfig: there is no file %q", o.kubeconfig)
	case clientcmd.IsContextNotFound(err) && o.context != "":
		return nil, fmt.Errorf("--context: the kubeconfig has no context %q", o.context)
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no kubeconfig names an API server: use --kubeconfig FILE, or set KUBECONFIG")
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return cfg, nil
}
