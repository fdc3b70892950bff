package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// namedSource returns the object that the claim names as the source of its data, or nil; if both fields are set,
// dataSource.
func namedSource(claim *v1.PersistentVolumeClaim) *v1.ObjectReference {
	if source := claim.Spec.DataSource; source != nil {
		return &v1.ObjectReference{Kind: source.Kind, Name: source.Name, APIVersion: deref(source.APIGroup), Namespace: claim.Namespace}
	}
	ref := claim.Spec.DataSourceRef
	if ref == nil {
		return nil
	}
	source := &v1.ObjectReference{Kind: ref.Kind, Name: ref.Name, APIVersion: deref(ref.APIGroup), Namespace: claim.Namespace}
	if namespace := deref(ref.Namespace); namespace != "" {
		source.Namespace = namespace
	}
	return source
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// dataSource returns the object that the claim's volume is to be filled from, or nil. A source in another namespace
// needs a grant there.
//
// Upstream: controller.go dataSource, v6.4.
func (p *csiProvisioner) dataSource(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.ObjectReference, error) {
	source := namedSource(claim)
	if source == nil || claim.Spec.DataSource != nil {
		return source, nil
	}
	if deref(claim.Spec.DataSourceRef.Namespace) != "" && !p.cfg.CrossNamespaceVolumeDataSource {
		return nil, errors.New("dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled")
	}
	if source.Namespace == claim.Namespace {
		return source, nil
	}
	referenceGrants := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1beta1", Resource: "referencegrants"}
	grants, err := p.env.Objects().List(ctx, referenceGrants, source.Namespace)
	if err != nil {
		return nil, fmt.Errorf("error getting ReferenceGrants in %s namespace from api server: %w", source.Namespace, err)
	}
	if !slices.ContainsFunc(grants, func(grant control.Object) bool { return isGranted(grant, claim, source) }) {
		return nil, fmt.Errorf("accessing %s/%s of %s dataSource from %s/%s isn't allowed", source.Namespace, source.Name, source.Kind, claim.Namespace, claim.Name)
	}
	return source, nil
}

// isAcross reports whether the claim may be filled from another namespace.
//
// Upstream: controller.go Provision, v6.4.
func (p *csiProvisioner) isAcross(claim *v1.PersistentVolumeClaim) bool {
	ref := claim.Spec.DataSourceRef
	return p.cfg.CrossNamespaceVolumeDataSource && ref != nil && deref(ref.Namespace) != ""
}

// referenceGrant holds the used parts of a ReferenceGrant: the namespaces whose claims may refer to
// objects, and these objects.
//
// Upstream: sigs.k8s.io/gateway-api apis/v1beta1 ReferenceGrant, v1.5.
type referenceGrant struct {
	Spec struct {
		From []struct {
			Group     string `json:"group"`
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
		} `json:"from"`
		To []struct {
			Group string  `json:"group"`
			Kind  string  `json:"kind"`
			Name  *string `json:"name"`
		} `json:"to"`
	} `json:"spec"`
}

// isGranted reports whether a grant, which is in the source's namespace, allows the claim to refer to the source.
//
// Upstream: pkg/controller/util.go IsGranted, v6.4.
func isGranted(object control.Object, claim *v1.PersistentVolumeClaim, source *v1.ObjectReference) bool {
	stored, ok := object.(*unstructured.Unstructured)
	grant := referenceGrant{}
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &grant) != nil {
		return false
	}
	for _, from := range grant.Spec.From {
		if from.Group != "" || from.Kind != pvcKind || from.Namespace != claim.Namespace {
			continue
		}
		for _, to := range grant.Spec.To {
			if to.Group == source.APIVersion && to.Kind == source.Kind && (deref(to.Name) == "" || *to.Name == source.Name) {
				return true
			}
		}
	}
	return false
}
