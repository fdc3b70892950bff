package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

func TestNewClaimsAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	const badClass = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
		`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	refusesNew(t, apitest.GoodClaim, []refusal{
		// The first three are recorded from kube-apiserver v1.36.3.
		{"without access modes", "spec: {accessModes: null}",
			[]string{"spec.accessModes: Required value: at least 1 access mode is required"}},
		{"without a request", "spec: {resources: null}",
			[]string{"spec.resources[storage]: Required value"}},
		{"ReadWriteOncePod with another mode", "spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce]}",
			[]string{"spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"}},

		{"an unknown access mode", "spec: {accessModes: [ReadWrite]}",
			[]string{`spec.accessModes: Unsupported value: "ReadWrite": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`}},
		{"a request of nothing", "spec: {resources: {requests: {storage: 0}}}",
			[]string{`spec.resources[storage]: Invalid value: "0": must be greater than zero`}},
		{"a negative request", "spec: {resources: {requests: {storage: -1Gi}}}",
			[]string{`spec.resources[storage]: Invalid value: "-1Gi": must be greater than zero`}},
		{"a bad class name", "spec: {storageClassName: No_Class}",
			[]string{`spec.storageClassName: Invalid value: "No_Class": ` + badClass}},
		{"a bad attributes class name", "spec: {volumeAttributesClassName: No_Class}",
			[]string{`spec.volumeAttributesClassName: Invalid value: "No_Class": ` + badClass}},
		{"an unknown volume mode", "spec: {volumeMode: Tape}",
			[]string{`spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`}},
		{"a bad selector", "spec: {selector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}",
			[]string{`spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`}},
		{"a reference without a kind", "spec: {dataSourceRef: {name: x, apiGroup: example.com}}",
			[]string{"spec.dataSource.kind: Required value", "spec.dataSourceRef.kind: Required value"}},
		{"a core object that is no claim", "spec: {dataSourceRef: {name: x, kind: Pod}}", []string{
			`spec.dataSource: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
			`spec.dataSourceRef: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the default apiGroup`}},
		{"two data sources", "spec: {dataSource: {name: a, kind: PersistentVolumeClaim}, dataSourceRef: {name: b, kind: PersistentVolumeClaim}}",
			[]string{`spec: Invalid value: {}: must match dataSourceRef`}},
		{"no namespace", "metadata: {namespace: null}", []string{"metadata.namespace: Required value"}},
	})
}

// claimIn returns a stored claim in a phase of its life.
func claimIn(t *testing.T, phase v1.PersistentVolumeClaimPhase, patches ...string) *v1.PersistentVolumeClaim {
	claim := apitest.Created(t, apitest.GoodClaim, patches...).(*v1.PersistentVolumeClaim)
	claim.Status.Phase = phase
	if phase == v1.ClaimBound {
		claim.Spec.VolumeName = "pv"
		claim.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}
	}
	return claim
}

const specIsImmutable = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"

// semantics 8 must 7 and 8.
func TestAClaimMayChangeOnlyWhatItsPhaseAllows(t *testing.T) {
	const gold = "spec: {volumeAttributesClassName: gold}"
	request := func(size string) func(*v1.PersistentVolumeClaim) {
		return func(c *v1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
		}
	}
	class := func(name *string) func(*v1.PersistentVolumeClaim) {
		return func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = name }
	}
	current := func(c *v1.PersistentVolumeClaim) { c.Status.CurrentVolumeAttributesClassName = ptr("gold") }

	for _, row := range []struct {
		name   string
		phase  v1.PersistentVolumeClaimPhase
		patch  string // of the claim as created
		stored func(*v1.PersistentVolumeClaim)
		change func(*v1.PersistentVolumeClaim)
		want   []string
	}{
		{"a pending claim may not grow", v1.ClaimPending, "", nil, request("6Gi"), []string{specIsImmutable}},
		{"a bound claim may ask to grow", v1.ClaimBound, "", nil, request("6Gi"), nil},
		{"a bound claim may not shrink below what it has", v1.ClaimBound, "", nil, request("4Gi"),
			[]string{"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"}},
		{"a failed growth may be taken back, but not to what it has", v1.ClaimBound, "spec: {resources: {requests: {storage: 9Gi}}}", nil,
			request("5Gi"), []string{"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"}},
		{"a failed growth may be taken back in part", v1.ClaimBound, "spec: {resources: {requests: {storage: 9Gi}}}", nil, request("6Gi"), nil},
		{"the volume may be named once", v1.ClaimPending, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }, nil},
		{"the volume's name may not be cleared", v1.ClaimBound, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "" }, []string{specIsImmutable}},
		{"the volume may not be exchanged", v1.ClaimBound, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "other" }, []string{specIsImmutable}},
		{"access modes are fixed", v1.ClaimBound, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.AccessModes[0] = v1.ReadWriteMany }, []string{specIsImmutable}},
		{"the volume mode is fixed, and said twice", v1.ClaimPending, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeMode = ptr(v1.PersistentVolumeBlock) },
			[]string{specIsImmutable, `volumeMode: Invalid value: "Block": field is immutable`}},
		{"limits are fixed", v1.ClaimBound, "", nil, func(c *v1.PersistentVolumeClaim) {
			c.Spec.Resources.Limits = v1.ResourceList{v1.ResourceStorage: resource.MustParse("9Gi")}
		}, []string{specIsImmutable}},
		{"the selector is fixed", v1.ClaimPending, "spec: {selector: {matchLabels: {a: b}}}", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.Selector.MatchLabels["a"] = "c" }, []string{specIsImmutable}},
		{"the class may be set once", v1.ClaimPending, "spec: {storageClassName: null}", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr("late") }, nil},
		{"the class may not change", v1.ClaimPending, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr("other") }, []string{specIsImmutable}},
		{"the class may not be cleared", v1.ClaimPending, "", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }, []string{specIsImmutable}},
		{"the class annotation is fixed", v1.ClaimPending, "", nil,
			func(c *v1.PersistentVolumeClaim) {
				c.Annotations = map[string]string{v1.BetaStorageClassAnnotation: "x"}
			},
			[]string{`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "x": field is immutable`}},
		{"the class may move from the annotation to the field", v1.ClaimPending,
			"{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}, spec: {storageClassName: null}}", nil,
			func(c *v1.PersistentVolumeClaim) { c.Annotations, c.Spec.StorageClassName = nil, ptr("old") }, nil},
		{"the class may not differ from the annotation", v1.ClaimPending,
			"{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}, spec: {storageClassName: null}}", nil,
			func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr("new") }, []string{specIsImmutable}},
		{"a pending claim keeps its attributes class", v1.ClaimPending, "", nil, class(ptr("gold")), []string{specIsImmutable}},
		{"a bound claim may change its attributes class", v1.ClaimBound, gold, current, class(ptr("silver")), nil},
		{"an attributes class that never took effect may be dropped", v1.ClaimBound, gold, nil, class(nil), nil},
		{"an attributes class in effect may not be dropped", v1.ClaimBound, gold, current, class(nil),
			[]string{"spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"}},
		{"an attributes class in effect may not be emptied", v1.ClaimBound, gold, current, class(ptr("")),
			[]string{"spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			old := claimIn(t, row.phase, row.patch)
			if row.stored != nil {
				row.stored(old)
			}
			claim := old.DeepCopy()
			row.change(claim)
			require.Equal(t, row.want, apitest.Words(update(claim, old)))
		})
	}
}

func TestAClaimsStatusMayNotHoldNonsense(t *testing.T) {
	old := claimIn(t, v1.ClaimBound)
	claim := old.DeepCopy()
	claim.Status.Capacity[v1.ResourceStorage] = resource.MustParse("-1")
	claim.Status.AllocatedResources = v1.ResourceList{"cpu": resource.MustParse("1")}
	claim.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: "Dreaming"}
	require.Equal(t, []string{
		`status.capacity[storage]: Invalid value: -1: must be a valid resource quantity`,
		`status.allocatedResources: Unsupported value: "cpu": supported values: "storage"`,
		`status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", ` +
			`"ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"`,
	}, apitest.Words(updateStatus(claim, old)))
}

func ptr[T any](value T) *T { return &value }
