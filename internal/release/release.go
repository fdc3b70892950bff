// Package release says which releases are modelled: of Kubernetes, of the sidecars and
// provisioners, and which feature gates are on. docs/releases.md is made of it, and a test compares
// what package comments and chapters say with it.
package release

import (
	"fmt"
	"strings"
)

// Kubernetes is the release, as the API server and the kubelets say it.
const Kubernetes = "v1.37.2"

// Minor is the second number of the release.
const Minor = 37

// Models is the sentence with which README and the package comment of the library begin.
const Models = "models Kubernetes " + Kubernetes

// Program is a program or library beside Kubernetes, and the package that models it.
type Program struct {
	Name, Version, Package string
	// Built is the go.mod file and the module by which the real one is built beside ours, with ":" between them, if it is.
	Built string
}

// Programs returns the programs modelled.
func Programs() []Program {
	const sidecars = "conformance/interop/sidecars/"
	return []Program{
		{"sig-storage-lib-external-provisioner", "v13.0", "provisioner", "live/siglib/go.mod:sigs.k8s.io/sig-storage-lib-external-provisioner/v13"},
		{"external-provisioner", "v6.4", "csi/provisioner", sidecars + "go.mod:github.com/kubernetes-csi/external-provisioner/v6"},
		{"external-attacher", "v4.13", "csi/attacher", sidecars + "go.mod:github.com/kubernetes-csi/external-attacher/v4"},
		{"external-resizer", "v2.3", "csi/resizer", sidecars + "go.mod:github.com/kubernetes-csi/external-resizer/v2"},
		{"external-snapshotter", "v8.7", "csi/snapshotter, controllers/snapshotcontroller", sidecars + "go.mod:github.com/kubernetes-csi/external-snapshotter/v8"},
		{"csi-lib-utils", "v0.25", "csi/internal/sidecar", sidecars + "go.mod:github.com/kubernetes-csi/csi-lib-utils"},
		{"node-driver-registrar", "v2.17", "csi", ""},
		{"livenessprobe", "v2.19", "csi/livenessprobe", ""},
		{"dynamic-localpv-provisioner", "v4.0", "provisioner/openebs", ""},
		{"local-path-provisioner", "v0.0.37", "provisioner/localpath", ""},
		{"nfs-subdir-external-provisioner", "v4.0.18", "provisioner/nfs", ""},
	}
}

// Gate is a feature gate, whether it is on by default in the release, and a test that fails if the
// simulation has it the other way.
type Gate struct {
	Name string
	On   bool
	Test string
}

// Gates returns the gates whose default a rule of the simulation depends on.
func Gates() []Gate {
	const dropped = "TestFieldsOfAPodBehindGatesThatAreOffAreDropped"
	return []Gate{
		{"MaxUnavailableStatefulSet", true, "TestTheSimulationDoesWhatARealControlPlaneDid"},
		{"NodeControllerLeaseCircuitBreaker", true, "TestALeaseThatIsLabelledAfterItsLastRenewalKeepsItsNodeForEver"},
		{"PersistentVolumeClaimUnusedSinceTime", true, "TestABoundClaimSaysWhetherAPodUsesIt"},
		{"StorageCapacityScoring", true, "TestTheNodeWithMostFreeCapacityIsTaken"},
		{"VolumeLimitScaling", true, "TestANodeWithoutADriverThatMustBeThereIsRefused"},
		{"AtomicWriteVolumeUserFields", false, dropped},
		{"CrossNamespaceVolumeDataSource", false, "TestADataSourceInAnotherNamespaceIsDroppedWhole"},
		{"EmptyDirVolumeMode", false, dropped},
		{"EvictionRequestAPI", false, dropped},
		{"MutablePVNodeAffinity", false, "TestAVolumesNodeAffinityIsSetOnce"},
		{"VolumeBindMountOptions", false, dropped},
	}
}

// Named returns the gates that comments name beside these: no rule of the simulation depends on them.
func Named() []Gate {
	return []Gate{
		{Name: "CSIVolumeHealth"}, {Name: "OpportunisticBatching", On: true},
		{Name: "StaleControllerConsistencyDaemonSet", On: true}, {Name: "StaleControllerConsistencyJob", On: true},
	}
}

// Page returns docs/releases.md.
func Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Releases\n\nThe simulation %s. Comments that name an older release mean a rule that has not changed since.\n\n", Models)
	b.WriteString("| program | version | package |\n| --- | --- | --- |\n")
	for _, p := range Programs() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, p.Version, p.Package)
	}
	b.WriteString("\nFeature gates have the defaults of the release. Rules depend on these:\n\n| gate | default | test |\n| --- | --- | --- |\n")
	for _, g := range Gates() {
		state := "off"
		if g.On {
			state = "on"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.Name, state, g.Test)
	}
	return b.String()
}
