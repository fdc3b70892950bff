package remote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/storagesim/storagesim/control"
)

// feed is the store of a reflector: it passes what it hears on, with the actor's lock.
type feed struct {
	process *process
	target  control.Feed
	objects map[string]runtime.Object // the latest heard of, by key
	listed  bool
}

// Follow implements control.Env.
func (v *env) Follow(target control.Feed) {
	f := &feed{process: v.process, target: target, objects: map[string]runtime.Object{}}
	v.awaitsList()
	source, err := v.run.listWatch(target.Source())
	if err != nil {
		v.fail(fmt.Errorf("%s cannot follow %s: %w", v.name, target.Source().Resource.Resource, err))
		return
	}
	reflector := cache.NewReflectorWithOptions(source, nil, f, cache.ReflectorOptions{Name: v.name + " " + target.Source().Resource.Resource})
	v.tasks.Go(func() { reflector.RunWithContext(v.ctx) })
}

// listWatch lists and watches a resource. Objects for which there are no Go types, those of
// custom kinds and their definitions, are unstructured.
func (r *run) listWatch(source control.Source) (cache.ListerWatcher, error) {
	if !scheme.Scheme.IsVersionRegistered(source.Resource.GroupVersion()) {
		return r.listWatchCustom(source)
	}
	client, err := r.clientFor(source.Resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	return cache.NewFilteredListWatchFromClient(client, source.Resource.Resource, metav1.NamespaceAll, func(options *metav1.ListOptions) {
		options.FieldSelector = selectorOf(source)
	}), nil
}

// listWatchCustom lists and watches objects without Go types, as listWatch does.
func (r *run) listWatchCustom(source control.Source) (cache.ListerWatcher, error) {
	client, err := dynamic.NewForConfig(r.cfg.REST)
	if err != nil {
		return nil, err
	}
	of := client.Resource(source.Resource)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selectorOf(source)
			return of.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selectorOf(source)
			return of.Watch(ctx, options)
		},
	}, nil
}

// selectorOf chooses the objects of a source.
func selectorOf(source control.Source) string {
	only := fields.Set{}
	if source.NodeName != "" {
		only["spec.nodeName"] = source.NodeName
	}
	if source.Name != "" {
		only["metadata.name"] = source.Name
	}
	return only.AsSelector().String()
}

// clientFor returns a client for the kinds of one group and version.
func (r *run) clientFor(gv schema.GroupVersion) (*restclient.RESTClient, error) {
	cfg := restclient.CopyConfig(r.cfg.REST)
	cfg.GroupVersion, cfg.NegotiatedSerializer, cfg.APIPath = &gv, scheme.Codecs.WithoutConversion(), "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	return restclient.RESTClientFor(cfg)
}

var _ cache.ReflectorStore = (*feed)(nil)

// Add implements cache.ReflectorStore, as the following do.
func (f *feed) Add(obj any) error { return f.deliver(watch.Added, obj) }

func (f *feed) Update(obj any) error { return f.deliver(watch.Modified, obj) }

func (f *feed) Delete(obj any) error { return f.deliver(watch.Deleted, obj) }

func (f *feed) Resync() error { return nil }

// deliver passes one change on.
func (f *feed) deliver(kind watch.EventType, changed any) error {
	obj, ok := changed.(control.Object)
	if !ok {
		return fmt.Errorf("%T is no object of the API", changed)
	}
	key := control.Key(obj)
	f.process.act("a handler of "+f.target.Source().Resource.Resource, func() {
		change := control.Change{Type: kind, Item: control.Item{Key: key, Object: obj}, Old: f.objects[key], RV: versionOf(obj)}
		f.process.known.heard(f.target.Source().Resource, obj, kind == watch.Deleted)
		if kind == watch.Deleted {
			delete(f.objects, key)
		} else {
			f.objects[key] = obj
		}
		if change.Old == nil && kind == watch.Modified {
			change.Type = watch.Added
		}
		f.target.Deliver(change)
	})
	return nil
}

// Replace implements cache.ReflectorStore: it passes a whole list on.
func (f *feed) Replace(list []any, _ string) error {
	objects := map[string]runtime.Object{}
	for _, item := range list {
		obj, ok := item.(control.Object)
		if !ok {
			return fmt.Errorf("%T is no object of the API", item)
		}
		objects[control.Key(obj)] = obj
	}
	f.process.act("a handler of "+f.target.Source().Resource.Resource, func() {
		f.objects = objects
		sorted := make([]control.Item, 0, len(objects))
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			sorted = append(sorted, control.Item{Key: key, Object: objects[key]})
			f.process.known.heard(f.target.Source().Resource, objects[key].(control.Object), false)
		}
		f.target.Replace(sorted)
		if !f.listed {
			f.listed = true
			f.process.hasListed()
		}
	})
	return nil
}

// versionOf returns the resourceVersion as a number; 0 if it is not a number.
func versionOf(obj metav1.Object) uint64 {
	n, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return n
}
