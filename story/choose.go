package story

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/tables"
)

// choosing adds the flags of commands that change objects by name, all of a type, or those with some labels.
func choosing(f *pflag.FlagSet) {
	f.StringP("namespace", "n", "", "")
	f.Bool("all", false, "")
	f.StringP("selector", "l", "", "")
	f.BoolP("all-namespaces", "A", false, "")
}

// chosen reads the arguments as names of objects or, with --all or -l, as types of which it returns the objects there are.
func (c *call) chosen(args []string) (refs []tables.Ref, err error) {
	all, selector, everywhere := c.on("all"), c.flag("selector"), c.on("all-namespaces")
	switch { // Upstream: cli-runtime pkg/resource/builder.go Builder.visitorResult and visitByResource, v0.37.2
	case !all && selector == "" && everywhere && len(args) == 1 && !strings.Contains(args[0], "/"):
		return nil, errors.New("resource(s) were provided, but no name was specified")
	case !all && selector == "" && everywhere && len(args) > 0:
		return nil, errors.New("a resource cannot be retrieved by name across all namespaces")
	case !all && selector == "":
		return c.refs(args)
	case all && selector != "":
		return nil, errors.New("cannot set --all and --selector at the same time")
	case len(args) == 0:
		return nil, c.misuse("expected a TYPE")
	case len(args) > 1 || strings.Contains(args[0], "/"):
		return nil, errors.New("name cannot be provided when a selector is specified")
	}
	namespace := cmp.Or(c.flag("namespace"), metav1.NamespaceDefault)
	if everywhere {
		namespace = metav1.NamespaceAll
	}
	err = c.list(args[0], namespace, metav1.ListOptions{LabelSelector: selector}, func(r manifest.Resource, obj runtime.Object) error {
		m, err := meta.Accessor(obj)
		if err == nil {
			refs = append(refs, tables.Ref{Resource: r, Namespace: m.GetNamespace(), Name: m.GetName()})
		}
		return err
	})
	return refs, err
}

// list asks the server for the objects of types ("pvc,pv") in a namespace, "" for all.
// Upstream: cli-runtime resource/selector.go Selector.Visit, v0.37.2.
func (c *call) list(types, namespace string, o metav1.ListOptions, each func(manifest.Resource, runtime.Object) error) error {
	for _, word := range strings.Split(types, ",") {
		r, err := manifest.FindResource(c.kinds(), word)
		if err != nil {
			return err
		}
		req := about("list", tables.Ref{Resource: r, Namespace: namespace})
		req.List = o
		list, err := c.cluster.Lab().Do(req)
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
			status.ErrStatus.Message = fmt.Sprintf("Unable to find %q that match label selector %q, field selector %q: %s",
				r.GroupVersionResource().String(), o.LabelSelector, o.FieldSelector, status.ErrStatus.Message)
		}
		if err != nil {
			return err
		}
		if err := meta.EachListItem(list, func(obj runtime.Object) error { return each(r, obj) }); err != nil {
			return err
		}
	}
	return nil
}
