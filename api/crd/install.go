package crd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/registry"
)

// Actor is the name of the actor that writes the statuses of definitions and deletes the objects of
// a deleted one. On a cluster these controllers are a part of kube-apiserver.
const Actor = "kube-apiserver"

// resource is that of the definitions.
var resource = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// Install has a server serve CustomResourceDefinitions, and the kinds that they define. now
// tells the time of conditions; nil is the wall clock.
func Install(server *api.Server, now func() time.Time) error {
	if now == nil {
		now = time.Now
	}
	c := &controller{server: server, now: now, served: map[string]served{}}
	return server.Registry().Add(scheme(), c.kind())
}

// scheme has the types of definitions. It never changes, so that all servers share it.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := apiextensions.AddToScheme(s); err != nil {
		panic(err) // a mistake of the library, which each test would find
	}
	return s
})

// NewRegistry returns a registry of the kinds of Kubernetes and of the definitions themselves,
// for reading manifests. A server gets its own by Install.
func NewRegistry() *registry.Registry {
	registry := registry.New()
	if err := registry.Add(scheme(), (&controller{}).kind()); err != nil {
		panic(err) // a mistake in the entry, which each test would find
	}
	return registry
}

// controller keeps the registry of a server and the statuses of definitions in step with
// what the definitions say.
type controller struct {
	server *api.Server
	now    func() time.Time

	mu sync.Mutex
	// running is set while changes are carried out, dirty if more have come.
	running, dirty bool
	served         map[string]served // by the name of the definition
}

// served holds the registry's entries of a definition.
type served struct {
	kind schema.GroupKind
	// generation is that of the definition, sealed says whether no objects can be created.
	generation int64
	uid        string
	sealed     bool
}

// changed follows a change of a definition, or of an object that keeps one from being
// deleted. Its own writes lead back here: then the call under way goes on with them.
func (c *controller) changed() {
	c.mu.Lock()
	c.dirty = true
	if c.running {
		c.mu.Unlock()
		return
	}
	c.running = true
	for c.dirty {
		c.dirty = false
		c.mu.Unlock()
		c.sync()
		c.mu.Lock()
	}
	c.running = false
	c.mu.Unlock()
}

// sync takes the next step for each definition, in order of their names. Each write that it
// makes has it called again.
func (c *controller) sync() {
	all := c.list()
	for i := range all {
		c.syncOne(&all[i], all)
	}
	c.unregister(all)
}

func (c *controller) syncOne(def *apiextensions.CustomResourceDefinition, all []apiextensions.CustomResourceDefinition) {
	if def.DeletionTimestamp != nil {
		c.finalize(def)
		return
	}
	if c.name(def, all) || !isTrue(def, apiextensions.NamesAccepted) {
		return
	}
	if err := c.register(def, false); err != nil {
		c.setConditions(def, condition(apiextensions.Established, false, "NotAccepted", err.Error()))
		return
	}
	if !isTrue(def, apiextensions.Established) {
		c.approve(def)
		c.setConditions(def, condition(apiextensions.Established, true, "InitialNamesAccepted", "the initial names have been accepted"))
	}
}

// approve says in a condition who has approved of a definition in a group of Kubernetes.
// Upstream: controller/apiapproval calculateCondition, v1.37.
func (c *controller) approve(def *apiextensions.CustomResourceDefinition) {
	if !apihelpers.IsProtectedCommunityGroup(def.Spec.Group) {
		return
	}
	switch state, reason := apihelpers.GetAPIApprovalState(def.Annotations); state {
	case apihelpers.APIApproved:
		c.set(def, condition(apiextensions.KubernetesAPIApprovalPolicyConformant, true, "ApprovedAnnotation", reason))
	case apihelpers.APIApprovalBypassed:
		c.set(def, condition(apiextensions.KubernetesAPIApprovalPolicyConformant, false, "UnapprovedAnnotation", reason))
	}
}

// register has the registry serve what the definition says.
func (c *controller) register(def *apiextensions.CustomResourceDefinition, sealed bool) error {
	want := served{
		kind:       schema.GroupKind{Group: def.Spec.Group, Kind: def.Status.AcceptedNames.Kind},
		generation: def.Generation, uid: string(def.UID), sealed: sealed,
	}
	c.mu.Lock()
	is, ok := c.served[def.Name]
	c.mu.Unlock()
	if ok && is == want {
		return nil
	}
	kinds, err := c.kindsOf(def, sealed)
	if err != nil {
		return err
	}
	if ok && is.uid == want.uid {
		err = c.server.Registry().Replace(is.kind, nil, kinds...)
	} else {
		err = c.server.Registry().Add(nil, kinds...)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served[def.Name] = want
	return nil
}

// unregister takes the kinds out whose definitions are gone.
func (c *controller) unregister(all []apiextensions.CustomResourceDefinition) {
	there := map[string]string{}
	for i := range all {
		there[all[i].Name] = string(all[i].UID)
	}
	c.mu.Lock()
	var gone []schema.GroupKind
	for name, is := range c.served {
		if there[name] != is.uid {
			gone = append(gone, is.kind)
			delete(c.served, name)
		}
	}
	c.mu.Unlock()
	for _, kind := range gone {
		c.server.Registry().Remove(kind)
	}
}

// list returns all definitions, in order of their names. Their specs, the schemas, are the server's own: only
// what a controller writes, the metadata and the status, is a copy.
func (c *controller) list() []apiextensions.CustomResourceDefinition {
	list, err := c.do(api.Request{Verb: "list"})
	if err != nil {
		return nil // the server always has the kind
	}
	all := list.(*apiextensions.CustomResourceDefinitionList).Items
	for i := range all {
		all[i].ObjectMeta, all[i].Status = *all[i].ObjectMeta.DeepCopy(), *all[i].Status.DeepCopy()
	}
	return all
}

// do carries out a request about definitions. The answer is only to be read.
func (c *controller) do(req api.Request) (runtime.Object, error) {
	req.Actor, req.Resource, req.Shared = Actor, resource, true
	return c.server.Do(context.Background(), req)
}

// updateStatus writes the status of a definition, without its spec, which such a write leaves alone. One that has changed
// meanwhile is left for the next call.
func (c *controller) updateStatus(def *apiextensions.CustomResourceDefinition) {
	object := &apiextensions.CustomResourceDefinition{TypeMeta: def.TypeMeta, ObjectMeta: *def.ObjectMeta.DeepCopy(), Status: *def.Status.DeepCopy()}
	_, _ = c.do(api.Request{Verb: "update", Subresource: "status", Name: def.Name, Object: object})
}

// setConditions writes conditions into the status, unless they say the same already.
func (c *controller) setConditions(def *apiextensions.CustomResourceDefinition, conditions ...apiextensions.CustomResourceDefinitionCondition) {
	changed := false
	for _, one := range conditions {
		changed = c.set(def, one) || changed
	}
	if changed {
		c.updateStatus(def)
	}
}

// set puts a condition into the status, and says whether it says anything new.
func (c *controller) set(def *apiextensions.CustomResourceDefinition, is apiextensions.CustomResourceDefinitionCondition) bool {
	is.LastTransitionTime = metav1.NewTime(c.now().UTC().Truncate(time.Second))
	was := find(def, is.Type)
	if was == nil {
		def.Status.Conditions = append(def.Status.Conditions, is)
		return true
	}
	if was.Status == is.Status {
		is.LastTransitionTime = was.LastTransitionTime
	}
	same := was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message
	*was = is
	return !same
}

func find(def *apiextensions.CustomResourceDefinition,
	kind apiextensions.CustomResourceDefinitionConditionType) *apiextensions.CustomResourceDefinitionCondition {
	for i := range def.Status.Conditions {
		if def.Status.Conditions[i].Type == kind {
			return &def.Status.Conditions[i]
		}
	}
	return nil
}

func isTrue(def *apiextensions.CustomResourceDefinition, kind apiextensions.CustomResourceDefinitionConditionType) bool {
	c := find(def, kind)
	return c != nil && c.Status == apiextensions.ConditionTrue
}

func condition(kind apiextensions.CustomResourceDefinitionConditionType, is bool, reason, message string) apiextensions.CustomResourceDefinitionCondition {
	status := apiextensions.ConditionFalse
	if is {
		status = apiextensions.ConditionTrue
	}
	return apiextensions.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message}
}

// notServed returns the error of a version that cannot be registered.
func notServed(version string, err error) error { return fmt.Errorf("version %s: %w", version, err) }
