package address_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/address"
	"github.com/storagesim/storagesim/api/registry"
)

func of(t *testing.T, resource string) address.Address {
	t.Helper()
	kind, ok := registry.New().Lookup(v1.SchemeGroupVersion.WithResource(resource))
	require.True(t, ok)
	a := address.Address{Verb: "update", Kind: kind, Name: "x"}
	if kind.Namespaced {
		a.Namespace = "default"
	}
	return a
}

func TestAnAddressSaysWhichObjectIsMeant(t *testing.T) {
	for name, test := range map[string]struct {
		change func(a *address.Address)
		want   string
	}{
		"an object":       {func(*address.Address) {}, ""},
		"its status":      {func(a *address.Address) { a.Sub = "status" }, ""},
		"no namespace":    {func(a *address.Address) { a.Namespace = "" }, "an empty namespace may not be set when a resource name is provided"},
		"no name":         {func(a *address.Address) { a.Name = "" }, "resource name may not be empty"},
		"two path parts":  {func(a *address.Address) { a.Name = "a/b" }, `Name parameter invalid: "a/b": may not contain '/'`},
		"an unknown part": {func(a *address.Address) { a.Sub = "scale" }, "the server could not find the requested resource: pods has no scale here"},
	} {
		t.Run(name, func(t *testing.T) {
			a := of(t, "pods")
			test.change(&a)
			if err := a.Check(); test.want != "" {
				require.EqualError(t, err, test.want)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestAConflictNamesTheKeyInEtcdAndADryRunLeavesOutItsPrefix(t *testing.T) {
	for dryRun, key := range map[bool]string{false: "/registry/pods/default/x", true: "/pods/default/x"} {
		a := of(t, "pods")
		a.DryRun = dryRun
		err := a.WrongUID("a", "b")
		assert.True(t, apierrors.IsConflict(err))
		assert.EqualError(t, err, `Operation cannot be fulfilled on pods "x": StorageError: invalid object, Code: 4, Key: `+key+", ResourceVersion: 0, "+
			"AdditionalErrorMsg: Precondition failed: UID in precondition: a, UID in object meta: b")
	}
}

func TestAnUpdateOfAnotherVersionOrObjectIsRefused(t *testing.T) {
	stored := func() *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "b", ResourceVersion: "7"}}
	}
	for name, test := range map[string]struct {
		verb   string
		change func(pod *v1.Pod)
		want   string
	}{
		"the stored one":              {"update", func(*v1.Pod) {}, ""},
		"of no version":               {"update", func(pod *v1.Pod) { pod.ResourceVersion = "" }, ""},
		"of another version":          {"update", func(pod *v1.Pod) { pod.ResourceVersion = "6" }, "the object has been modified; please apply your changes"},
		"of a version without number": {"update", func(pod *v1.Pod) { pod.ResourceVersion = "x" }, `strconv.ParseUint: parsing "x": invalid syntax`},
		"of another object":           {"update", func(pod *v1.Pod) { pod.UID = "a" }, "Precondition failed: UID in precondition: a"},
		"a patch of the UID":          {"patch", func(pod *v1.Pod) { pod.UID = "a" }, ""}, // validation refuses it
	} {
		t.Run(name, func(t *testing.T) {
			a, pod := of(t, "pods"), stored()
			a.Verb = test.verb
			test.change(pod)
			if err := a.CheckVersion(stored(), pod); test.want != "" {
				require.ErrorContains(t, err, test.want)
			} else {
				require.NoError(t, err)
			}
		})
	}
	a, driver := of(t, "pods"), &v1.Pod{}
	a.Kind = conditional(t)
	require.ErrorContains(t, a.CheckVersion(stored(), driver), "metadata.resourceVersion: Invalid value: 0: must be specified for an update")
}

func TestTheUIDOfAFormIsAPreconditionOfItsObject(t *testing.T) {
	a := of(t, "replicationcontrollers")
	a.Sub = "scale"
	require.EqualError(t, a.OtherOwner("a", "b"), `Operation cannot be fulfilled on replicationcontrollers/scale "x": `+
		"Precondition failed: UID in precondition: a, UID in object meta: b")
}

// conditional returns a kind whose updates have to say which version they are based on.
func conditional(t *testing.T) *registry.Entry {
	t.Helper()
	kind, ok := registry.New().Lookup(storagev1.SchemeGroupVersion.WithResource("csidrivers"))
	require.True(t, ok)
	return kind
}
