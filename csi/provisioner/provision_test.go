package provisioner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
)

const gi = 1 << 30

func mount(mode csi.VolumeCapability_AccessMode_Mode) *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
	}
}

// As recorded: full/csi01_dynamic_immediate, steps 2 and 5.
func TestAVolumeIsMadeAndDeletedAsRecorded(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	claim := r.claim("data")
	r.Settle()
	name := "pvc-" + string(claim.UID)
	want := &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: gi},
		VolumeCapabilities: []*csi.VolumeCapability{mount(csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER)},
	}
	got := csitest.Last[*csi.CreateVolumeRequest](r.driver)
	assert.True(t, proto.Equal(want, got), got.String())
	assert.Equal(t, []string{
		`Normal Provisioning External provisioner is provisioning volume for claim "default/data"`,
		"Normal ProvisioningSucceeded Successfully provisioned volume " + name,
	}, r.events())

	pv := r.volume()
	assert.Equal(t, name, pv.Name)
	assert.Equal(t, map[string]string{
		"pv.kubernetes.io/provisioned-by":                            csitest.Name,
		"volume.kubernetes.io/provisioner-deletion-secret-name":      "",
		"volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
	}, pv.Annotations)
	assert.ElementsMatch(t, []string{"external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-protection"}, pv.Finalizers)
	identity := pv.Spec.CSI.VolumeAttributes["storage.kubernetes.io/csiProvisionerIdentity"]
	assert.Regexp(t, `^[0-9]+-[0-9]+-plain\.csi\.example\.com$`, identity)
	mode := v1.PersistentVolumeFilesystem
	assert.Equal(t, v1.PersistentVolumeSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		Capacity:    pv.Spec.Capacity,
		ClaimRef:    pv.Spec.ClaimRef,
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
			Driver: csitest.Name, VolumeHandle: "h-" + name,
			VolumeAttributes: map[string]string{"made": "yes", "storage.kubernetes.io/csiProvisionerIdentity": identity},
		}},
		PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete, StorageClassName: "fast", VolumeMode: &mode,
	}, pv.Spec)
	assert.Equal(t, "1Gi", pv.Spec.Capacity.Storage().String())
	assert.Equal(t, claim.UID, pv.Spec.ClaimRef.UID)

	r.release(name)
	r.Settle()
	assert.Empty(t, r.volumes())
	assert.Empty(t, r.driver.Volumes)
	assert.True(t, proto.Equal(&csi.DeleteVolumeRequest{VolumeId: "h-" + name}, csitest.Last[*csi.DeleteVolumeRequest](r.driver)))
}

// As recorded: full/csi22_retain.
func TestWithRetainTheFinalizerGoesAndTheVolumeStays(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil, func(c *storage.StorageClass) { c.ReclaimPolicy = ptr(v1.PersistentVolumeReclaimRetain) })
	r.claim("data")
	r.Settle()
	assert.Equal(t, []string{binding.PVProtectionFinalizer}, r.volume().Finalizers)
	r.release(r.volume().Name)
	r.Settle()
	assert.Len(t, r.driver.Volumes, 1)
}

func TestTheClassAndTheClaimSayWhatVolumeIsMade(t *testing.T) {
	multiWriter := func(d *csitest.Driver, _ *provisioner.Config) {
		d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER)
	}
	modes := func(modes ...v1.PersistentVolumeAccessMode) func(*v1.PersistentVolumeClaim) {
		return func(c *v1.PersistentVolumeClaim) { c.Spec.AccessModes = modes }
	}
	tests := map[string]struct {
		rig        change
		parameters map[string]string
		class      func(*storage.StorageClass)
		claim      func(*v1.PersistentVolumeClaim)
		request    func(*csi.CreateVolumeRequest)
		volume     func(t *testing.T, pv *v1.PersistentVolume)
	}{
		"parameters": {
			parameters: map[string]string{"tier": "gold", "csi.storage.k8s.io/fstype": "xfs"},
			class:      func(c *storage.StorageClass) { c.MountOptions = []string{"noatime"} },
			request: func(req *csi.CreateVolumeRequest) {
				req.Parameters = map[string]string{"tier": "gold"}
				req.VolumeCapabilities[0].GetMount().FsType, req.VolumeCapabilities[0].GetMount().MountFlags = "xfs", []string{"noatime"}
			},
			volume: func(t *testing.T, pv *v1.PersistentVolume) {
				assert.Equal(t, "xfs", pv.Spec.CSI.FSType)
				assert.Equal(t, []string{"noatime"}, pv.Spec.MountOptions)
			},
		},
		"the old parameter of the file system is passed on": {
			parameters: map[string]string{"FsType": "ext3"},
			request: func(req *csi.CreateVolumeRequest) {
				req.Parameters = map[string]string{"FsType": "ext3"}
				req.VolumeCapabilities[0].GetMount().FsType = "ext3"
			},
		},
		"a default file system": {
			rig:     func(_ *csitest.Driver, c *provisioner.Config) { c.DefaultFSType = "ext4" },
			request: func(req *csi.CreateVolumeRequest) { req.VolumeCapabilities[0].GetMount().FsType = "ext4" },
		},
		"a raw block volume has no file system": {
			parameters: map[string]string{"csi.storage.k8s.io/fstype": "xfs"},
			claim:      func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeMode = ptr(v1.PersistentVolumeBlock) },
			request: func(req *csi.CreateVolumeRequest) {
				req.VolumeCapabilities[0].AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
			},
			volume: func(t *testing.T, pv *v1.PersistentVolume) {
				assert.Empty(t, pv.Spec.CSI.FSType)
				assert.Equal(t, v1.PersistentVolumeBlock, *pv.Spec.VolumeMode)
			},
		},
		// As recorded: full/csi20_read_only_claim_volume.
		"one capability for each access mode": {
			claim: modes(v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany),
			request: func(req *csi.CreateVolumeRequest) {
				req.VolumeCapabilities = append(req.VolumeCapabilities,
					mount(csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY), mount(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER))
			},
		},
		"several writers on one node, for a driver that can tell": {
			rig: multiWriter,
			request: func(req *csi.CreateVolumeRequest) {
				req.VolumeCapabilities[0] = mount(csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER)
			},
		},
		"a single pod, for a driver that can tell": {
			rig: multiWriter, claim: modes(v1.ReadWriteOncePod),
			request: func(req *csi.CreateVolumeRequest) {
				req.VolumeCapabilities[0] = mount(csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER)
			},
		},
		"readers only": {
			rig: func(_ *csitest.Driver, c *provisioner.Config) { c.ControllerPublishReadOnly = true }, claim: modes(v1.ReadOnlyMany),
			request: func(req *csi.CreateVolumeRequest) {
				req.VolumeCapabilities[0] = mount(csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY)
			},
			volume: func(t *testing.T, pv *v1.PersistentVolume) { assert.True(t, pv.Spec.CSI.ReadOnly) },
		},
		"names of the objects": {
			rig: func(_ *csitest.Driver, c *provisioner.Config) { c.ExtraCreateMetadata = true },
			request: func(req *csi.CreateVolumeRequest) {
				req.Parameters = map[string]string{
					"csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "default", "csi.storage.k8s.io/pv/name": req.GetName(),
				}
			},
		},
		"a driver that rounds up": {
			rig: func(d *csitest.Driver, _ *provisioner.Config) { d.Size = 4 * gi },
			volume: func(t *testing.T, pv *v1.PersistentVolume) {
				assert.Equal(t, "4Gi", pv.Spec.Capacity.Storage().String())
			},
		},
		"a driver that does not know the size": {
			rig: func(d *csitest.Driver, _ *provisioner.Config) { d.Size = -1 },
			volume: func(t *testing.T, pv *v1.PersistentVolume) {
				assert.Equal(t, "1Gi", pv.Spec.Capacity.Storage().String())
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var rigs []change
			if tt.rig != nil {
				rigs = append(rigs, tt.rig)
			}
			r := newRig(t, engine.Config{}, rigs...)
			r.class(tt.parameters, func(c *storage.StorageClass) {
				if tt.class != nil {
					tt.class(c)
				}
			})
			claim := r.claim("data", func(c *v1.PersistentVolumeClaim) {
				if tt.claim != nil {
					tt.claim(c)
				}
			})
			r.Settle()
			want := &csi.CreateVolumeRequest{
				Name: "pvc-" + string(claim.UID), CapacityRange: &csi.CapacityRange{RequiredBytes: gi},
				VolumeCapabilities: []*csi.VolumeCapability{mount(csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER)},
			}
			if tt.request != nil {
				tt.request(want)
			}
			got := csitest.Last[*csi.CreateVolumeRequest](r.driver)
			assert.True(t, proto.Equal(want, got), got.String())
			if tt.volume != nil {
				tt.volume(t, r.volume())
			}
		})
	}
}

// semantics: section 7.1, order of checks, and must 7 and 8.
func TestWhatCannotBeMadeIsRefusedBeforeTheDriverIsAsked(t *testing.T) {
	tests := map[string]struct {
		rig        change
		parameters map[string]string
		claim      func(*v1.PersistentVolumeClaim)
		want       string
	}{
		"no controller service": {
			rig:  func(d *csitest.Driver, _ *provisioner.Config) { d.Services = nil },
			want: "CSI driver does not support dynamic provisioning: plugin CONTROLLER_SERVICE capability is not reported",
		},
		"no CREATE_DELETE_VOLUME": {
			rig:  func(d *csitest.Driver, _ *provisioner.Config) { d.Controller = nil },
			want: "CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported",
		},
		"a selector": {
			claim: func(c *v1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			},
			want: "claim Selector is not supported",
		},
		"two file systems": {
			parameters: map[string]string{"fstype": "ext4", "csi.storage.k8s.io/fstype": "ext4"},
			want:       `fstype specified in parameters with both "fstype" and "csi.storage.k8s.io/fstype" keys`,
		},
		"an unknown parameter of the sidecar": {
			parameters: map[string]string{"csi.storage.k8s.io/colour": "red"},
			want: `failed to strip CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/colour" with reserved namespace ` +
				`csi.storage.k8s.io/`,
		},
		"a clone, of a driver that cannot": {
			claim: func(c *v1.PersistentVolumeClaim) {
				c.Spec.DataSource = &v1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
			},
			want: "CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported",
		},
		"a clone": {
			rig: func(d *csitest.Driver, _ *provisioner.Config) {
				d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_CLONE_VOLUME)
			},
			claim: func(c *v1.PersistentVolumeClaim) {
				c.Spec.DataSource = &v1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
			},
			want: "error getting handle for DataSource Type PersistentVolumeClaim by Name other: error getting PVC other (namespace \"default\") from api server: " +
				"persistentvolumeclaim \"other\" not found",
		},
		"a snapshot, of a driver that cannot": {
			claim: func(c *v1.PersistentVolumeClaim) {
				c.Spec.DataSource = &v1.TypedLocalObjectReference{APIGroup: ptr("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"}
			},
			want: "CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported",
		},
		"attributes that the driver cannot modify": {
			claim: func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = ptr("gold") },
			want:  "CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported",
		},
		"a VolumeAttributesClass that does not exist": {
			rig: func(d *csitest.Driver, _ *provisioner.Config) {
				d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_MODIFY_VOLUME)
			},
			claim: func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = ptr("gold") },
			want:  `volumeattributesclasses.storage.k8s.io "gold" not found`,
		},
		"a secret that does not exist": { // as recorded: full/csi16b_secret_missing
			parameters: secretsOf("provisioner-", "p", "default"),
			want:       `error getting secret p in namespace default: secrets "p" not found`,
		},
		"a secret without a namespace": {
			parameters: map[string]string{"csi.storage.k8s.io/node-stage-secret-name": "n"},
			want:       "failed to get name and namespace template from params: either name and namespace for NodeStage secrets specified, Both must be specified",
		},
		"a secret with an empty name": {
			parameters: secretsOf("node-publish-", "", "default"),
			want: "failed to get name and namespace template from params: NodePublish secrets specified in parameters but value of either " +
				"namespace or name is empty",
		},
		"a secret under two keys": {
			parameters: map[string]string{
				"csi.storage.k8s.io/provisioner-secret-name": "p", "csi.storage.k8s.io/provisioner-secret-namespace": "default", "csiProvisionerSecretName": "p",
			},
			want: `failed to get name and namespace template from params: Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys`,
		},
		"a template with unknown variables": {
			parameters: secretsOf("controller-expand-", "$x-${pvc.name}-${y}", "default"),
			want:       `error resolving value "$x-${pvc.name}-${y}": invalid tokens: ["x" "y"]`,
		},
		"a namespace from what users of claims choose": {
			parameters: secretsOf("controller-expand-", "s", "${pvc.name}"),
			want:       `error resolving value "${pvc.name}": invalid tokens: ["pvc.name"]`,
		},
		"a name that is none": {
			parameters: secretsOf("node-expand-", "${pvc.annotations['who']}", "default"),
			want:       `"${pvc.annotations['who']}" resolved to "A B" which is not a valid secret name`,
		},
		"a namespace that is none": {
			parameters: secretsOf("", "s", "A"),
			want:       `"A" is not a valid namespace name`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var rigs []change
			if tt.rig != nil {
				rigs = append(rigs, tt.rig)
			}
			r := newRig(t, engine.Config{}, rigs...)
			r.class(tt.parameters)
			r.claim("data", func(c *v1.PersistentVolumeClaim) {
				c.Annotations["who"] = "A B"
				if tt.claim != nil {
					tt.claim(c)
				}
			})
			require.NoError(t, r.Engine.RunFor(5*time.Second))
			assert.Equal(t, tt.want, r.failed())
			assert.Empty(t, r.driver.Calls)
			assert.Empty(t, r.volumes())
		})
	}
}

func secretsOf(role, name, namespace string) map[string]string {
	return map[string]string{"csi.storage.k8s.io/" + role + "secret-name": name, "csi.storage.k8s.io/" + role + "secret-namespace": namespace}
}

// semantics: section 7 must 8.
func TestADataSourceOfAnotherKindIsLeftToItsPopulator(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.claim("data", func(c *v1.PersistentVolumeClaim) {
		c.Spec.DataSourceRef = &v1.TypedObjectReference{APIGroup: ptr("example.com"), Kind: "Backup", Name: "b"}
	})
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Equal(t, []string{
		`Normal Provisioning External provisioner is provisioning volume for claim "default/data"`,
		"Normal Provisioning Assuming an external populator will provision the volume",
	}, r.events())
	assert.Empty(t, r.driver.Calls)
}

func TestAClaimOfAnotherProvisionerIsLeftAlone(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.claim("data", func(c *v1.PersistentVolumeClaim) {
		c.Annotations[binding.AnnStorageProvisioner] = "other.csi.example.com"
	})
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Empty(t, r.events())
	assert.Empty(t, r.driver.Calls)
}

// As recorded: full/csi16_secrets.
func TestSecretsOfEveryRoleAreNoted(t *testing.T) {
	parameters := map[string]string{"tier": "gold"}
	for _, role := range []string{"provisioner", "controller-publish", "node-stage", "node-publish", "controller-expand", "node-expand", "controller-modify"} {
		parameters["csi.storage.k8s.io/"+role+"-secret-name"] = role
		parameters["csi.storage.k8s.io/"+role+"-secret-namespace"] = "${pvc.namespace}"
	}
	r := newRig(t, engine.Config{})
	r.secret("provisioner")
	r.class(parameters)
	r.claim("data")
	r.Settle()
	req := csitest.Last[*csi.CreateVolumeRequest](r.driver)
	assert.Equal(t, map[string]string{"k": "provisioner"}, req.GetSecrets())
	assert.Equal(t, map[string]string{"tier": "gold"}, req.GetParameters())
	pv := r.volume()
	ref := func(name string) *v1.SecretReference { return &v1.SecretReference{Name: name, Namespace: "default"} }
	source := pv.Spec.CSI
	assert.Equal(t, ref("controller-publish"), source.ControllerPublishSecretRef)
	assert.Equal(t, ref("node-stage"), source.NodeStageSecretRef)
	assert.Equal(t, ref("node-publish"), source.NodePublishSecretRef)
	assert.Equal(t, ref("controller-expand"), source.ControllerExpandSecretRef)
	assert.Equal(t, ref("node-expand"), source.NodeExpandSecretRef)
	for key, want := range map[string]string{
		"provisioner-deletion-secret-name": "provisioner", "provisioner-deletion-secret-namespace": "default",
		"controller-modify-secret-name": "controller-modify", "controller-modify-secret-namespace": "default",
	} {
		assert.Equal(t, want, pv.Annotations["volume.kubernetes.io/"+key])
	}
	r.release(pv.Name)
	r.Settle()
	assert.Equal(t, map[string]string{"k": "provisioner"}, csitest.Last[*csi.DeleteVolumeRequest](r.driver).GetSecrets())
}

func TestASecretWithoutARoleIsForEveryCall(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.secret("data-of-me")
	r.class(secretsOf("", "${pvc.name}-of-${pvc.annotations['who']}", "default"))
	r.claim("data", func(c *v1.PersistentVolumeClaim) { c.Annotations["who"] = "me" })
	r.Settle()
	assert.Equal(t, map[string]string{"k": "data-of-me"}, csitest.Last[*csi.CreateVolumeRequest](r.driver).GetSecrets())
	assert.Equal(t, "data-of-me", r.volume().Spec.CSI.NodeStageSecretRef.Name)
}

// As recorded: full/csi06a_create_resource_exhausted.
func TestWithoutASelectedNodeResourceExhaustedIsTriedAgainWithBackoff(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.ResourceExhausted, Times: 3})
	r.claim("data")
	start := r.Engine.Now()
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	var at []time.Duration
	for _, c := range r.driver.Calls {
		at = append(at, c.At.Sub(start).Round(time.Second))
	}
	assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, at)
	assert.Equal(t, "rpc error: code = ResourceExhausted desc = injected ResourceExhausted", r.failed())
	assert.Len(t, r.volumes(), 1)
}

// As recorded: full/csi06c_create_invalid.
func TestAfterInvalidArgumentAClaimRestsForFiveMinutes(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.InvalidArgument, Times: 1})
	r.claim("data")
	require.NoError(t, r.Engine.RunFor(4*time.Minute))
	assert.Len(t, r.driver.Calls, 1)
	assert.Equal(t, "Volume provisioning failed with infeasible error. Retries will be delayed. rpc error: code = InvalidArgument desc = injected InvalidArgument",
		r.failed())
	require.NoError(t, r.Engine.RunFor(10*time.Minute))
	assert.Len(t, r.driver.Calls, 2)
	assert.Len(t, r.volumes(), 1)
}

// As recorded: full/csi06e_claim_deleted_while_create_in_doubt.
// semantics: section 7 must 1. Bug 2: external-provisioner 131 and 311, fixed in 312.
func TestACreateVolumeInDoubtIsRepeatedUntilItIsClearAlsoWithoutTheClaim(t *testing.T) {
	for _, code := range []codes.Code{codes.DeadlineExceeded, codes.Canceled, codes.Unavailable, codes.Aborted} {
		r := newRig(t, engine.Config{})
		r.class(nil)
		r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: code, After: true, Times: 3})
		r.claim("data")
		require.NoError(t, r.Engine.RunFor(2*time.Second))
		r.forget("data")
		require.NoError(t, r.Engine.RunFor(10*time.Second))
		assert.Len(t, r.driver.Calls, 4, code)
		for _, c := range r.driver.Calls {
			assert.Equal(t, r.volume().Name, c.Request.(*csi.CreateVolumeRequest).GetName())
		}
		r.release(r.volume().Name)
		r.Settle()
		assert.Empty(t, r.driver.Volumes, code)
	}
}

func TestAnErrorThatIsFinalEndsWithTheClaim(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.Internal})
	r.claim("data")
	require.NoError(t, r.Engine.RunFor(2*time.Second))
	r.forget("data")
	calls := len(r.driver.Calls)
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Len(t, r.driver.Calls, calls)
}

func TestACallTakesNoLongerThanItsTimeout(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Takes: time.Hour, Times: 1})
	r.claim("data")
	require.NoError(t, r.Engine.RunFor(10*time.Second+500*time.Millisecond))
	assert.Equal(t, "rpc error: code = DeadlineExceeded desc = context deadline exceeded", r.failed())
	require.NoError(t, r.Engine.RunFor(time.Second))
	assert.Len(t, r.volumes(), 1)
}

// semantics: section 7 must 3.
func TestAVolumeThatIsTooSmallIsDeletedAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *provisioner.Config) { d.Size = gi / 2 })
	r.class(secretsOf("provisioner-", "p", "default"))
	r.secret("p")
	r.claim("data")
	require.NoError(t, r.Engine.RunFor(500*time.Millisecond))
	assert.Equal(t, []string{"CreateVolume", "DeleteVolume"}, r.driver.Methods())
	assert.Equal(t, map[string]string{"k": "p"}, csitest.Last[*csi.DeleteVolumeRequest](r.driver).GetSecrets())
	assert.Equal(t, "created volume capacity 536870912 less than requested capacity 1073741824", r.failed())
	assert.Empty(t, r.driver.Volumes)
	assert.Empty(t, r.volumes())

	r.driver.Fail(csitest.Failure{Method: "DeleteVolume", Code: codes.Internal, Times: 5})
	require.NoError(t, r.Engine.RunFor(time.Second))
	assert.True(t, strings.HasSuffix(r.failed(), "failed, volume is orphaned: rpc error: code = Internal desc = injected Internal"), r.failed())
	r.driver.Size = 0
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	assert.Len(t, r.volumes(), 1, "and it is tried again")
}
