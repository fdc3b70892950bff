package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/story/bundled"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// exploreOptions are the flags of explore.
type exploreOptions struct {
	runOptions
	runs, first int
	budget      time.Duration
	shard       string
	strategies  []string
	except      []string
	expect      []string
	replay      string
	format      string
	script      string
	accept      string
	accepted    []string
	stay        bool
	upstream    bool
	only        *seen // of what the story of a failure tells
}

func newExplore() *cobra.Command {
	var o exploreOptions
	cmd := &cobra.Command{
		Use:   "explore -f FILE...",
		Short: "Look for the order of events, or the fault, that breaks a scenario",
		Long: `explore plays manifests many times: they are applied, the cluster comes to rest, then
their pods, StatefulSets and claims are deleted, and it comes to rest again. Each run
has other faults, or another order of events. The strategies take turns:

  crashes  each process crashes before and after each of its calls
  faults   each call is refused, meets a conflict, loses its answer, or hangs
  pairs    two of these
  outages  one call of one object fails up to five times in a row
  stale    a process sees an old state for a while, and may crash meanwhile
  delays   in order, except one to three choices by chance
  random   any order that is possible
  pct      workers and caches have priorities by chance
  storm    a random order with up to three faults

In each run these rules must hold: a volume has one owner and a claim one volume; no two
claims are given one disk; a volume for one node is attached to one; what is in use does
not go; volumes are attached, staged and published in that order; nothing is left behind;
and what runs in the plain run runs, too: before the objects are deleted and in the end.
What is late has 20 minutes without faults. The plain run itself must work: what is not bound or
does not run there, and does not wait by design, is a failure unless --expect names it.

A program that an image may have and the simulation does not is taken to run, as run
says in its help.

The first run that breaks a rule is made as small as it can be: with fewer faults, and
with fewer objects applied and deleted. Its story is printed, with a line that repeats
it. Without one, explore says how many runs there were and how much they saw.

What comes from a known bug of Kubernetes itself is no failure: the last line counts
such runs, and --upstream makes the first of them one.

A replay line addresses a fault by the actor, the verb, the resource and the number of
the call: 2:kube-scheduler:create:pods/binding:crash. A line that addresses what the run
does not do is refused, with the nearest address there is. Choices are positions: they
fit only the manifests and the version of storagesim with which they were found.

Exit codes: 0 nothing was found; 1 a rule was broken, or something is wrong with the
manifests; 2 the command line is wrong; 4 with --upstream or --replay, the run fails by
a bug of Kubernetes itself; 5 the replay line does not fit the manifests; 6 what is
played does not do the same twice; 130 interrupted.`,
		Example: `  # A thousand runs on all processors.
  storagesim explore -f manifests/

  # As many as ten minutes allow.
  storagesim explore -f manifests/ --runs 1000000 --time 10m

  # The third of sixteen machines.
  storagesim explore -f manifests/ --runs 1000000 --shard 3/16

  # Repeat what was found.
  storagesim explore -f manifests/ --replay 'x1;faults=1:kubelet/node-1:update:pods/status:crash-after'

  # Tell what was found as a script, and play it.
  storagesim explore -f manifests/ --script found.txt; storagesim story found.txt`,
		Args: manifestsByFlag,
		Annotations: map[string]string{
			absentFlag + "seed": "explore has no --seed: the number of a run is its seed, --from RUN begins with another, and --replay LINE repeats one",
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.provisionersSet = cmd.Flags().Changed("provisioners")
			cfg, err := o.config()
			if err != nil {
				return usageError{err}
			}
			if err := checkView(o.format, cmd.OutOrStdout()); err != nil {
				return usageError{err}
			}
			return o.explore(cmd.Context(), cfg, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	addClusterFlags(flags, &o.runOptions)
	flags.IntVar(&o.runs, "runs", explore.DefaultRuns, "how many runs there are")
	flags.IntVar(&o.first, "from", 1, "number of the `RUN` to go on with, after one that ended early")
	flags.DurationVar(&o.budget, "time", 0, "real `TIME` after which no run is begun, for example 10m")
	flags.StringVar(&o.shard, "shard", "", "`PART/PARTS` of the runs to play, for example 3/16")
	flags.StringSliceVar(&o.strategies, "strategies", nil, "strategies that take turns (default all)")
	flags.StringSliceVar(&o.except, "except", nil, "rules that need not hold: "+strings.Join(explore.BuiltInRules(), ", "))
	flags.StringSliceVar(&o.expect, "expect", nil, "`OBJECT=STATE` of what does not work in the plain run and is meant so, for example pvc/spare=Pending")
	flags.StringVar(&o.replay, "replay", "", "repeat the run of this `LINE` alone")
	flags.StringVarP(&o.format, "output", "o", "", "`FORMAT` of the output: text (the default), json, or with --replay "+strings.Join(viewFormats(), ", "))
	flags.StringVar(&o.accept, "accept", "", "`FILE` with the keys of failures that are known, a line each; such a failure exits with 0")
	flags.StringVar(&o.script, "script", "", "write what was found as a script of storagesim story to `FILE`")
	flags.BoolVar(&o.upstream, "upstream", false, "fail by the bugs of Kubernetes itself, too")
	o.filter.add(flags)
	flags.BoolVar(&o.stay, "keep-objects", false, "delete nothing at the end of a run")
	return cmd
}

// exploreFormats returns the output formats.
func exploreFormats() []string { return append([]string{"text", "json"}, viewFormats()...) }

// views reports whether the output is a view of a run.
func (o *exploreOptions) views() bool { return slices.Contains(viewFormats(), o.format) }

// config checks the flags and says what to explore.
func (o *exploreOptions) config() (explore.Config, error) {
	cfg := explore.Config{Runs: o.runs, First: o.first, Budget: o.budget, Strategies: o.strategies, Except: o.except}
	if o.upstream {
		cfg.Upstream = explore.Fail
	}
	only, err := o.filter.seen()
	if err != nil {
		return cfg, err
	}
	o.only = only
	switch {
	case len(o.files) == 0:
		return cfg, errors.New("nothing to apply: give manifests with -f")
	case len(o.csi) > 0, len(o.commands) > 0:
		return cfg, errors.New("--csi-endpoint: a driver in another process does not repeat itself; explore it in Go, with explore.Test and csi.Driver")
	case o.realMounts:
		return cfg, errors.New("--real-mounts: explored runs keep their files in memory, which the kernel cannot mount")
	case o.filter.set() && o.format == "json":
		return cfg, errors.New("-o json has the whole story of a failure; leave --about and --actor out")
	case o.views() && o.replay == "":
		return cfg, fmt.Errorf("-o %s: it shows one run; name its line with --replay", o.format)
	case o.views() && o.filter.set():
		return cfg, o.filter.checkOutput(o.format)
	case o.format != "" && !slices.Contains(exploreFormats(), o.format):
		return cfg, fmt.Errorf("-o: unknown format %q%s", o.format, prose.OneOf(o.format, exploreFormats()))
	case o.runs < 1 || o.first < 1:
		return cfg, fmt.Errorf("--runs %d, --from %d: both must be 1 or more", o.runs, o.first)
	case o.first > o.runs:
		return cfg, fmt.Errorf("--from %d: it is after the last run, %d; --runs counts the runs before --from, too", o.first, o.runs)
	case o.budget < 0:
		return cfg, fmt.Errorf("--time %s: the time must not be negative", o.budget)
	}
	for _, text := range o.expect {
		object, state, _ := strings.Cut(text, "=")
		cfg.Expect = append(cfg.Expect, explore.Expect(object, state))
	}
	if o.shard != "" {
		part, parts, _ := strings.Cut(o.shard, "/")
		var err, err2 error
		cfg.Shard, err = strconv.Atoi(part)
		cfg.Shards, err2 = strconv.Atoi(parts)
		if err != nil || err2 != nil || cfg.Shard < 1 || cfg.Shard > cfg.Shards {
			return cfg, fmt.Errorf("--shard: %q is not PART/PARTS, such as 3/16", o.shard)
		}
	}
	if o.script != "" {
		if dir, err := os.Stat(filepath.Dir(o.script)); err != nil || !dir.IsDir() {
			return cfg, fmt.Errorf("--script %s: there is no directory %s", o.script, filepath.Dir(o.script))
		}
	}
	for _, s := range o.strategies {
		if !slices.Contains(explore.Strategies(), s) {
			return cfg, fmt.Errorf("--strategies: there is no %q; there are %s", s, strings.Join(explore.Strategies(), ", "))
		}
	}
	for _, r := range o.except {
		if !slices.Contains(explore.BuiltInRules(), r) {
			return cfg, fmt.Errorf("--except: there is no rule %q; there are %q", r, explore.BuiltInRules())
		}
	}
	if o.replay != "" {
		if _, err := explore.Parse(o.replay); err != nil {
			return cfg, err
		}
	}
	if err := o.readAccepted(); err != nil {
		return cfg, err
	}
	servers, err := nfsServers(o.nfs)
	cfg.Cluster = storagesim.Config{Nodes: storagesim.Nodes(o.nodes...), NFSServers: servers, TakePrograms: true, RecordValues: o.views()}
	if err = errors.Join(err, o.checkCluster()); err == nil {
		cfg.Cluster.Entrypoints, err = bundled.ParseEntrypoints("--entrypoint", o.entrypoints)
	}
	if err == nil {
		cfg.Cluster.DiskSize, err = bundled.ParseDiskSize("--disk-size", o.diskSize)
	}
	return cfg, err
}

// explore explores and prints what was found.
func (o *exploreOptions) explore(ctx context.Context, cfg explore.Config, in io.Reader, out, errOut io.Writer) error {
	objects, err := readAll(o.manifests, o.files, in, errOut)
	if err != nil {
		return err
	}
	tellGaps(errOut, objects)
	whole := context.WithoutCancel(ctx) // a run that was begun is played to its end
	scenario := func(c *storagesim.Cluster) error { return o.scenario(whole, c, objects) }
	if o.replay != "" {
		report, err := explore.Repeat(cfg, o.replay, scenario)
		if f, failed := errors.AsType[*explore.Failure](err); o.views() && failed {
			log, told := f.Log()
			repeat := "storagesim explore " + quoted(dashF(o.files)) + " --replay " + mount.Quote(o.replay)
			return writeView(out, pageOfLog(log, told, view.Options{Title: "A failure: " + f.Reason().String(), Intro: f.Err.Error(), Repeat: repeat}), o.format)
		} else if o.views() {
			return errors.Join(withCode(err), fmt.Errorf("-o %s: the run does not fail, so that there is nothing to show", o.format))
		}
		o.writeScript(errOut, objects, err)
		return o.report(out, report, err)
	}
	stop := showProgress(errOut, &cfg)
	report, err := explore.Run(ctx, cfg, scenario)
	stop()
	if errors.Is(err, context.Canceled) && report.Runs > 0 {
		fmt.Fprintf(errOut, "note: nothing was found in %d runs: %s; go on with --from %d\n", report.Runs, report.Coverage, cfg.First+report.Runs*max(1, cfg.Shards))
	}
	o.writeScript(errOut, objects, err)
	return o.report(out, report, err)
}

// scenario plays one run: it applies the manifests, and deletes their objects.
func (o *exploreOptions) scenario(ctx context.Context, c *storagesim.Cluster, objects []manifest.Object) error {
	if err := errors.Join(o.prepare(ctx, c, objects), c.Settle()); err != nil {
		return err
	}
	for _, obj := range objects {
		if err := c.Apply(string(obj.JSON)); err != nil {
			return obj.Refused(err)
		}
	}
	if err := c.Settle(); err != nil || o.stay {
		return err
	}
	gone, err := deleted(ctx, c, objects)
	if err != nil || len(gone) == 0 {
		return err
	}
	return errors.Join(c.Delete(gone...), c.Settle())
}

// deleted returns the objects that a run deletes at its end, in this order: StatefulSets, pods,
// and claims, including those of StatefulSets.
func deleted(ctx context.Context, c *storagesim.Cluster, objects []manifest.Object) (gone []string, err error) {
	for _, kind := range []string{"StatefulSet", "Pod", "PersistentVolumeClaim"} {
		for _, obj := range objects {
			if obj.Resource.Kind == kind {
				gone = append(gone, pathOf(obj))
			}
		}
	}
	claims, err := c.Client().CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, claim := range claims.Items {
		ref := trace.RefOf("PersistentVolumeClaim", &claim).Path()
		if len(claim.OwnerReferences) == 0 && !slices.Contains(gone, ref) {
			gone = append(gone, ref)
		}
	}
	return gone, nil
}

// foundVersion is the version of the output in JSON. It grows when a field changes its meaning or goes; new fields may
// come without that.
const foundVersion = 1

// found is the output in JSON, which docs/47-a-long-exploration.md describes.
type found struct {
	Version  int              `json:"version"`
	Runs     int              `json:"runs"`
	Coverage explore.Coverage `json:"coverage"`
	Failure  *foundFailure    `json:"failure,omitempty"`
	// Upstream lists the bugs of Kubernetes itself that made runs fail.
	Upstream []foundUpstream `json:"upstream,omitempty"`
	// Deviations lists the situations in which runs did otherwise than upstream.
	Deviations []string `json:"deviations,omitempty"`
}

type foundUpstream struct {
	Issue  string `json:"issue,omitempty"`
	Text   string `json:"text"`
	Runs   int    `json:"runs"`
	Replay string `json:"replay"`
}

type foundFailure struct {
	Run      int    `json:"run"`
	Strategy string `json:"strategy,omitempty"`
	Rule     string `json:"rule,omitempty"`
	// Reason stays the same when the failure is made smaller; Key is its text, a line for --accept.
	Reason explore.Reason `json:"reason"`
	Key    string         `json:"key"`
	Error  string         `json:"error"`
	// Acts lists the acts of the user that the failure needs.
	Acts   []string `json:"acts"`
	Replay string   `json:"replay"`
	Story  string   `json:"story"`
	// Upstream is the bug of Kubernetes itself by which the run fails.
	Upstream string `json:"upstream,omitempty"`
	// Accepted is set if --accept has the failure: the exit code is 0.
	Accepted bool `json:"accepted,omitempty"`
}

// report prints what an exploration found. A failure is told on out.
func (o *exploreOptions) report(out io.Writer, report explore.Report, err error) error {
	f, failed := errors.AsType[*explore.Failure](err)
	if err != nil && !failed {
		return withCode(err)
	}
	if o.format == "json" {
		answer := found{Version: foundVersion, Runs: report.Runs, Coverage: report.Coverage}
		if failed {
			answer.Failure = &foundFailure{
				Run: f.Run, Strategy: f.Strategy, Rule: f.Rule(), Reason: f.Reason(), Key: f.Reason().String(), Error: f.Err.Error(),
				Acts: f.Acts, Replay: f.Plan.String(), Story: f.Story, Accepted: o.accepts(f),
			}
			if f.Upstream != nil {
				answer.Failure.Upstream = f.Upstream.String()
			}
		}
		for _, d := range report.Deviations {
			answer.Deviations = append(answer.Deviations, d.String())
		}
		for _, u := range report.Upstream {
			answer.Upstream = append(answer.Upstream, foundUpstream{u.Bug.Issue, u.Bug.Text, u.Runs, u.First.Plan.String()})
		}
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if werr := encoder.Encode(answer); werr != nil {
			return werr
		}
	} else if werr := printFound(out, report, f, o.replay != "", failed && o.accepts(f), o.only); werr != nil {
		return werr
	}
	switch {
	case !failed || o.accepts(f):
		return nil
	case f.Upstream != nil:
		return codedError{quietError{err}, exitUpstream}
	}
	return quietError{err}
}

// accepts reports whether the file of --accept has a failure.
func (o *exploreOptions) accepts(f *explore.Failure) bool {
	return slices.Contains(o.accepted, f.Reason().String())
}

// readAccepted reads the file of --accept: a line for each failure that is known, and # for comments.
func (o *exploreOptions) readAccepted() error {
	if o.accept == "" {
		return nil
	}
	data, err := manifest.ReadFile(o.accept)
	if err == nil {
		err = manifest.CheckText(o.accept, data)
	}
	if err != nil {
		return fmt.Errorf("--accept: %w", err)
	}
	number := 0
	for line := range strings.Lines(plainLines(string(data))) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if old := oldName.FindStringSubmatch(line); old != nil {
			return fmt.Errorf("%s:%d: --accept: %q names an object as older versions did; the key of such a failure has the form pvc/default/data now",
				o.accept, number, old[1]+old[2])
		}
		o.accepted = append(o.accepted, line)
	}
	return nil
}

// oldName matches the object of a key in one of the forms that keys had before all objects were named kind/namespace/name: "pvc default/data",
// "persistentvolumeclaims/default/data", and that of a leak "default/data".
var oldName = regexp.MustCompile(
	`: ((?:pvc|pv) \S+|(?:pods|persistentvolumes|persistentvolumeclaims|storageclasses|volumeattachments|` +
		`statefulsets|deployments|daemonsets|replicasets|jobs)/\S+)$` +
		`|^nothing leaks: .* of ([^/\s]+/[^/\s]+)$`)

// withCode gives an error of an exploration its exit code.
func withCode(err error) error {
	if _, ok := errors.AsType[*explore.NotReached](err); ok {
		return codedError{err, exitNotReached}
	}
	if _, ok := errors.AsType[*explore.NotRepeatable](err); ok {
		return codedError{err, exitNotRepeated}
	}
	return err
}

func printFound(out io.Writer, report explore.Report, f *explore.Failure, replayed, accepted bool, only *seen) error {
	var err error
	width := terminal.Width(out)
	say := func(format string, args ...any) {
		if err == nil {
			_, err = io.WriteString(out, prose.Wrap(fmt.Sprintf(format, args...), terminal.TableWidth(out), 2)) // a line for programs stays one
		}
	}
	switch {
	case accepted:
		say("Run %d fails, and that is accepted: %s\n", f.Run, f.Reason())
	case f != nil: // the key is there to be copied
		_, err = fmt.Fprintf(out, "%s\nkey %s\n", strings.TrimRight(f.TextOf(width, only.chosen()), "\n"), f.Reason())
		err = errors.Join(err, only.check())
		if !replayed {
			say("A page of it: the same command with --replay '%s' -o html > page.html\n", f.Plan)
		}
	case replayed:
		say("Nothing was found in this run.\n")
	default:
		say("Nothing was found in %d runs: %s.\n", report.Runs, report.Coverage)
	}
	for _, u := range report.Upstream {
		say("%s: %s. It made %d runs fail; to see the first: --upstream --replay '%s'%s\n", u.Bug, u.Bug.Text, u.Runs, u.First.Plan, u.GoesOn())
	}
	for _, d := range report.Deviations {
		say("A run %s.\n", d)
	}
	return err
}
