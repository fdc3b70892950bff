package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
)

// across returns a cluster with the source claim default/data and the namespace team, with the feature gate in the
// API server and, if it is wanted, in the provisioner.
func across(t *testing.T, gate bool) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, CrossNamespaceVolumeDataSource: true})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	d.Sidecars.Provisioner = func(cfg *provisioner.Config) { cfg.CrossNamespaceVolumeDataSource = gate }
	c.InstallCSIDriver(d)
	c.Apply(growingClass + growingClaim("1Gi") + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
	c.RunFor(10 * time.Second)
	return c
}

// copyAcross returns a claim in the namespace team that is filled from one in default.
func copyAcross(kind string) string {
	group, name := "", "data"
	if kind == "VolumeSnapshot" {
		group, name = "apiGroup: snapshot.storage.k8s.io, ", "s1"
	}
	return strings.Replace(strings.Replace(growingClaim("1Gi"), "name: data", "name: copy, namespace: team", 1), "storageClassName: csi",
		"storageClassName: csi\n  dataSourceRef: {"+group+"kind: "+kind+", name: "+name+", namespace: default}", 1)
}

const grants = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: referencegrants.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/gateway-api/pull/4530"}
spec:
  group: gateway.networking.k8s.io
  names: {kind: ReferenceGrant, plural: referencegrants, singular: referencegrant, listKind: ReferenceGrantList}
  scope: Namespaced
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: to-team}
spec:
  from: [{group: "", kind: PersistentVolumeClaim, namespace: FROM}]
  to: [{group: GROUP, kind: KIND}]
---
`

func granted(from, group, kind string) string {
	return strings.NewReplacer("FROM", from, "GROUP", group, "KIND", kind).Replace(grants)
}

// Upstream: external-provisioner pkg/controller dataSource and IsGranted, v6.4.
func TestASourceInAnotherNamespaceNeedsAGrantThere(t *testing.T) {
	const notAllowed = "accessing default/data of PersistentVolumeClaim dataSource from team/copy isn't allowed"
	for name, tt := range map[string]struct {
		gate                 bool
		grant, kind, refused string
	}{
		"the provisioner's gate is off": {grant: granted("team", `""`, "PersistentVolumeClaim"),
			refused: "dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled"},
		"grants are not known":          {gate: true, refused: `error getting ReferenceGrants in default namespace from api server: `},
		"a grant for another namespace": {gate: true, grant: granted("other", `""`, "PersistentVolumeClaim"), refused: notAllowed},
		"a grant for another kind":      {gate: true, grant: granted("team", "snapshot.storage.k8s.io", "VolumeSnapshot"), refused: notAllowed},
		"a grant of another name": {gate: true,
			grant:   strings.Replace(granted("team", `""`, "PersistentVolumeClaim"), "PersistentVolumeClaim}]", "PersistentVolumeClaim, name: x}]", 1),
			refused: notAllowed},
		"a clone that is granted":    {gate: true, grant: granted("team", `""`, "PersistentVolumeClaim")},
		"a snapshot that is granted": {gate: true, kind: "VolumeSnapshot", grant: granted("team", "snapshot.storage.k8s.io", "VolumeSnapshot")},
		"a snapshot for which there is no grant": {gate: true, kind: "VolumeSnapshot", grant: granted("team", `""`, "PersistentVolumeClaim"),
			refused: "accessing default/s1 of VolumeSnapshot dataSource from team/copy isn't allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := across(t, tt.gate)
			if tt.grant != "" {
				c.Apply(tt.grant)
			}
			kind := "PersistentVolumeClaim"
			if tt.kind != "" {
				kind = tt.kind
				c.Apply(snapClass + snapOf("data"))
				c.RunFor(5 * time.Second)
			}
			c.Apply(copyAcross(kind))
			c.RunFor(10 * time.Second)
			if tt.refused == "" {
				require.Equal(t, v1.ClaimBound, c.Claim("team/copy").Status.Phase)
				c.Delete("pvc/team/copy")
			} else {
				require.Equal(t, v1.ClaimPending, c.Claim("team/copy").Status.Phase)
				assert.Contains(t, strings.Join(saidOf(c, "pvc team/copy"), "\n"), "Warning ProvisioningFailed: "+tt.refused)
			}
			c.RequireNoLeaks()
		})
	}
}
