package story

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/story/bundled"
)

func objectCommands() []*command {
	return []*command{
		{
			name: "apply", run: apply, input: true,
			usage: "apply [-f FILE|DIRECTORY]... [-n NAMESPACE] [--server-side [--force-conflicts] [--field-manager NAME]]",
			help: "create or change objects, as kubectl apply does; from files beside the script, or from the input\n" +
				"With --server-side the server does it, and knows whose field is whose: a field of another manager is a conflict.\n" +
				"Fields that apply without it has set go over to the new manager; those of objects made otherwise, and those that\n" +
				"others changed since, are those of the manager before-first-apply.",
			flags: func(f *pflag.FlagSet) {
				files(f)
				inNamespace(f)
				f.Bool("server-side", false, "")
				f.Bool("force-conflicts", false, "")
				f.String("field-manager", "", "")
			},
		},
		{
			name: "create", run: create, input: true,
			usage: "create [-f FILE|DIRECTORY]... [-n NAMESPACE] | create namespace NAME | " +
				"create deployment NAME --image IMAGE [--replicas N] [-n NAMESPACE]",
			flags: func(f *pflag.FlagSet) {
				files(f)
				inNamespace(f)
				f.String("image", "", "")
				f.Int("replicas", 1, "")
			},
			help: "create objects; from files beside the script, or from the input; or a namespace by its name, or a Deployment by its name and image",
		},
		{
			name: "delete",
			usage: "delete TYPE/NAME... | TYPE NAME... | TYPE --all|-l SELECTOR [-A] | -f FILE|DIRECTORY " +
				"[-n NAMESPACE] [--grace-period SECONDS] [--now] [--force] [--cascade background|foreground|orphan]",
			run: remove,
			help: "delete objects; does not wait for them to be gone\n" +
				"--force or --grace-period 0 removes a pod at once, without its kubelet: its program may still run.",
			flags: func(f *pflag.FlagSet) {
				choosing(f)
				files(f)
				f.Int64("grace-period", -1, "")
				f.Bool("now", false, "")
				f.Bool("force", false, "")
				f.String("cascade", "background", "")
			},
		},
		{
			name: "patch", usage: "patch TYPE/NAME | TYPE NAME [-n NAMESPACE] [-p PATCH] [--type strategic|merge|json] [--subresource status]", run: patch, input: true,
			help: "change fields of an object; the patch, YAML or JSON, is the word after -p or the input",
			flags: func(f *pflag.FlagSet) {
				f.StringP("namespace", "n", "", "")
				f.StringP("patch", "p", "", "")
				f.String("type", "strategic", "")
				f.String("subresource", "", "")
			},
		},
		{
			name: "label", usage: "label TYPE/NAME...|TYPE --all|-l SELECTOR [-A] KEY=VALUE... KEY-... [-n NAMESPACE] [--overwrite]",
			run: label, flags: marking,
			help: "set labels, or remove them (KEY-)",
		},
		{
			name: "annotate", usage: "annotate TYPE/NAME...|TYPE --all|-l SELECTOR [-A] KEY=VALUE... KEY-... [-n NAMESPACE] [--overwrite]",
			run: annotate, flags: marking,
			help: "set annotations, or remove them (KEY-)",
		},
	}
}

func files(f *pflag.FlagSet) { f.StringArrayP("filename", "f", nil, "") }

func inNamespace(f *pflag.FlagSet) { f.StringP("namespace", "n", "", "") }

// manifests reads the objects of -f or of the input, whose lines count from the
// script's first.
func (c *call) manifests() ([]manifest.Object, error) {
	if err := c.want(0, 0); err != nil {
		return nil, err
	}
	paths, err := c.flags.GetStringArray("filename")
	if err != nil {
		return nil, err
	}
	read := manifest.Reader{Kinds: c.kinds(), Namespace: c.flag("namespace")}
	switch {
	case len(paths) > 0 && c.input != nil:
		return nil, c.misuse("both -f and input are given; expected one of them. Input is what stands below the command, up to an empty line or ----")
	case len(paths) > 0 && c.noFiles:
		return nil, c.misuse("no files are read here; give what is in %s as input", paths[0])
	case len(paths) > 0 && c.session.options.Files != nil:
		return manifestsOf(read, c.session.options.Files, paths)
	case len(paths) > 0:
		return read.FilesIn(folders{filepath.Dir(c.file), c.session.options.AllowFiles}, paths...)
	case c.input == nil:
		return nil, misuse{errNoInput}
	}
	input := strings.Repeat("\n", c.line) + strings.Join(c.input, "\n") + "\n"
	return read.Set(manifest.Source{Name: filepath.Base(c.file), Data: []byte(input)})
}

// manifestsOf reads the objects of files in Options.Files.
func manifestsOf(read manifest.Reader, files fs.FS, paths []string) ([]manifest.Object, error) {
	sources := make([]manifest.Source, len(paths))
	for i, path := range paths {
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		sources[i] = manifest.Source{Name: path, Data: data}
	}
	return read.Set(sources...)
}

// cause returns the cause of an error about a file.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func apply(c *call) error {
	switch {
	case c.on("server-side"):
		return c.eachManifest(c.applyInServer)
	case c.on("force-conflicts"):
		return errors.New("--force-conflicts only works with --server-side")
	case c.flag("field-manager") != "":
		return c.misuse("--field-manager: without --server-side no managers are kept here")
	}
	return c.eachManifest(c.applyOne)
}

func create(c *call) error {
	if len(c.args) == 0 && !c.flags.Changed("image") && !c.flags.Changed("replicas") {
		return c.eachManifest(c.createOne)
	}
	text, err := c.named()
	if err != nil {
		return err
	}
	read := manifest.Reader{Kinds: c.kinds(), Namespace: c.flag("namespace")}
	objects, err := read.Set(manifest.Source{Name: c.file, Data: []byte(text)})
	if err != nil {
		return err
	}
	return c.createOne(objects[0])
}

// named returns the manifest of the object that the arguments of create name.
func (c *call) named() (string, error) {
	replicas, err := c.flags.GetInt("replicas")
	if err != nil {
		return "", err
	}
	image, kind := c.flag("image"), "Deployment" // if only flags are given
	if len(c.args) > 0 {
		resource, err := manifest.FindResource(c.kinds(), c.args[0])
		if err != nil {
			resource.Kind = ""
		}
		kind = resource.Kind
	}
	one := len(c.args) == 2 && c.input == nil
	switch {
	case kind == "Namespace" && one && !c.flags.Changed("image") && !c.flags.Changed("replicas"):
		return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %q}}", c.args[1]), nil
	case kind == "Namespace":
		return "", c.misuse("expected create namespace NAME, without input")
	case kind == "Deployment" && one && image != "":
		return deploymentOf(c.args[1], image, replicas), nil
	case kind == "Deployment":
		return "", c.misuse("expected create deployment NAME --image IMAGE, without input")
	}
	return "", c.misuse("create %s: only a namespace or a deployment can be created by its name; for others, the YAML follows on the next lines", c.args[0])
}

// deploymentOf returns the manifest of a Deployment with one container, which has the image's name.
//
// Upstream: kubectl pkg/cmd/create/create_deployment.go CreateDeploymentOptions.createDeployment, v0.37.2, which adds five random letters to the name of a
// container where the image's has a dot or an underscore.
func deploymentOf(name, image string, replicas int) string {
	container, _, _ := strings.Cut(path.Base(image), ":")
	container, _, _ = strings.Cut(container, "@")
	container = strings.NewReplacer("_", "-", ".", "-").Replace(container)
	labels := fmt.Sprintf("{app: %q}", name)
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %q, labels: %s}, spec: {replicas: %d, selector: {matchLabels: %[2]s}, "+
		"template: {metadata: {labels: %[2]s}, spec: {containers: [{name: %[4]q, image: %[5]q}]}}}}", name, labels, replicas, container, image)
}

// eachManifest goes on after an object that is refused, and after one of an unknown kind. As kubectl, it tells of unknown kinds last.
func (c *call) eachManifest(f func(manifest.Object) error) error {
	objects, unknown := c.manifests()
	if len(objects) == 0 {
		return unknown
	}
	if c.standIns || c.options.StandIns {
		coming := make([]runtime.Object, len(objects))
		for i, obj := range objects {
			coming[i] = obj.Object
		}
		if _, err := bundled.StandIns(c.cluster, coming...); err != nil {
			return err
		}
	}
	var errs []error
	for _, obj := range objects {
		errs = append(errs, f(obj))
	}
	return errors.Join(append(errs, unknown)...)
}

func (c *call) applyOne(obj manifest.Object) error {
	meta := obj.Meta()
	if meta.GetName() == "" {
		return noName(meta)
	}
	ref := tables.Ref{Resource: obj.Resource, Namespace: meta.GetNamespace(), Name: meta.GetName()}
	before := c.version(ref)
	if err := c.cluster.Apply(string(obj.JSON)); err != nil {
		return obj.Refused(err)
	}
	switch after := c.version(ref); before {
	case "":
		c.say("%s created", ref.Qualified())
	case after:
		c.say("%s unchanged", ref.Qualified())
	default:
		c.say("%s configured", ref.Qualified())
	}
	return nil
}

// applyInServer has the server apply an object.
//
// Upstream: kubectl pkg/cmd/apply/apply.go applyOneObject, v0.37.2, without the annotations of kubectl apply.
func (c *call) applyInServer(obj manifest.Object) error {
	meta := obj.Meta()
	if meta.GetName() == "" {
		return noName(meta)
	}
	if group := obj.Resource.Group; group == snapshots.Group || group == snapshots.GroupsGroup {
		if err := c.cluster.Lab().InstallSnapshots(); err != nil {
			return err
		}
	}
	ref := tables.Ref{Resource: obj.Resource, Namespace: meta.GetNamespace(), Name: meta.GetName()}
	force := c.on("force-conflicts")
	req := about("patch", ref)
	req.PatchType, req.Patch = types.ApplyPatchType, obj.JSON
	req.Write = metav1.PatchOptions{
		Force: &force, FieldManager: cmp.Or(c.flag("field-manager"), serverSideManager), FieldValidation: metav1.FieldValidationStrict,
	}
	if err := c.track(ref, req.Write.FieldManager); err != nil {
		return obj.Refused(err)
	}
	if err := c.applyTracked(ref, req); apierrors.IsConflict(err) {
		return errors.New(err.Error() + "\n" + conflicts) // no error of the server any more, as with kubectl
	} else if err != nil {
		return obj.Refused(err)
	}
	c.say("%s serverside-applied", ref.Qualified())
	return nil
}

// conflicts says what to do about fields of other managers.
//
// Upstream: kubectl pkg/cmd/apply/apply.go applyOneObject, v0.37.2.
const conflicts = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the ` + "`--force-conflicts`" + ` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`

func noName(obj metav1.Object) error {
	return fmt.Errorf("from %s: cannot use generate name with apply", obj.GetGenerateName())
}

// version returns the object's resource version, empty if it is not there.
func (c *call) version(ref tables.Ref) string {
	obj, err := c.get(ref)
	if err != nil {
		return ""
	}
	return obj.GetResourceVersion()
}

// about returns a request about that object.
func about(verb string, ref tables.Ref) api.Request {
	return api.Request{Verb: verb, Resource: ref.Resource.GroupVersionResource(), Namespace: ref.Namespace, Name: ref.Name}
}

func (c *call) get(ref tables.Ref) (metav1.Object, error) {
	obj, err := c.cluster.Lab().Do(about("get", ref))
	if err != nil {
		return nil, err
	}
	return obj.(metav1.Object), nil
}

func (c *call) createOne(obj manifest.Object) error {
	req := about("create", tables.Ref{Resource: obj.Resource, Namespace: obj.Meta().GetNamespace()})
	req.Object = obj.Unversioned()
	made, err := c.cluster.Lab().Do(req)
	if err != nil {
		return obj.Refused(err)
	}
	c.say("%s/%s created", obj.Resource.Qualified(), made.(metav1.Object).GetName())
	return nil
}

// refs reads the arguments as names of objects.
func (c *call) refs(args []string) ([]tables.Ref, error) {
	if len(args) == 0 {
		return nil, c.misuse("expected the names of objects")
	}
	refs, err := tables.ParseRefs(c.kinds(), c.flag("namespace"), args...)
	if err != nil {
		return nil, misuse{err}
	}
	return refs, nil
}

func remove(c *call) error {
	refs, unknown := c.objectsMeant()
	if len(refs) == 0 && unknown != nil {
		return unknown
	}
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		c.say("No resources found")
	}
	var errs []error
	for _, ref := range refs {
		req := about("delete", ref)
		req.Delete = opts
		if _, err := c.cluster.Lab().Do(req); err != nil {
			errs = append(errs, err)
			continue
		}
		done := "deleted"
		if grace := opts.GracePeriodSeconds; grace != nil && *grace == 0 {
			done = "force deleted"
		}
		if ref.Resource.Namespaced {
			done += " from " + ref.Namespace + " namespace"
		}
		c.say("%s %q %s", ref.Resource.Qualified(), ref.Name, done)
	}
	return errors.Join(append(errs, unknown)...)
}

// objectsMeant returns the objects that the arguments or -f name. The error may be about manifests of other kinds beside them.
func (c *call) objectsMeant() (refs []tables.Ref, err error) {
	if !c.flags.Changed("filename") {
		return c.chosen(c.args)
	}
	objects, err := c.manifests()
	for _, obj := range objects {
		refs = append(refs, tables.Ref{Resource: obj.Resource, Namespace: obj.Meta().GetNamespace(), Name: obj.Meta().GetName()})
	}
	return refs, err
}

// deleteOptions returns the options that kubectl sends for the flags.
func (c *call) deleteOptions() (opts metav1.DeleteOptions, err error) {
	grace, err := c.flags.GetInt64("grace-period")
	if err != nil {
		return opts, err
	}
	switch { // Upstream: kubectl pkg/cmd/delete/delete.go Complete and Validate, v0.37.2
	case c.on("now") && grace >= 0:
		return opts, errors.New("--now and --grace-period cannot be specified together")
	case c.on("force") && (grace > 0 || c.on("now")):
		return opts, errors.New("--force and --grace-period greater than 0 cannot be specified together")
	case c.on("force"):
		grace = 0
		c.say("Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. " +
			"The resource may continue to run on the cluster indefinitely.")
	case c.on("now") || grace == 0:
		grace = 1 // without --force a pod on a dead node stays
	}
	if grace >= 0 {
		opts.GracePeriodSeconds = &grace
	}
	policies := map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
	}
	policy, ok := policies[c.flag("cascade")]
	if !ok {
		return opts, c.misuse("invalid cascade value %q; expected background, foreground or orphan", c.flag("cascade"))
	}
	opts.PropagationPolicy = &policy
	return opts, nil
}

func patch(c *call) error {
	refs, err := c.refs(c.args)
	if err != nil {
		return err
	}
	if len(refs) != 1 {
		return c.misuse("expected one object")
	}
	text := c.flag("patch")
	switch {
	case text != "" && c.input != nil:
		return c.misuse("both -p and input are given; expected one of them")
	case text == "" && c.input == nil:
		return c.misuse("no patch is given; expected -p or input")
	case text == "":
		text = strings.Join(c.input, "\n")
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return c.misuse("the patch is neither YAML nor JSON: %w", err)
	}
	kinds := map[string]types.PatchType{"strategic": types.StrategicMergePatchType, "merge": types.MergePatchType, "json": types.JSONPatchType}
	kind, ok := kinds[c.flag("type")]
	if !ok {
		return c.misuse("unknown type %q; expected strategic, merge or json", c.flag("type"))
	}
	changed, err := c.patch(refs[0], kind, data, c.flag("subresource"))
	if err == nil && !changed {
		c.say("%s patched (no change)", refs[0].Qualified())
	} else if err == nil {
		c.say("%s patched", refs[0].Qualified())
	}
	return err
}

// patch patches an object and says whether that changed it. An object that ends by the patch is answered in the version before.
// Upstream: kubectl pkg/cmd/patch PatchOptions.RunPatch, v0.37.2.
func (c *call) patch(ref tables.Ref, kind types.PatchType, data []byte, sub string) (bool, error) {
	before, _ := c.get(ref) // if that fails, the patch does
	req := about("patch", ref)
	req.PatchType, req.Patch, req.Subresource = kind, data, sub
	req.Write.FieldManager = "kubectl-" + c.cmd.name
	after, err := c.cluster.Lab().Do(req)
	if err != nil {
		return false, err
	}
	return !semantic.Equal(before, after), nil
}
