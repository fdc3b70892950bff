package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// filterOptions say of what a story tells.
type filterOptions struct {
	about, actors []string
}

// add adds the flags.
func (o *filterOptions) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.about, "about", nil, "tell only what names `OBJECT`, such as pvc/data; may be repeated")
	flags.StringArrayVar(&o.actors, "actor", nil, "tell only what `NAME` did, such as kube-scheduler; may be repeated")
}

// keep returns the choice of entries, nil for all. An object or an actor that a cluster's story does not have is an error.
func (o filterOptions) keep(c *storagesim.Cluster) (func(trace.Entry) bool, error) {
	if len(o.about) == 0 && len(o.actors) == 0 {
		return nil, nil
	}
	records := c.Records()
	actors := append(c.Actors(), storagesim.User, storagesim.Setup)
	for _, e := range records {
		actors = append(actors, e.Actor)
	}
	slices.Sort(actors)
	actors = slices.Compact(actors)
	for _, name := range o.actors {
		if !slices.Contains(actors, name) {
			return nil, fmt.Errorf("--actor: no actor is called %q%s", name, prose.OneOf(name, actors))
		}
	}
	var refs []trace.Ref
	for _, text := range o.about {
		ref, err := objectOf(c, text, records)
		if err != nil {
			return nil, fmt.Errorf("--about: %w", err)
		}
		refs = append(refs, ref)
	}
	isAbout := trace.About(refs...)
	return func(e trace.Entry) bool {
		return (refs == nil || isAbout(e)) && (o.actors == nil || slices.Contains(o.actors, e.Actor))
	}, nil
}

// objectOf returns the object that a user names. It must exist, or the records must name it.
func objectOf(c *storagesim.Cluster, text string, records []trace.Entry) (trace.Ref, error) {
	kinds := c.Server().Registry()
	if !strings.Contains(text, "/") {
		return trace.Ref{}, fmt.Errorf("%q does not name an object; write TYPE/NAME, such as pvc/data", text)
	}
	at, err := manifest.ParseRef(kinds, "", c.FullIDs(text))
	if err != nil {
		return trace.Ref{}, err
	}
	ref := trace.Ref{Kind: at.Resource.Kind, Namespace: at.Namespace, Name: at.Name}
	var others []string
	for _, obj := range c.Server().Objects() {
		m, err := meta.Accessor(obj)
		if err != nil || kindOf(obj) != ref.Kind {
			continue
		}
		if m.GetNamespace() == ref.Namespace && m.GetName() == ref.Name {
			return ref, nil
		}
		others = append(others, c.ShortIDs(trace.Ref{Kind: ref.Kind, Namespace: m.GetNamespace(), Name: m.GetName()}.String()))
	}
	if slices.ContainsFunc(records, trace.About(ref)) {
		return ref, nil // it is gone
	}
	slices.Sort(others)
	return ref, fmt.Errorf("there is no %s%s", ref, prose.OneOf(ref.String(), others))
}

// kindOf returns the kind of an object.
func kindOf(obj runtime.Object) string {
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return ""
	}
	return kinds[0].Kind
}
