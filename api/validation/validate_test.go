package validation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
	"github.com/storagesim/storagesim/api/strategy"
)

// A refusal is a change of a good manifest and what is wrong with it then.
type refusal struct {
	name  string
	patch string
	want  []string // the problems, each as "field: type: message"
}

// refusesNew checks that the manifest is good and that each change of it is refused.
func refusesNew(t *testing.T, manifest string, table []refusal) {
	t.Helper()
	require.Empty(t, apitest.Words(Create(apitest.Created(t, manifest))), "the manifest itself is good")
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, apitest.Words(Create(apitest.Created(t, manifest, row.patch))))
		})
	}
}

// refusesChange checks that each change of the stored object is answered as the
// row says; nothing wanted means the change is accepted.
func refusesChange(t *testing.T, manifest string, table []refusal) {
	t.Helper()
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			old := apitest.Created(t, manifest)
			obj := apitest.Created(t, manifest, row.patch)
			strategy.PrepareForUpdate(obj, old, apitest.Now)
			require.Equal(t, row.want, apitest.Words(Update(obj, old)))
		})
	}
}

func TestAnUpdateWithAnotherKindIsRefusedAndDoesNotPanic(t *testing.T) {
	claim, volume := apitest.Created(t, apitest.GoodClaim), apitest.Created(t, apitest.GoodVolume)
	require.Equal(t, []string{`kind: Invalid value: "PersistentVolume": must be PersistentVolumeClaim`},
		apitest.Words(Update(volume, claim)))
	require.Equal(t, []string{`kind: Invalid value: "PersistentVolume": must be PersistentVolumeClaim`},
		apitest.Words(StatusUpdate(volume, claim)))
}

func TestAKindWithoutRulesStillHasItsMetadataChecked(t *testing.T) {
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:node'}}"
	require.Empty(t, apitest.Words(Create(apitest.Created(t, role))), "the names of roles may have colons")

	const lease = "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: A, namespace: default}}"
	require.Contains(t, apitest.Words(Create(apitest.Created(t, lease)))[0], `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain`)
}

func TestCreatingAClaimAllocatesLittle(t *testing.T) {
	claim := apitest.Created(t, apitest.GoodClaim).(*v1.PersistentVolumeClaim)
	allocs := testing.AllocsPerRun(100, func() {
		strategy.SetDefaults(claim)
		if errs := Create(claim); len(errs) > 0 {
			t.Fatal(errs)
		}
	})
	require.LessOrEqual(t, allocs, 2.0, "good objects are recognised without building paths")
}

func BenchmarkValidateClaim(b *testing.B) { benchmarkValidate(b, apitest.GoodClaim) }

func BenchmarkValidateVolume(b *testing.B) { benchmarkValidate(b, apitest.GoodVolume) }

func BenchmarkValidatePod(b *testing.B) { benchmarkValidate(b, apitest.GoodPod) }

func benchmarkValidate(b *testing.B, manifest string) {
	obj := apitest.Created(b, manifest)
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			strategy.SetDefaults(obj)
			Create(obj)
		}
	})
	old := obj.DeepCopyObject()
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			strategy.SetDefaults(obj)
			Update(obj, old)
		}
	})
}
