package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/live/serve"
	"github.com/storagesim/storagesim/machine/workdir"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/story/bundled"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	runOptions
	speed      string
	listen     string
	remote     bool
	kubeconfig string
	force      bool
	only       []string
	page       bool
	looks      bool // the page only looks
	hooks      webhookOptions
}

func newServe() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer a cluster to kubectl and other clients, until Ctrl-C",
		Long: `serve makes a cluster, applies manifests to it if there are any, and offers the
Kubernetes API over HTTPS: kubectl and programs in any language work with it as with
a real cluster. It writes a kubeconfig, which is removed at the end:

  export KUBECONFIG=...    # serve prints this line
  kubectl get nodes

Virtual time goes as fast as that of the machine, n times faster (--speed 60x), or
only when it is told to (--speed step): storagesim step, settle and run-for do that,
at any speed. kubectl get --raw /storagesim/story tells what has happened.

Admission webhooks of programs outside are asked over HTTPS: those of the Services of
--webhook-service, and with --webhook-urls those that have a URL.

Only who has the token in the kubeconfig gets in; who has it may do everything that
the API can do, and reaches nothing but the simulation, unless --webhook-urls is given.
The server listens on this machine alone: with --remote, --listen can name an address
that others can reach. They need the token too, but the server does not limit how often
they guess.

Ctrl-C ends it, and leaves nothing but the nodes' directories of --keep, and the
directory in which a CSI driver of --csi-endpoint or --csi-command still has something
mounted: an error names each mount and the command that ends it.`,
		Example: `  # Two nodes, sixty times faster than real time.
  storagesim serve --nodes n1,n2 --speed 60x --kubeconfig kubeconfig

  # Nothing happens until it is told to.
  storagesim serve --speed step --kubeconfig kubeconfig &
  export KUBECONFIG=kubeconfig
  kubectl apply -f claim.yaml
  storagesim step
  storagesim run-for 10m`,
		Args: manifestsByFlag,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.parsed(cmd)
			if o.page && !cmd.Flags().Changed("speed") {
				o.speed = "step" // the page has buttons for it
			}
			speed, err := o.check()
			if err != nil {
				return usageError{err}
			}
			return o.serve(cmd.Context(), speed, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	addClusterFlags(flags, &o.runOptions)
	o.serves = true
	flags.StringVar(&o.speed, "speed", "1x", "`SPEED` of virtual time: 1x is that of the machine, 60x is a minute in a second, step is only when told")
	flags.StringVar(&o.keep, "keep", "", keepHelp)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` to write the kubeconfig to (default: a new one below the directory for temporary files)")
	flags.BoolVar(&o.force, "force", false, "replace a kubeconfig that is there already; it is gone afterwards")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`ADDRESS:PORT` to listen on; port 0 is any that is free")
	flags.StringSliceVar(&o.only, "only", nil,
		"`NAMES` of the control plane's controllers to run here, separated by commas, or none; see storagesim control (default: all)")
	flags.BoolVar(&o.page, "page", false,
		"offer a page for a browser, too, on a port of its own: it shows what happens, and steps, crashes and breaks; --speed is step unless it is given")
	flags.BoolVar(&o.looks, "page-view", false, "offer a page that only looks: it shows what happens, and its server plays no command")
	flags.StringArrayVar(&o.hooks.services, "webhook-service", nil,
		"`NAMESPACE/NAME=ADDRESS:PORT` of the program that listens for the Service of admission webhooks, such as shop/webhook=127.0.0.1:9443; may be repeated")
	flags.BoolVar(&o.hooks.urls, "webhook-urls", false,
		"ask admission webhooks that have a URL: who has the token can have any HTTPS address called from here")
	flags.StringVar(&o.hooks.certs, "webhook-certs", "",
		"write the certificate of those programs, tls.crt and tls.key, to `DIR`, which must be new or empty, and trust it where no caBundle is given")
	flags.BoolVar(&o.remote, "remote", false, "allow --listen an address that other machines can reach: who has the token can use the API from there")
	return cmd
}

func (o *serveOptions) check() (speed float64, err error) {
	if o.page && o.looks {
		return 0, errors.New("--page-view: a page that only looks; leave --page out")
	}
	if o.speed != "step" {
		number, ok := strings.CutSuffix(o.speed, "x")
		if speed, err = strconv.ParseFloat(number, 64); err != nil || !ok || !(speed > 0 && speed <= maxSpeed) {
			return 0, fmt.Errorf("--speed: %q is neither step nor a number of times up to %dx, such as 1x or 60x", o.speed, maxSpeed)
		}
	}
	if _, err := o.controllers(); err != nil {
		return 0, err
	}
	return speed, errors.Join(o.checkCluster(), checkKeep(o.keep), o.hooks.check())
}

// controllers returns the actors that --only names; nil for all.
func (o *serveOptions) controllers() ([]string, error) {
	switch {
	case len(o.only) == 0:
		return nil, nil
	case slices.Equal(o.only, []string{"none"}):
		return []string{}, nil
	}
	return controllersNamed(o.only)
}

// maxSpeed is the fastest that virtual time may go: a day in about a second.
const maxSpeed = 100_000

// serve offers the cluster until ctx ends.
func (o *serveOptions) serve(ctx context.Context, speed float64, in io.Reader, out, errOut io.Writer) (err error) {
	var objects []manifest.Object
	if len(o.files) > 0 {
		if objects, err = readAll(o.manifests, o.files, in, errOut); len(objects) == 0 {
			return err
		}
	}
	only, err := o.controllers()
	if err != nil {
		return err
	}
	endHooks, err := o.hooks.begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endHooks()) }()
	zero := time.Now().UTC().Truncate(time.Second)
	another := func(errOut io.Writer) (*offered, error) {
		return o.offered(ctx, storagesim.Config{Start: zero, Dir: o.keep, TakePrograms: true, Only: only, RecordValues: o.page || o.looks}, objects, errOut)
	}
	c, err := another(errOut)
	defer func() { err = c.end(err) }()
	if err != nil {
		return endedBy(ctx, err)
	}
	cfg := serve.Config{Listen: o.listen, Remote: o.remote, Kubeconfig: o.kubeconfig, Force: o.force, Speed: speed}
	if cfg.Kubeconfig == "" {
		dir, err := workdir.Make()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, dir.Remove()) }()
		cfg.Kubeconfig = filepath.Join(dir.Path(), "kubeconfig")
	}
	cfg.AfterWrite = c.afterWrite
	server, err := serve.Start(c.Cluster, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if o.page || o.looks {
		p, err := o.offerPage(ctx, server, c, zero, objects, another)
		if err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, p.Close())
			c = p.now.offered
		}()
		if _, err := fmt.Fprintf(out, "# page: %s\n", p.URL()); err != nil {
			return err
		}
	}
	if err := tell(out, server, speed); err != nil {
		return err
	}
	return endedBy(ctx, server.Wait(ctx))
}

// offered is a cluster to offer.
type offered struct {
	*storagesim.Cluster
	afterWrite func()                // see serve.Config
	end        func(err error) error // closes it, and returns err or what went wrong
}

// offered makes a cluster and applies the manifests. It is to be ended in any case.
func (o *serveOptions) offered(ctx context.Context, cfg storagesim.Config, objects []manifest.Object, errOut io.Writer) (*offered, error) {
	c, end, err := o.cluster(ctx, cfg, errOut)
	made := &offered{Cluster: c, end: end}
	if err == nil {
		err = o.hooks.ask(c)
	}
	if err != nil {
		return made, err
	}
	if o.standIns {
		follow := bundled.FollowStandIns(c)
		made.afterWrite = func() {
			if err := follow(); err != nil {
				fmt.Fprintln(errOut, "error:", err)
			}
		}
	}
	return made, o.begin(ctx, c, objects, errOut)
}

// offerPage offers the page of a served cluster. another makes one that begins as that did.
func (o *serveOptions) offerPage(ctx context.Context, server *serve.Server, c *offered, zero time.Time, objects []manifest.Object,
	another func(io.Writer) (*offered, error)) (*livePage, error) {
	first, err := o.beginOf(objects)
	if err != nil {
		return nil, err
	}
	return startPage(ctx, &livePage{server: server, zero: zero, first: first, another: another, never: o.neverBack(), looks: o.looks}, c,
		story.Options{RecordValues: true, StandIns: o.standIns})
}

// neverBack says why a page of the cluster can never go back to an earlier step; "" if it can as long as no other client changes the cluster.
func (o *serveOptions) neverBack() string {
	switch {
	case o.speed != "step":
		return fmt.Sprintf("time goes by itself here (--speed %s), and such a run cannot be played again; with --speed step it can", o.speed)
	case len(o.csi) > 0 || len(o.commands) > 0:
		return "a CSI driver here runs in a process of its own, and cannot go back"
	case o.hooks.outside():
		return "admission webhooks run in a process of their own, which cannot go back"
	case o.keep != "":
		return "with --keep the nodes' directories stay as they are, so that a run cannot be played again in them"
	case o.realMounts:
		return "with --real-mounts a run cannot be played again"
	}
	return ""
}

// begin applies the manifests. Objects that the server refuses are told of, and serve goes
// on without them.
func (o *serveOptions) begin(ctx context.Context, c *storagesim.Cluster, objects []manifest.Object, errOut io.Writer) error {
	if err := o.prepare(ctx, c, objects); err != nil {
		return err
	}
	if err := c.Settle(); err != nil {
		return err
	}
	tellGaps(errOut, slices.DeleteFunc(slices.Clone(objects), func(obj manifest.Object) bool { return c.Engine().Server().Asks(obj.Object) }))
	c.Lab().AnnotateApplied()        // for kubectl, which may apply the same files when they have changed
	_ = applyAll(c, objects, errOut) // which tells of the errors
	return nil
}

// endedBy returns the cause of ctx if it is done, else err.
func endedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// tell says how to use the server.
func tell(out io.Writer, server *serve.Server, speed float64) error {
	pace := "only when it is told to: storagesim step, settle and run-for"
	if speed > 0 {
		pace = fmt.Sprintf("%g times as fast as here", speed)
	}
	file, err := filepath.Abs(server.Kubeconfig())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "export KUBECONFIG=%s\n# %s; time, and with it AGE, goes %s; Ctrl-C ends it\n", file, server.URL(), pace)
	return err
}
