package api

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// bindPod assigns a pod to a node. It does not check that the node exists. Upstream: pkg/registry/core/pod/storage BindingREST, v1.37.
func bindPod(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	binding, err := views.BindingOf(in, r.Name)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	if r.Name == "" {
		return nil, w.reports.refuse(r, apierrors.NewBadRequest("Name parameter required."))
	}
	_, err = w.writeLocked(r, func(st *table) (outcome, error) {
		old, ok := st.Get(store.KeyOf(r.Namespace, r.Name)).(*v1.Pod)
		if !ok {
			return outcome{}, r.NotFound()
		}
		switch {
		case binding.UID != "" && binding.UID != old.UID:
			return outcome{}, r.WrongUID(binding.UID, old.UID)
		case binding.ResourceVersion != "" && binding.ResourceVersion != old.ResourceVersion:
			return outcome{}, r.OtherThan("ResourceVersion", binding.ResourceVersion, old.ResourceVersion)
		}
		if err := views.MayBind(old); err != nil {
			return outcome{}, err
		}
		node, _ := held{w.tables}.Get(registry.Nodes, binding.Target.Name)
		pod := views.Assign(old, binding, node, w.clock.Now())
		if !r.DryRun {
			w.tables.put(st, old, pod)
		}
		return outcome{old: old, new: pod}, nil
	})
	if err != nil {
		return nil, err
	}
	return success(), nil
}
