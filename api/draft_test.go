package api_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/registry"
)

var slowThings = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "slows"}

// slowServer serves a kind each of whose phases calls during, with its name, while an object is prepared.
func slowServer(t *testing.T, during func(phase string)) (*api.Server, *fake.Clientset) {
	s, c := newServer()
	phase := func(name string) field.ErrorList { during(name); return nil }
	require.NoError(t, s.Registry().Add(nil, registry.Kind{
		Group: "example.com", Version: "v1", Kind: "Slow", Generations: true,
		Strategy: strategy.Kind{
			Default: func(runtime.Object) { during("default") },
			Create:  func(runtime.Object, metav1.Time) { during("prepare") },
			Update:  func(_, _ runtime.Object) { during("prepare") },
		},
		Fields: map[string]func(runtime.Object) string{"spec.slow": func(runtime.Object) string { during("select"); return "yes" }},
		Validation: validation.Kind{
			Create:       func(runtime.Object) field.ErrorList { return phase("validate") },
			Update:       func(_, _ runtime.Object) field.ErrorList { return phase("validate") },
			UpdateStatus: func(_, _ runtime.Object) field.ErrorList { return phase("validate") },
		},
	}))
	return s, c
}

// slow returns an object of that kind.
func slow(name, version string, content any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"content": content}}}
	u.SetGroupVersionKind(slowThings.GroupVersion().WithKind("Slow"))
	u.SetName(name)
	u.SetResourceVersion(version)
	return u
}

func write(s *api.Server, verb, sub string, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out, err := s.Do(ctx, api.Request{Actor: "slow", Verb: verb, Resource: slowThings, Subresource: sub, Namespace: "default", Name: obj.GetName(),
		Object: obj.DeepCopy()})
	if err != nil {
		return nil, err
	}
	return out.(*unstructured.Unstructured), nil
}

// In each phase of each write another client's writes and reads get through: the write below has returned before the phase
// ends, or the test would not end.
func TestOthersWriteWhileAnObjectIsPrepared(t *testing.T) {
	var c *fake.Clientset
	var n int
	seen := map[string]int{}
	others := func(phase string) {
		seen[phase]++
		n++
		done := make(chan error)
		go func() {
			_, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim(fmt.Sprint("other-", n)), metav1.CreateOptions{})
			done <- err
		}()
		require.NoError(t, <-done)
	}
	s, client := slowServer(t, others)
	c = client
	made, err := write(s, "create", "", slow("one", "", "a"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"default": 1, "prepare": 1, "validate": 1}, seen)
	changed, err := write(s, "update", "", slow("one", made.GetResourceVersion(), "b"))
	require.NoError(t, err)
	require.EqualValues(t, 2, changed.GetGeneration())
	_, err = write(s, "update", "status", slow("one", "", "b"))
	require.NoError(t, err)
	_, err = s.Do(ctx, api.Request{Actor: "slow", Verb: "patch", Resource: slowThings, Namespace: "default", Name: "one", PatchType: types.MergePatchType,
		Patch: []byte(`{"spec":{"content":"c"}}`)})
	require.NoError(t, err)
	_, err = s.Do(ctx, api.Request{Actor: "slow", Verb: "patch", Resource: slowThings, Namespace: "default", Name: "one", PatchType: types.ApplyPatchType,
		Patch: []byte(`{"apiVersion":"example.com/v1","kind":"Slow","metadata":{"name":"one"},"spec":{"content":"d"}}`),
		Write: metav1.PatchOptions{FieldManager: "m", Force: new(true)}})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"default": 5, "prepare": 4, "validate": 5}, seen)

	// The same holds for lists and watches, whose selectors may be long.
	list := api.Request{Actor: "slow", Verb: "list", Resource: slowThings, Namespace: "default", List: metav1.ListOptions{FieldSelector: "spec.slow=yes"}}
	out, err := s.Do(ctx, list)
	require.NoError(t, err)
	require.Len(t, out.(*unstructured.UnstructuredList).Items, 1)
	list.Verb = "watch"
	w, err := s.Watch(ctx, list)
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, watch.Added, (<-w.ResultChan()).Type)
	require.Equal(t, 2, seen["select"])
}

// An object that another client wrote meanwhile is prepared again, until the client goes.
func TestAnObjectThatChangesMeanwhileIsPreparedAgain(t *testing.T) {
	var s *api.Server
	stop := func() {}
	writes, busy := 0, false // how often the object is still written meanwhile, and whether it is being
	s, _ = slowServer(t, func(phase string) {
		if phase != "validate" || writes == 0 || busy {
			return
		}
		busy, writes = true, writes-1
		_, err := write(s, "update", "", slow("one", "", fmt.Sprint("meanwhile ", writes)))
		require.NoError(t, err)
		busy = false
		stop()
	})
	made, err := write(s, "create", "", slow("one", "", "a"))
	require.NoError(t, err)

	merge := func() (runtime.Object, error) {
		return s.Do(ctx, api.Request{Actor: "slow", Verb: "patch", Resource: slowThings, Namespace: "default", Name: "one", PatchType: types.MergePatchType,
			Patch: []byte(`{"spec":{"more":"x"}}`)})
	}
	for name, again := range map[string]func() (runtime.Object, error){
		"patch":  merge,
		"update": func() (runtime.Object, error) { return write(s, "update", "", slow("one", "", "mine")) },
	} {
		writes = 12
		_, err = again()
		require.NoError(t, err, name)
		require.Zero(t, writes, name)
	}
	writes = 1
	out, err := merge()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"content": "meanwhile 0", "more": "x"}, out.(*unstructured.Unstructured).Object["spec"],
		"the patch is applied to what is there now")

	writes = 1
	_, err = write(s, "update", "", slow("one", out.(*unstructured.Unstructured).GetResourceVersion(), "b"))
	require.True(t, apierrors.IsConflict(err), "an update that names a version is tried once: %v", err)
	require.Zero(t, writes)
	_, err = write(s, "update", "", slow("one", made.GetResourceVersion(), "b"))
	require.True(t, apierrors.IsConflict(err))

	impatient, cancel := context.WithCancel(ctx)
	stop = func() {
		if writes == 100 {
			cancel()
		}
	}
	writes = 103
	_, err = s.Do(impatient, api.Request{Actor: "slow", Verb: "update", Resource: slowThings, Namespace: "default", Name: "one", Object: slow("one", "", "late")})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 100, writes)
}

// A name that is free while an object is prepared may be taken when it is stored, and the other way round.
func TestANewObjectIsCheckedAgainWhenItIsStored(t *testing.T) {
	var s *api.Server
	var during func()
	s, c := slowServer(t, func(phase string) {
		if then := during; phase == "validate" && then != nil {
			during = nil
			then()
		}
	})
	create := func(name string) *unstructured.Unstructured {
		made, err := write(s, "create", "", slow(name, "", "a"))
		require.NoError(t, err)
		return made
	}
	remove := func(name string) {
		_, err := s.Do(ctx, api.Request{Actor: "slow", Verb: "delete", Resource: slowThings, Namespace: "default", Name: name})
		require.NoError(t, err)
	}
	during = func() { create("one") }
	_, err := write(s, "create", "", slow("one", "", "a"))
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)

	var uid types.UID
	during = func() { uid = create("two").GetUID(); remove("two") }
	require.NotEqual(t, uid, create("two").GetUID(), "a UID is never given twice")

	during = func() {
		require.NoError(t, c.CoreV1().Namespaces().Delete(ctx, "default-2", metav1.DeleteOptions{}))
	}
	_, err = c.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default-2"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = s.Do(ctx, api.Request{Actor: "slow", Verb: "create", Resource: slowThings, Namespace: "default-2", Object: slow("three", "", "a")})
	require.True(t, apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause), "%v", err)
}

// Clients beside each other never get one name, address, port or UID twice, and no quota is overdrawn.
func TestClientsBesideEachOtherShareNothingTwice(t *testing.T) {
	s, c := newServer()
	_, err := c.CoreV1().ResourceQuotas("default").Create(ctx, &v1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{"count/configmaps": resource.MustParse("20")}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	q, err := c.CoreV1().ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{})
	require.NoError(t, err)
	q.Status = v1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: v1.ResourceList{"count/configmaps": resource.MustParse("0")}}
	_, err = c.CoreV1().ResourceQuotas("default").UpdateStatus(ctx, q, metav1.UpdateOptions{})
	require.NoError(t, err)

	const clients, each = 8, 20
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			own := fake.New(s, fmt.Sprint("client-", n))
			for i := range each {
				service, err := own.CoreV1().Services("default").Create(ctx, &v1.Service{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeNodePort, Ports: []v1.ServicePort{{Port: 80}}},
				}, metav1.CreateOptions{})
				if assert.NoError(t, err) && i%4 == 3 {
					assert.NoError(t, own.CoreV1().Services("default").Delete(ctx, service.Name, metav1.DeleteOptions{}))
				}
				_, err = own.BatchV1().Jobs("default").Create(ctx, &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "j-"},
					Spec: batchv1.JobSpec{Template: v1.PodTemplateSpec{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever,
						Containers: []v1.Container{{Name: "c", Image: "i"}}}}},
				}, metav1.CreateOptions{})
				assert.NoError(t, err)
				_, err = own.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}}, metav1.CreateOptions{})
				assert.True(t, err == nil || apierrors.IsForbidden(err), "%v", err)
			}
		})
	}
	all.Wait()
	services, err := c.CoreV1().Services("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, services.Items, clients*each*3/4)
	addresses, ports := map[string]bool{}, map[int32]bool{}
	for i := range services.Items {
		addresses[services.Items[i].Spec.ClusterIP], ports[services.Items[i].Spec.Ports[0].NodePort] = true, true
	}
	require.Len(t, addresses, len(services.Items))
	require.Len(t, ports, len(services.Items))
	jobs, err := c.BatchV1().Jobs("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, jobs.Items, clients*each)
	for i := range jobs.Items {
		require.Equal(t, string(jobs.Items[i].UID), jobs.Items[i].Spec.Selector.MatchLabels[batchv1.ControllerUidLabel])
	}
	maps, err := c.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, maps.Items, 20)
}

// What a service asked for and did not get is free again: after a refusal, a dry run, a change and the end of the service.
func TestAddressesAndPortsAreFreeAgain(t *testing.T) {
	_, c := newServer()
	services := c.CoreV1().Services("default")
	service := func(name, ip string, port int32) *v1.Service {
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeNodePort, ClusterIP: ip, Ports: []v1.ServicePort{{Port: 80, NodePort: port}},
		}}
	}
	const ip, port = "10.96.0.77", 30077
	bad := service("Bad_Name", ip, port)
	_, err := services.Create(ctx, bad, metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err))
	_, err = services.Create(ctx, service("dry", ip, port), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	one, err := services.Create(ctx, service("one", ip, port), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = services.Create(ctx, service("two", ip, 0), metav1.CreateOptions{})
	require.ErrorContains(t, err, "provided IP is already allocated")
	_, err = services.Create(ctx, service("two", "", port), metav1.CreateOptions{})
	require.ErrorContains(t, err, "provided port is already allocated")
	one.Spec.Ports[0].NodePort++
	_, err = services.Update(ctx, one, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = services.Create(ctx, service("two", "", port), metav1.CreateOptions{})
	require.NoError(t, err, "one has another port now")
	require.NoError(t, services.Delete(ctx, "one", metav1.DeleteOptions{}))
	_, err = services.Create(ctx, service("three", ip, port+1), metav1.CreateOptions{})
	require.NoError(t, err)
}

// A client's address is one of the range that kubeadm gives a cluster, or of a ServiceCIDR's, and neither the first nor the last of it. A dry run
// asks the first range alone what it would say.
func TestAServiceHasAnAddressOfTheRangesOfTheCluster(t *testing.T) {
	_, c := newServer()
	service := func(ip string) *v1.Service {
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: v1.ServiceSpec{ClusterIP: ip, Ports: []v1.ServicePort{{Port: 80}}}}
	}
	refused := func(ip, why string, dry ...string) {
		t.Helper()
		_, err := c.CoreV1().Services("default").Create(ctx, service(ip), metav1.CreateOptions{DryRun: dry})
		require.EqualError(t, err, `Service "x" is invalid: spec.clusterIPs: Invalid value: ["`+ip+`"]: failed to allocate IP `+ip+": "+why)
	}
	taken := func(ip string) {
		t.Helper()
		_, err := c.CoreV1().Services("default").Create(ctx, service(ip), metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, c.CoreV1().Services("default").Delete(ctx, "x", metav1.DeleteOptions{}))
	}
	const elsewhere = "the provided network does not match the current range"
	within := func(ip string) string {
		return "the provided IP (" + ip + ") is not in the valid range. The range of valid IPs is 10.96.0.0/12"
	}
	refused("10.43.0.10", elsewhere)
	refused("10.43.0.10", within("10.43.0.10"), metav1.DryRunAll)
	refused("10.96.0.0", within("10.96.0.0"))
	refused("10.111.255.255", within("10.111.255.255"))
	taken("10.96.0.2")
	taken("10.111.255.254")

	more := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.43.0.0/16"}}}
	more, err := c.NetworkingV1().ServiceCIDRs().Create(ctx, more, metav1.CreateOptions{})
	require.NoError(t, err)
	taken("10.43.0.10")
	more.Status.Conditions = []metav1.Condition{{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionFalse, Reason: "Terminating", LastTransitionTime: metav1.Now(),
	}}
	_, err = c.NetworkingV1().ServiceCIDRs().UpdateStatus(ctx, more, metav1.UpdateOptions{})
	require.NoError(t, err)
	refused("10.43.0.10", elsewhere)
}

// Ports of one number, such as one for TCP and one for UDP, share a port of the nodes. A change is asked for its ports before anything else, and one
// that wants one twice is an error of the server's.
func TestAServiceHasAPortOfTheNodesForEachNumber(t *testing.T) {
	_, c := newServer()
	services := c.CoreV1().Services("default")
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeNodePort, Ports: []v1.ServicePort{
		{Name: "a", Port: 53, Protocol: v1.ProtocolTCP}, {Name: "b", Port: 53, Protocol: v1.ProtocolUDP}, {Name: "c", Port: 54},
	}}}
	made, err := services.Create(ctx, service, metav1.CreateOptions{})
	require.NoError(t, err)
	ports := made.Spec.Ports
	require.Equal(t, ports[0].NodePort, ports[1].NodePort)
	require.NotEqual(t, ports[0].NodePort, ports[2].NodePort)

	service.Name, service.Spec.Ports[1].NodePort = "y", 30053
	named, err := services.Create(ctx, service, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []int32{30053, 30053}, []int32{named.Spec.Ports[0].NodePort, named.Spec.Ports[1].NodePort}, "the one that is named further on")
	service.Name = "z"
	_, err = services.Create(ctx, service, metav1.CreateOptions{})
	require.EqualError(t, err, `Service "z" is invalid: spec.ports[0].nodePort: Invalid value: 30053: provided port is already allocated`)

	made.Spec.Ports = []v1.ServicePort{{Name: "a", Port: 53, NodePort: 30099}, {Name: "a", Port: 54, NodePort: 30099}}
	_, err = services.Update(ctx, made, metav1.UpdateOptions{})
	require.EqualError(t, err, "duplicate nodePort: {TCP 30099}")
	require.Equal(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err), "upstream gives it none")

	balancer := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "balancer"}, Spec: v1.ServiceSpec{
		Type: v1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: new(bool), ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyLocal,
		HealthCheckNodePort: 30053, Ports: []v1.ServicePort{{Port: 1, NodePort: 30053}},
	}}
	_, err = services.Create(ctx, balancer, metav1.CreateOptions{})
	require.EqualError(t, err, `Service "balancer" is invalid: spec.ports[0].nodePort: Invalid value: 30053: provided port is already allocated`)
	balancer.Spec.Ports[0].NodePort = 0
	_, err = services.Create(ctx, balancer, metav1.CreateOptions{})
	require.EqualError(t, err, "Internal error occurred: failed to allocate requested HealthCheck NodePort 30053: provided port is already allocated")
	balancer.Spec.HealthCheckNodePort = 30054
	made, err = services.Create(ctx, balancer, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []int32{0, 30054}, []int32{made.Spec.Ports[0].NodePort, made.Spec.HealthCheckNodePort})
}
