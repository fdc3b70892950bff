package api_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func TestListsAreSelectedByLabelsFieldsAndNamespace(t *testing.T) {
	_, c := newServer()
	a := podOn("a", "node-1")
	a.Labels = map[string]string{"app": "web"}
	createPod(t, c, a)
	createPod(t, c, podOn("b", "node-2"))
	other := podOn("c", "node-1")
	other.Namespace = "kube-system"
	createPod(t, c, other)
	_, err := c.CoreV1().Pods("default").Patch(ctx, "b", types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	for _, tc := range []struct {
		namespace string
		opts      metav1.ListOptions
		names     []string
	}{
		{"", metav1.ListOptions{}, []string{"a", "b", "c"}},
		{"default", metav1.ListOptions{}, []string{"a", "b"}},
		{"", metav1.ListOptions{LabelSelector: "app in (web,db)"}, []string{"a"}},
		{"", metav1.ListOptions{LabelSelector: "!app"}, []string{"b", "c"}},
		{"", metav1.ListOptions{FieldSelector: "spec.nodeName=node-1"}, []string{"a", "c"}},
		{"", metav1.ListOptions{FieldSelector: "spec.nodeName!=node-1"}, []string{"b"}},
		{"", metav1.ListOptions{FieldSelector: "spec.host=node-1"}, []string{"a", "c"}},
		{"", metav1.ListOptions{FieldSelector: "status.phase=Running"}, []string{"b"}},
		{"", metav1.ListOptions{FieldSelector: "spec.schedulerName=default-scheduler,metadata.namespace=kube-system"}, []string{"c"}},
		{"", metav1.ListOptions{FieldSelector: "metadata.name=a"}, []string{"a"}},
	} {
		list, err := c.CoreV1().Pods(tc.namespace).List(ctx, tc.opts)
		require.NoError(t, err)
		var names []string
		for _, p := range list.Items {
			names = append(names, p.Name)
		}
		assert.Equal(t, tc.names, names, "%+v", tc.opts)
	}
}

func TestAFieldThatCannotBeSelectedByIsABadRequest(t *testing.T) {
	_, c := newServer()
	_, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
	assert.True(t, apierrors.IsBadRequest(err))
	assert.EqualError(t, err, "field label not supported: spec.color")
	_, err = c.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
	assert.EqualError(t, err, `"spec.color" is not a known field selector: only "metadata.name", "metadata.namespace"`)
	_, err = c.CoreV1().PersistentVolumes().Watch(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
	assert.True(t, apierrors.IsBadRequest(err))

	noNamespace := metav1.ListOptions{FieldSelector: "metadata.namespace!=x"}
	_, err = c.CoreV1().Nodes().List(ctx, noNamespace)
	assert.EqualError(t, err, "field label not supported: metadata.namespace")
	_, err = c.CoreV1().Namespaces().Watch(ctx, noNamespace)
	assert.EqualError(t, err, "field label not supported: metadata.namespace")
	_, err = c.CoreV1().PersistentVolumes().List(ctx, noNamespace) // this kind has no fields of its own
	assert.NoError(t, err)
}

func TestALongListComesInPages(t *testing.T) {
	_, c := newServer()
	for i := range 25 {
		createMap(t, c, configMap(fmt.Sprintf("m-%02d", i)))
	}
	maps := c.CoreV1().ConfigMaps("default")
	var names []string
	opts := metav1.ListOptions{Limit: 10}
	first := ""
	for {
		list, err := maps.List(ctx, opts)
		require.NoError(t, err)
		if first == "" {
			first = list.ResourceVersion
			assert.EqualValues(t, 15, *list.RemainingItemCount)
			createMap(t, c, configMap("m-99"))
		}
		assert.Equal(t, first, list.ResourceVersion, "all pages are of one version")
		for _, m := range list.Items {
			names = append(names, m.Name)
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	assert.Len(t, names, 25, "m-99 came after the first page")
	assert.IsIncreasing(t, names)
	_, err := maps.List(ctx, metav1.ListOptions{Limit: 1, Continue: "nonsense"})
	assert.True(t, apierrors.IsBadRequest(err))
}

func TestAContinueTokenExpires(t *testing.T) {
	c := fake.New(api.NewServer(api.Config{LogLimit: 5}), "user")
	maps := c.CoreV1().ConfigMaps("default")
	m := createMap(t, c, configMap("a"))
	createMap(t, c, configMap("b"))
	list, err := maps.List(ctx, metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	for i := range 10 {
		m = updateMap(t, c, m, fmt.Sprint(i))
	}
	_, err = maps.List(ctx, metav1.ListOptions{Limit: 1, Continue: list.Continue})
	assert.True(t, apierrors.IsResourceExpired(err), err)
}

func TestNamespacesAreChecked(t *testing.T) {
	_, c := newServer()
	lost := configMap("a")
	lost.Namespace = "missing"
	_, err := c.CoreV1().ConfigMaps("missing").Create(ctx, lost, metav1.CreateOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	assert.EqualError(t, err, `namespaces "missing" not found`)

	namespaces := c.CoreV1().Namespaces()
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, v1.NamespaceActive, ns.Status.Phase)
		assert.Equal(t, name, ns.Labels[v1.LabelMetadataName])
	}
	assert.True(t, apierrors.IsForbidden(namespaces.Delete(ctx, "default", metav1.DeleteOptions{})))

	ns, err := namespaces.Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, []v1.FinalizerName{v1.FinalizerKubernetes}, ns.Spec.Finalizers)
	inTeam := configMap("a")
	inTeam.Namespace = "team"
	inTeam = createMap(t, c, inTeam)
	require.NoError(t, namespaces.Delete(ctx, "team", metav1.DeleteOptions{}))
	ns, err = namespaces.Get(ctx, "team", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.NamespaceTerminating, ns.Status.Phase)
	again := configMap("b")
	again.Namespace = "team"
	_, err = c.CoreV1().ConfigMaps("team").Create(ctx, again, metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err))
	assert.EqualError(t, err, `configmaps "b" is forbidden: unable to create new content in namespace team because it is being terminated`)
	assert.True(t, apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause))
	updateMap(t, c, inTeam, "changes are allowed")

	ns.Spec.Finalizers = nil
	kept, err := namespaces.Update(ctx, ns, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, kept.Spec.Finalizers, "only finalize changes them")
	_, err = namespaces.Finalize(ctx, ns, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = namespaces.Get(ctx, "team", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

func TestAContinuedPageShowsTheStateOfTheFirst(t *testing.T) {
	_, c := newServer()
	for _, name := range []string{"a", "b", "c", "d"} {
		createPod(t, c, podOn(name, "node-1"))
	}
	first, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.NoError(t, c.CoreV1().Pods("default").Delete(ctx, "c", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	_, err = c.CoreV1().Pods("default").Patch(ctx, "d", types.MergePatchType, []byte(`{"metadata":{"labels":{"new":"1"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	createPod(t, c, podOn("e", "node-1"))
	rest, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Continue: first.Continue})
	require.NoError(t, err)
	require.Len(t, rest.Items, 2)
	assert.Equal(t, "c", rest.Items[0].Name)
	assert.Empty(t, rest.Items[1].Labels, "d was labelled after the first page")
	assert.Equal(t, first.ResourceVersion, rest.ResourceVersion)

	exact, err := c.CoreV1().Pods("default").List(ctx,
		metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	require.NoError(t, err)
	assert.Len(t, exact.Items, 4)
	exact, err = c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	require.NoError(t, err)
	assert.Empty(t, exact.Items)
}

// Upstream: apiserver storage ValidateListOptions, v1.37.2.
func TestAListWithALimitThatAsksForAVersionGetsThatOne(t *testing.T) {
	_, c := newServer()
	first := createPod(t, c, podOn("a", "node-1"))
	createPod(t, c, podOn("b", "node-1"))
	for limit, want := range map[int64]int{0: 2, 10: 1} {
		list, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: limit, ResourceVersion: first.ResourceVersion})
		require.NoError(t, err)
		assert.Len(t, list.Items, want, limit)
	}
}

func TestAListFromTheCacheOfAServerHasNoPages(t *testing.T) {
	_, c := newServer()
	for _, name := range []string{"a", "b", "c"} {
		createPod(t, c, podOn(name, "node-1"))
	}
	list, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: 1, ResourceVersion: "0"})
	require.NoError(t, err)
	assert.Len(t, list.Items, 3)
	assert.Empty(t, list.Continue)
}

func TestAMalformedContinueTokenIsABadRequest(t *testing.T) {
	_, c := newServer()
	for token, want := range map[string]string{
		"bogus": "illegal base64 data at input byte 4",
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"x","rv":5,"start":"c"}`)): "server does not recognize this encoded version x",
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":0,"start":"c"}`)): "incorrect encoded start resourceVersion " +
			"(version meta.k8s.io/v1)",
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":5,"start":"../configmaps"}`)): "../configmaps",
	} {
		_, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: 1, Continue: token})
		assert.True(t, apierrors.IsBadRequest(err))
		assert.EqualError(t, err, "invalid continue token: continue key is not valid: "+want)
	}
	createPod(t, c, podOn("a", "node-1"))
	createPod(t, c, podOn("b", "node-1"))
	list, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	_, err = c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{ResourceVersion: "x", Continue: list.Continue})
	assert.EqualError(t, err, "specifying resource version is not allowed when using continue")
}

func TestASelectedPageGoesOnIfAnythingFollowsIt(t *testing.T) {
	ctx := t.Context()
	c := fake.New(api.NewServer(api.Config{}), "user")
	for name, app := range map[string]string{"a": "x", "b": "y", "c": "y"} {
		_, err := c.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}},
			metav1.CreateOptions{})
		require.NoError(t, err)
	}
	list := func(opts metav1.ListOptions) *v1.ConfigMapList {
		page, err := c.CoreV1().ConfigMaps("default").List(ctx, opts)
		require.NoError(t, err)
		return page
	}
	first := list(metav1.ListOptions{Limit: 1, LabelSelector: "app=x"})
	require.Len(t, first.Items, 1)
	require.NotEmpty(t, first.Continue, "what follows is not selected, and is not looked at")
	require.Nil(t, first.RemainingItemCount)
	second := list(metav1.ListOptions{Limit: 1, LabelSelector: "app=x", Continue: first.Continue})
	require.Empty(t, second.Items)
	require.Empty(t, second.Continue)
	require.Empty(t, list(metav1.ListOptions{Limit: 2, LabelSelector: "app=y"}).Continue, "the last object was selected")
	require.Empty(t, list(metav1.ListOptions{Limit: 1, FieldSelector: "metadata.name=a"}).Continue, "there is one of a name")
}
