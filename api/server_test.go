package api_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/store"
)

// semantics 8 must 1
func TestOfTwoUpdatesFromOneVersionExactlyOneSucceeds(t *testing.T) {
	_, c := newServer()
	base := createMap(t, c, configMap("a"))
	results := make(chan error, 20)
	var wg sync.WaitGroup
	for i := range cap(results) {
		wg.Go(func() {
			mine := base.DeepCopy()
			mine.Data = map[string]string{"writer": strconv.Itoa(i)}
			_, err := c.CoreV1().ConfigMaps("default").Update(ctx, mine, metav1.UpdateOptions{})
			results <- err
		})
	}
	wg.Wait()
	close(results)
	succeeded := 0
	for err := range results {
		if err == nil {
			succeeded++
			continue
		}
		assert.True(t, apierrors.IsConflict(err), err)
		assert.EqualError(t, err,
			`Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`)
	}
	assert.Equal(t, 1, succeeded)
}

func TestAnUpdateWithoutAVersionIsUnconditionalWhereTheKindAllowsThat(t *testing.T) {
	_, c := newServer()
	created := createClaim(t, c, claim("a"))
	created.ResourceVersion = ""
	created.Labels = map[string]string{"new": "label"}
	_, err := c.CoreV1().PersistentVolumeClaims("default").Update(ctx, created, metav1.UpdateOptions{})
	require.NoError(t, err)

	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "example.com", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv")},
	}}
	va, err = c.StorageV1().VolumeAttachments().Create(ctx, va, metav1.CreateOptions{})
	require.NoError(t, err)
	va.ResourceVersion = ""
	_, err = c.StorageV1().VolumeAttachments().Update(ctx, va, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
	assert.ErrorContains(t, err, "metadata.resourceVersion: Invalid value: 0: must be specified for an update")

	capacity, err := c.StorageV1().CSIStorageCapacities("default").Create(ctx, &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csisc-"}, StorageClassName: "fast",
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.StorageV1().CSIStorageCapacities("kube-system").Get(ctx, capacity.Name, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "it has a namespace")
	capacity.ResourceVersion = ""
	_, err = c.StorageV1().CSIStorageCapacities("default").Update(ctx, capacity, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
}

// semantics 8 must 2
func TestVersionsGrowOverAllWritesAndNotWithThoseThatChangeNothing(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	a := createMap(t, c, configMap("a"))
	b := createVolume(t, c, volume("b"))
	a2 := updateMap(t, c, a, "x")
	a3 := updateMap(t, c, a2, "x")
	assert.Equal(t, a2.ResourceVersion, a3.ResourceVersion)
	require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{}))
	list, err := c.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Less(t, version(t, a.ResourceVersion), version(t, b.ResourceVersion))
	assert.Less(t, version(t, b.ResourceVersion), version(t, a2.ResourceVersion))
	assert.Equal(t, version(t, a2.ResourceVersion)+1, version(t, list.ResourceVersion))

	require.Len(t, *seen, 5)
	noop := (*seen)[3]
	assert.Same(t, noop.Old, noop.New)
	assert.Equal(t, 200, noop.Code)
	for i := 1; i < 5; i++ {
		assert.GreaterOrEqual(t, (*seen)[i].RV, (*seen)[i-1].RV)
	}
}

func version(t *testing.T, rv string) uint64 {
	n, err := strconv.ParseUint(rv, 10, 64)
	require.NoError(t, err)
	return n
}

// semantics 8 must 5
func TestUpdateStatusCannotChangeTheSpecAndUpdateCannotChangeTheStatus(t *testing.T) {
	_, c := newServer()
	claims := c.CoreV1().PersistentVolumeClaims("default")
	created := createClaim(t, c, claim("a"))
	created.Spec.VolumeName = "pv"
	created.Status.Phase = v1.ClaimBound
	created.Annotations = map[string]string{"seen": "yes"}
	updated, err := claims.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Empty(t, updated.Spec.VolumeName)
	assert.Equal(t, v1.ClaimBound, updated.Status.Phase)
	assert.Equal(t, "yes", updated.Annotations["seen"], "metadata of a claim may change with its status")

	updated.Spec.VolumeName = "pv"
	updated.Status.Phase = v1.ClaimLost
	updated, err = claims.Update(ctx, updated, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "pv", updated.Spec.VolumeName)
	assert.Equal(t, v1.ClaimBound, updated.Status.Phase)
}

func TestTheStatusOfAVolumeAttachmentComesWithoutMetadata(t *testing.T) {
	_, c := newServer()
	vas := c.StorageV1().VolumeAttachments()
	va, err := vas.Create(ctx, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "example.com", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv")},
	}, Status: storagev1.VolumeAttachmentStatus{Attached: true}}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.False(t, va.Status.Attached)
	va.Labels, va.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	va.Finalizers = []string{"example.com/hold"}
	va.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}}
	va.Status.Attached = true
	va, err = vas.UpdateStatus(ctx, va, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.True(t, va.Status.Attached)
	assert.Empty(t, va.Labels)
	assert.Empty(t, va.Annotations)
	assert.Empty(t, va.Finalizers)
	assert.Empty(t, va.OwnerReferences)
}

func TestTheStatusOfAPodComesWithMetadataButWithoutOwners(t *testing.T) {
	_, c := newServer()
	p := createPod(t, c, pod("web"))
	p.Labels = map[string]string{"a": "b"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}}
	p, err := c.CoreV1().Pods("default").UpdateStatus(ctx, p, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "b"}, p.Labels)
	assert.Empty(t, p.OwnerReferences)
}

func TestANodeRegistersWithItsStatus(t *testing.T) {
	_, c := newServer()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
	node, err := c.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Len(t, node.Status.Conditions, 1)
}

// semantics 8 must 6
func TestAVolumeCreatedAsBoundReadsBackPending(t *testing.T) {
	_, c := newServer()
	pv := volume("pv")
	pv.Status.Phase = v1.VolumeBound
	createVolume(t, c, pv)
	pv, err := c.CoreV1().PersistentVolumes().Get(ctx, "pv", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"kubernetes.io/pv-protection"}, pv.Finalizers)
	assert.Equal(t, []string{"kubernetes.io/pvc-protection"}, createClaim(t, c, claim("a")).Finalizers)
	assert.Equal(t, v1.VolumePending, pv.Status.Phase)
	assert.Equal(t, start.Truncate(time.Second), pv.Status.LastPhaseTransitionTime.UTC())
}

// semantics 8 must 7
func TestAClaimMayGrowOnlyWhenBoundAndItsClassAllowsIt(t *testing.T) {
	_, c := newServer()
	claims := c.CoreV1().PersistentVolumeClaims("default")
	grow := []byte(`{"spec":{"resources":{"requests":{"storage":"6Gi"}}}}`)
	created := createClaim(t, c, claim("a"))
	_, err := claims.Patch(ctx, "a", types.MergePatchType, grow, metav1.PatchOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
	created.Status.Phase = v1.ClaimBound
	created.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}
	_, err = claims.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = claims.Patch(ctx, "a", types.MergePatchType, grow, metav1.PatchOptions{})
	assert.True(t, apierrors.IsForbidden(err), err)
	sc := storageClass("manual")
	sc.AllowVolumeExpansion = ptr.To(true)
	_, err = c.StorageV1().StorageClasses().Create(ctx, sc, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = claims.Patch(ctx, "a", types.MergePatchType, grow, metav1.PatchOptions{})
	require.NoError(t, err)
}

// semantics 8 must 8
func TestClearingVolumeNameAndChangingTheSourceOfAVolumeAreInvalid(t *testing.T) {
	_, c := newServer()
	pvc := claim("a")
	pvc.Spec.VolumeName = "pv"
	createClaim(t, c, pvc)
	_, err := c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"volumeName":null}}`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
	createVolume(t, c, volume("pv"))
	_, err = c.CoreV1().PersistentVolumes().Patch(ctx, "pv", types.MergePatchType, []byte(`{"spec":{"hostPath":{"path":"/other"}}}`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
}

// semantics 8 must 9
func TestAnObjectCreatedAgainHasAnotherUIDAndADeleteOfTheOldOneFails(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	first := createMap(t, c, configMap("a"))
	require.NoError(t, maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &first.UID}}))
	second := createMap(t, c, configMap("a"))
	assert.NotEqual(t, first.UID, second.UID)
	err := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &first.UID}})
	assert.True(t, apierrors.IsConflict(err), err)
	assert.ErrorContains(t, err, `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (`)
	assert.ErrorContains(t, err, "The object might have been deleted and then recreated")
	err = maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}})
	assert.True(t, apierrors.IsConflict(err), err)
	_, err = maps.Update(ctx, first, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), err)
}

// An explanation asks for all objects at each rest: to copy them took a tenth of an exploration.
func TestSharedObjectsSayTheirKindAndLeaveTheServersOwnAsTheyAre(t *testing.T) {
	s, c := newServer()
	createMap(t, c, configMap("a"))
	createClaim(t, c, claim("data"))
	before := s.Objects(false)
	shared := s.Objects(true)
	assert.Equal(t, before, shared)
	for _, obj := range shared {
		require.NotEmpty(t, obj.GetObjectKind().GroupVersionKind().Kind)
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	assert.Equal(t, before, s.Objects(true))
}

// semantics 8 must 10
func TestWhatIsReturnedIsACopy(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	cursor := s.Follow(configMaps, store.Selector{}, nil)
	cursor.List()
	maps := c.CoreV1().ConfigMaps("default")
	sent := configMap("a")
	sent.Data, sent.Annotations = map[string]string{"k": "v"}, map[string]string{"k": "v"}
	created := createMap(t, c, sent)
	w, err := maps.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	initial := next(t, w).Object.(*v1.ConfigMap)
	updating := created.DeepCopy()
	updating.Data["k2"] = "v2"
	updated, err := maps.Update(ctx, updating, metav1.UpdateOptions{})
	require.NoError(t, err)
	event := next(t, w).Object.(*v1.ConfigMap)
	patched, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"k3":"v3"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	got, err := maps.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	list, err := maps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	before := fmt.Sprint(*seen, s.Objects(false))
	for _, m := range []*v1.ConfigMap{
		sent, created, updating, updated, patched, got, &list.Items[0], initial, event, s.Objects(false)[0].(*v1.ConfigMap),
	} {
		m.Data["k"], m.Annotations["k"] = "scribbled", "scribbled"
		m.SetLabels(map[string]string{"scribbled": "on"})
	}
	assert.Equal(t, before, fmt.Sprint(*seen, s.Objects(false)), "neither the store nor what was reported")
	assert.NotContains(t, fmt.Sprint(drain(t, cursor)), "scribbled", "nor the log")
	for _, write := range *seen {
		assert.NotContains(t, fmt.Sprint(write.Old, write.New), "scribbled")
	}
	late, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	require.NoError(t, err)
	defer late.Stop()
	assert.NotContains(t, fmt.Sprint(next(t, late), next(t, late)), "scribbled", "nor what a watcher sees later")
}

// semantics 8 must 11
func TestGeneratedNamesAreUniqueAndTheSameForOneSeed(t *testing.T) {
	names := func(seed uint64) []string {
		c := fake.New(api.NewServer(api.Config{Seed: seed}), "user")
		var all []string
		for range 2000 {
			m := createMap(t, c, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "helper-", Namespace: "default"}})
			all = append(all, m.Name)
		}
		return all
	}
	first := names(1)
	seen := map[string]bool{}
	for _, name := range first {
		assert.False(t, seen[name], name)
		assert.Regexp(t, `^helper-[bcdfghjklmnpqrstvwxz2456789]{5}$`, name)
		seen[name] = true
	}
	assert.Equal(t, first, names(1))
	assert.NotEqual(t, first, names(2))
}

// Among 20,000 names of five characters some are drawn twice.
func TestAGeneratedNameThatIsTakenIsDrawnAgain(t *testing.T) {
	s, c := newServer()
	for range 20_000 {
		createMap(t, c, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "helper-", Namespace: "default"}})
	}
	assert.Len(t, s.Objects(false), 20_000+4) // and the namespaces
}

func TestALongGenerateNameIsCut(t *testing.T) {
	_, c := newServer()
	base := ""
	for len(base) < 70 {
		base += "abcdefghij"
	}
	m := createMap(t, c, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: base, Namespace: "default"}})
	assert.Len(t, m.Name, 63)
	assert.Equal(t, base[:58], m.Name[:58])
}

func TestUIDsDependOnTheSeedAndNotOnTheOrderOfCreation(t *testing.T) {
	uids := func(seed uint64, names ...string) map[string]types.UID {
		c := fake.New(api.NewServer(api.Config{Seed: seed}), "user")
		all := map[string]types.UID{}
		for _, name := range names {
			all[name] = createMap(t, c, configMap(name)).UID
		}
		return all
	}
	first := uids(7, "a", "b", "c")
	assert.Equal(t, first, uids(7, "c", "a", "b"))
	assert.NotEqual(t, first, uids(8, "a", "b", "c"))
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, string(first["a"]))
}

// semantics 8 must 13
func TestTheDefaultClassIsSetAtCreationOnly(t *testing.T) {
	_, c := newServer()
	before := claim("before")
	before.Spec.StorageClassName = nil
	createClaim(t, c, before)
	sc := storageClass("standard")
	sc.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	_, err := c.StorageV1().StorageClasses().Create(ctx, sc, metav1.CreateOptions{})
	require.NoError(t, err)
	after := claim("after")
	after.Spec.StorageClassName = nil
	assert.Equal(t, "standard", *createClaim(t, c, after).Spec.StorageClassName)
	got, err := c.CoreV1().PersistentVolumeClaims("default").Get(ctx, "before", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Nil(t, got.Spec.StorageClassName)
}

func TestWhatTheClientSaysAboutSystemFieldsOfANewObjectIsDiscarded(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.UID, m.SelfLink = "mine", "/x"
	m.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
	m.DeletionTimestamp = ptr.To(metav1.NewTime(start))
	m.DeletionGracePeriodSeconds = ptr.To(int64(3))
	m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "me"}}
	got := createMap(t, c, m)
	assert.NotEqual(t, types.UID("mine"), got.UID)
	assert.Equal(t, start.Truncate(time.Second), got.CreationTimestamp.Time)
	assert.Nil(t, got.DeletionTimestamp)
	assert.Nil(t, got.DeletionGracePeriodSeconds)
	assert.Empty(t, got.ManagedFields)
	assert.Empty(t, got.SelfLink)
}

func TestANewObjectMayNotSayWhichVersionItIs(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.ResourceVersion = "77"
	_, err := c.CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{})
	require.EqualError(t, err, "resourceVersion should not be set on objects to be created")
	assert.Equal(t, int32(500), err.(apierrors.APIStatus).Status().Code)
	m.ResourceVersion = "0"
	createMap(t, c, m)
}

func TestSystemFieldsAreKeptOrRefusedInAnUpdate(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	base := createMap(t, c, configMap("a"))

	left := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"x": "y"}}
	got, err := maps.Update(ctx, left, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, base.UID, got.UID)
	assert.Equal(t, base.CreationTimestamp, got.CreationTimestamp)

	for field, change := range map[string]func(*v1.ConfigMap){
		"deletionTimestamp": func(m *v1.ConfigMap) { m.DeletionTimestamp = ptr.To(metav1.NewTime(start)) },
		"deletionGracePeriodSeconds": func(m *v1.ConfigMap) {
			m.DeletionGracePeriodSeconds = ptr.To(int64(3))
		},
	} {
		mine := got.DeepCopy()
		change(mine)
		_, err := maps.Update(ctx, mine, metav1.UpdateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", field, err)
		assert.ErrorContains(t, err, "metadata."+field)
	}
	mine := got.DeepCopy()
	mine.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
	mine, err = maps.Update(ctx, mine, metav1.UpdateOptions{})
	require.NoError(t, err, "the time of creation is what the server says")
	assert.Equal(t, base.CreationTimestamp, mine.CreationTimestamp)
	mine.UID = "another"
	_, err = maps.Update(ctx, mine, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), err)
}

func TestGenerationCountsChangesOfTheSpec(t *testing.T) {
	_, c := newServer()
	pods := c.CoreV1().Pods("default")
	p := createPod(t, c, pod("web"))
	assert.EqualValues(t, 1, p.Generation)
	p.Labels = map[string]string{"a": "b"}
	p, err := pods.Update(ctx, p, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, p.Generation)
	p.Spec.Containers[0].Image = "busybox:2"
	p, err = pods.Update(ctx, p, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 2, p.Generation)
	p.Status.Phase = v1.PodRunning
	p, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 2, p.Generation)
	assert.Zero(t, createClaim(t, c, claim("a")).Generation)
}

func TestADryRunDoesEverythingButTheWrite(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	dry := []string{metav1.DryRunAll}
	maps := c.CoreV1().ConfigMaps("default")
	got, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{DryRun: dry})
	require.NoError(t, err)
	assert.NotEmpty(t, got.UID)
	_, err = maps.Get(ctx, "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	_, err = maps.Create(ctx, configMap("Bad_Name"), metav1.CreateOptions{DryRun: dry})
	assert.True(t, apierrors.IsInvalid(err), err)
	_, err = maps.Create(ctx, configMap("a"), metav1.CreateOptions{DryRun: []string{"Some"}})
	assert.True(t, apierrors.IsInvalid(err), err)
	*seen = nil

	base := createMap(t, c, configMap("a"))
	mine := base.DeepCopy()
	mine.Data = map[string]string{"x": "y"}
	got, err = maps.Update(ctx, mine, metav1.UpdateOptions{DryRun: dry})
	require.NoError(t, err)
	assert.Equal(t, "y", got.Data["x"])
	_, err = maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"x":"z"}}`), metav1.PatchOptions{DryRun: dry})
	require.NoError(t, err)
	require.NoError(t, maps.Delete(ctx, "a", metav1.DeleteOptions{DryRun: dry}))
	got, err = maps.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, base, got)
	assert.Len(t, *seen, 1, "dry runs are not reported")
}

func TestNamesThatAreTakenMissingOrEmpty(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	createMap(t, c, configMap("a"))
	_, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err))
	assert.EqualError(t, err, `configmaps "a" already exists`)
	_, err = maps.Get(ctx, "b", metav1.GetOptions{})
	assert.EqualError(t, err, `configmaps "b" not found`)
	_, err = maps.Update(ctx, configMap("b"), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	assert.True(t, apierrors.IsNotFound(maps.Delete(ctx, "b", metav1.DeleteOptions{})))
	_, err = maps.Create(ctx, configMap(""), metav1.CreateOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
	assert.ErrorContains(t, err, "metadata.name: Required value: name or generateName is required")
	_, err = maps.Get(ctx, "", metav1.GetOptions{})
	assert.EqualError(t, err, "resource name may not be empty")
	_, err = c.CoreV1().ConfigMaps("").Get(ctx, "a", metav1.GetOptions{})
	assert.EqualError(t, err, "an empty namespace may not be set when a resource name is provided")
	_, err = c.CoreV1().ConfigMaps("").Create(ctx, configMap("c"), metav1.CreateOptions{})
	assert.Error(t, err)
	_, err = c.CoreV1().ConfigMaps("kube-system").Create(ctx, configMap("c"), metav1.CreateOptions{})
	assert.EqualError(t, err, "the namespace of the provided object does not match the namespace sent on the request")
	_, err = maps.Create(ctx, nil, metav1.CreateOptions{})
	assert.True(t, apierrors.IsBadRequest(err), err)
}

func TestEveryWriteIsReportedWithWhatItDid(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	createMap(t, c, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "gen-", Namespace: "default"}})
	created := (*seen)[0]
	assert.Equal(t, "create", created.Verb)
	assert.Equal(t, "user", created.Actor)
	assert.Equal(t, "ConfigMap", created.Kind)
	assert.Equal(t, 201, created.Code)
	assert.Nil(t, created.Old)
	assert.Equal(t, nameOf(created.New), created.Name)
	assert.Equal(t, fmt.Sprint(created.RV), created.New.(*v1.ConfigMap).ResourceVersion)
	assert.Equal(t, start, created.Time)

	_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "missing", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	require.Error(t, err)
	refused := (*seen)[1]
	assert.Equal(t, 404, refused.Code)
	assert.Equal(t, err, refused.Err)
	assert.Equal(t, "missing", refused.Name)
	assert.Nil(t, refused.New)

	require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, created.Name, metav1.DeleteOptions{}))
	gone := (*seen)[2]
	assert.Equal(t, "delete", gone.Verb)
	assert.Same(t, created.New, gone.Old)
	assert.Nil(t, gone.New)
	assert.Equal(t, created.Name, nameOf(gone.Last))
}

func TestObjectsAreInOrderAndSayTheirKind(t *testing.T) {
	s, c := newServer()
	createVolume(t, c, volume("b"))
	createVolume(t, c, volume("a"))
	createMap(t, c, configMap("z"))
	var got []string
	for _, obj := range s.Objects(false) {
		got = append(got, obj.GetObjectKind().GroupVersionKind().Kind+" "+nameOf(obj))
	}
	assert.Equal(t, []string{
		"ConfigMap z", "Namespace default", "Namespace kube-node-lease", "Namespace kube-public", "Namespace kube-system",
		"PersistentVolume a", "PersistentVolume b",
	}, got)
}
