package provisioner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// declining is a provisioner with a Qualifier.
type declining struct {
	scripted
	declines bool
}

func (d *declining) ShouldProvision(context.Context, *v1.PersistentVolumeClaim) bool {
	return !d.declines
}

func TestShouldProvisionSaysWhyNot(t *testing.T) {
	noAnnotation := func(claim *v1.PersistentVolumeClaim) { claim.Annotations = nil }
	beta := binding.AnnBetaStorageProvisioner
	tests := map[string]struct {
		claim    *v1.PersistentVolumeClaim
		declines bool
		reason   string // "" means it should
		err      string
	}{
		"an annotated claim":       {claim: claimOf("fast")},
		"under an additional name": {claim: claimOf("fast", annotate(binding.AnnStorageProvisioner, "example.com/other"))},
		"by the beta annotation":   {claim: claimOf("fast", noAnnotation, annotate(beta, testName))},
		"the GA annotation wins over the beta": {claim: claimOf("fast", annotate(beta, testName), annotate(binding.AnnStorageProvisioner, "x/y")),
			reason: `it is for provisioner "x/y"`},
		"it has a volume": {claim: claimOf("fast", func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }),
			reason: "it names volume pv"},
		"the qualifier declines":              {claim: claimOf("fast"), declines: true, reason: "the provisioner declines it"},
		"no annotation":                       {claim: claimOf("fast", noAnnotation), reason: "it is not annotated for a provisioner"},
		"somebody else's":                     {claim: claimOf("fast", annotate(binding.AnnStorageProvisioner, "x/y")), reason: `it is for provisioner "x/y"`},
		"the class is missing":                {claim: claimOf("nope"), err: `storageClass "nope" not found`},
		"the class annotation wins":           {claim: claimOf("fast", annotate(binding.AnnStorageClass, "nope")), err: `storageClass "nope" not found`},
		"WaitForFirstConsumer without a node": {claim: claimOf("local"), reason: "it waits for the scheduler to select a node"},
		"WaitForFirstConsumer, the node is empty": {claim: claimOf("local", annotate(binding.AnnSelectedNode, "")),
			reason: "it waits for the scheduler to select a node"},
		"WaitForFirstConsumer with a node": {claim: claimOf("local", annotate(binding.AnnSelectedNode, "n"))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctrl, _ := newTest(t, &declining{declines: tt.declines})
			should, reason, err := ctrl.shouldProvision(context.Background(), tt.claim)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.reason == "", should)
			assert.Equal(t, tt.reason, reason)
		})
	}
}
