package story

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/trace"
)

func showCommands() []*command {
	return []*command{
		{
			name: "get", usage: "get TYPE[,TYPE...] | TYPE NAME... | TYPE/NAME... [-o wide|yaml|json|name|jsonpath=...] [-n NAMESPACE | -A] [-l SELECTOR] " +
				"[--field-selector SELECTOR] [--sort-by=JSONPATH] [-w]",
			run: get, reads: true,
			help: "print objects as kubectl get does\n-w runs until the cluster is at rest, as settle does, and prints an object's row each time it changes.\n" +
				"--sort-by is the path of a field, such as .metadata.creationTimestamp or .spec.resources.requests.storage.",
			flags: func(f *pflag.FlagSet) {
				selecting(f)
				f.BoolP("watch", "w", false, "")
				f.String("field-selector", "", "")
				f.String("sort-by", "", "")
			},
		},
		{
			name: "describe", usage: "describe TYPE NAME... | TYPE/NAME... | TYPE [-n NAMESPACE | -A] [-l SELECTOR]", run: describe, reads: true, flags: selecting,
			help: "print everything about objects, with their events, as kubectl describe does",
		},
		{
			name: "events", usage: "events [--for TYPE/NAME] [-n NAMESPACE | -A]", run: events, reads: true,
			help:  "print events in order of time, as kubectl events does",
			flags: func(f *pflag.FlagSet) { selecting(f); f.String("for", "", "") },
		},
		{
			name: "explain", usage: "explain TYPE/NAME | TYPE/NAMESPACE/NAME | TYPE NAME [-n NAMESPACE] [-o json]", run: explain, reads: true,
			help: "say why an object is as it is: a pod, pvc, pv, storageclass, node, statefulset, deployment, daemonset, job, cronjob, volumeattachment " +
				"or volumesnapshot",
			flags: func(f *pflag.FlagSet) { f.StringP("output", "o", "", ""); inNamespace(f) },
		},
		{
			name: "trace", usage: "trace [ACTOR... TOPIC... TYPE/NAME...]", run: showTrace, reads: true,
			help: "print everything that happened so far; words select actors, topics and objects, as with settle",
		},
		{
			name: "leaks", usage: "leaks", help: "compare objects, backends, directories and mounts, and say what was left behind", run: leaks, reads: true,
		},
	}
}

// selecting adds the flags of commands that select objects.
func selecting(f *pflag.FlagSet) {
	f.StringP("output", "o", "", "")
	f.StringP("namespace", "n", "", "")
	f.BoolP("all-namespaces", "A", false, "")
	f.StringP("selector", "l", "", "")
	f.Bool("show-labels", false, "")
	f.Bool("no-headers", false, "")
}

// selection returns the options that the flags set.
func (c *call) selection() (tables.Options, error) {
	o := tables.Options{
		Namespace: c.flag("namespace"), AllNamespaces: c.on("all-namespaces"), Output: c.flag("output"),
		ShowLabels: c.on("show-labels"), NoHeaders: c.on("no-headers"),
	}
	if text := c.flag("selector"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			return o, c.misuse("%w", err)
		}
		o.Selector = selector
	}
	return o, nil
}

func get(c *call) error {
	o, err := c.selection()
	if err != nil {
		return err
	}
	if err := c.want(1, -1); err != nil {
		return err
	}
	fields := c.flag("field-selector")
	o.SortBy = c.flag("sort-by")
	switch {
	case c.on("watch") && fields != "":
		return c.misuse("-w shows all changes; expected no --field-selector beside it")
	case c.on("watch"):
		return c.watchRows(o)
	case fields != "":
		return c.getByFields(o, fields)
	}
	return c.view().Get(&c.out, o, c.args...)
}

// getByFields prints the objects whose fields are as a selector says.
func (c *call) getByFields(o tables.Options, fields string) error {
	if len(c.args) > 1 || strings.Contains(c.args[0], "/") {
		return errors.New("name cannot be provided when a selector is specified")
	}
	namespace := cmp.Or(o.Namespace, metav1.NamespaceDefault)
	if o.AllNamespaces {
		namespace = ""
	}
	v := c.view()
	v.Objects = nil
	err := c.list(c.args[0], namespace, metav1.ListOptions{FieldSelector: fields}, func(_ manifest.Resource, obj runtime.Object) error {
		v.Objects = append(v.Objects, obj)
		return nil
	})
	if err != nil {
		return err
	}
	return v.Get(&c.out, o, c.args...)
}

// view returns the objects to print. As kubectl, which asks the server for them, it warns of a kind that is deprecated.
func (c *call) view() tables.View {
	v := c.session.view()
	v.Asked = func(r manifest.Resource) {
		if k, ok := c.kinds().Lookup(r.GroupVersionResource()); ok {
			c.warn(k.Deprecated)
		}
	}
	return v
}

// watchRows prints the table, lets the cluster come to rest, and prints the rows of objects as they changed.
func (c *call) watchRows(o tables.Options) error {
	if o.Output != "" && o.Output != "wide" {
		return c.misuse("-w prints rows of a table; expected no -o, or -o wide")
	}
	if o.SortBy != "" {
		c.say("warning: --watch requested, --sort-by will be ignored for watch events received")
	}
	if err := c.view().Get(&c.out, o, c.args...); err != nil {
		return err
	}
	o.SortBy = ""
	err := c.cluster.Settle()
	changes := c.trace().Since(c.told)
	c.told = c.trace().Len()
	o.NoHeaders = true
	last := map[trace.Ref]string{}
	for _, e := range changes {
		w, ok := e.Record.(trace.Write)
		if !ok || w.Err != nil || w.New == nil || w.New == w.Old {
			continue
		}
		then := c.view()
		obj := w.New.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(w.Resource.GroupVersion().WithKind(w.Kind))
		then.Objects, then.Now = []runtime.Object{obj}, e.Time
		var row strings.Builder
		if then.Get(&row, o, c.args...) != nil || strings.HasPrefix(row.String(), "No resources found") || row.String() == last[w.About()] {
			continue // it is about another object, or no cell changed
		}
		last[w.About()] = row.String()
		c.WriteString(row.String())
	}
	c.pending()
	return err
}

func describe(c *call) error {
	o, err := c.selection()
	if err != nil {
		return err
	}
	if err := c.want(1, -1); err != nil {
		return err
	}
	var b strings.Builder
	err = c.view().Describe(&b, o, c.args...)
	c.WriteString(prose.WrapMessages(b.String(), c.options.Width))
	return err
}

func events(c *call) error {
	o, err := c.selection()
	if err != nil {
		return err
	}
	if err := c.want(0, 0); err != nil {
		return err
	}
	var about *tables.Ref
	if of := c.flag("for"); of != "" {
		refs, err := tables.ParseRefs(c.kinds(), o.Namespace, of)
		if err != nil {
			return misuse{err}
		}
		about = &refs[0]
	}
	var b strings.Builder
	err = c.view().Events(&b, o, about)
	c.WriteString(prose.WrapMessages(b.String(), c.options.Width))
	return err
}

func explain(c *call) error {
	if err := c.want(1, 2); err != nil {
		return err
	}
	output := c.flag("output")
	if output != "" && output != "json" {
		return c.misuse("-o %q: expected json, or nothing for words", output)
	}
	at := strings.Join(c.args, "/")
	if strings.Contains(at, "/") { // else it is a mistake, and named as it stands
		at = c.inNamespace(at)
	}
	why, err := c.cluster.Lab().Explanation(at)
	if err != nil {
		return err
	}
	if output == "json" {
		values, err := json.MarshalIndent(why, "", "  ")
		if err != nil {
			return err
		}
		c.WriteString(c.cluster.Trace().ShortIDs(string(values)) + "\n")
		return nil
	}
	c.say("%s", why.Text)
	return nil
}

func showTrace(c *call) error {
	keep, err := c.filter(c.args)
	if err != nil {
		return err
	}
	before := c.Len()
	c.tell(c.trace().Entries(), keep)
	if c.Len() == before {
		c.say("nothing of this kind was recorded")
	}
	return nil
}

func leaks(c *call) error {
	if err := c.want(0, 0); err != nil {
		return err
	}
	found, err := c.cluster.Lab().Leaks()
	for _, leak := range found {
		c.say("%s", leak)
	}
	if err == nil && len(found) == 0 {
		c.say("no leaks")
	}
	return err
}
