package crd

import (
	"context"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api"
)

// beginDeletion holds a definition until its objects are gone.
// Upstream: registry/customresourcedefinition REST.Delete, v1.37.
func (c *controller) beginDeletion(obj runtime.Object) {
	def := obj.(*apiextensions.CustomResourceDefinition)
	if !slices.Contains(def.Finalizers, apiextensions.CustomResourceCleanupFinalizer) {
		def.Finalizers = append(def.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	c.set(def, condition(apiextensions.Terminating, true, "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"))
}

// finalize deletes the objects of a definition that is being deleted, and lets it go when
// none is left.
// Upstream: controller/finalizer CRDFinalizer.sync, v1.37.
func (c *controller) finalize(def *apiextensions.CustomResourceDefinition) {
	if !slices.Contains(def.Finalizers, apiextensions.CustomResourceCleanupFinalizer) {
		return
	}
	done := condition(apiextensions.Terminating, false, "NeverEstablished", "resource was never established")
	if isTrue(def, apiextensions.Established) {
		if err := c.register(def, true); err != nil {
			return // it is registered already: only that no objects can be created is new
		}
		deleting := condition(apiextensions.Terminating, true, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
		if was := find(def, apiextensions.Terminating); was == nil || was.Reason != deleting.Reason {
			c.setConditions(def, deleting)
			return // that write leads back here
		}
		if left := c.deleteInstances(def); left {
			return // the last of them leads back here
		}
		done = condition(apiextensions.Terminating, false, "InstanceDeletionCompleted", "removed all instances")
	}
	c.set(def, done)
	def.Finalizers = slices.DeleteFunc(def.Finalizers, func(f string) bool { return f == apiextensions.CustomResourceCleanupFinalizer })
	c.updateStatus(def)
}

// deleteInstances deletes all objects of a definition, and says whether some are left.
func (c *controller) deleteInstances(def *apiextensions.CustomResourceDefinition) (left bool) {
	req := api.Request{Actor: Actor, Verb: "list", Resource: storage(def)}
	list, err := c.server.Do(context.Background(), req)
	if err != nil {
		return false // no version is served
	}
	for _, item := range list.(*unstructured.UnstructuredList).Items {
		if item.GetDeletionTimestamp() != nil {
			left = true
			continue
		}
		req.Verb, req.Namespace, req.Name = "delete", item.GetNamespace(), item.GetName()
		if _, err := c.server.Do(context.Background(), req); err != nil && !apierrors.IsNotFound(err) {
			left = true
		}
	}
	if left {
		return true
	}
	req.Verb, req.Namespace, req.Name = "list", "", ""
	list, err = c.server.Do(context.Background(), req)
	return err == nil && len(list.(*unstructured.UnstructuredList).Items) > 0
}

// storage returns the resource by which a definition's objects are reached: the first version
// that is served.
func storage(def *apiextensions.CustomResourceDefinition) schema.GroupVersionResource {
	gvr := schema.GroupVersionResource{Group: def.Spec.Group, Resource: def.Status.AcceptedNames.Plural}
	for _, version := range def.Spec.Versions {
		if version.Served {
			gvr.Version = version.Name
			break
		}
	}
	return gvr
}

// sealed is the reason why no object of a definition can be created while it is deleted.
// Upstream: apiserver forbidCreateAdmission.Admit, v1.37.
const sealed = "create not allowed while custom resource definition is terminating"
