package csi_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

// requestsOf returns the requests of one kind that the driver got, in order.
func requestsOf[T any](d *nodeDriver) (list []T) {
	for _, req := range d.requests {
		if r, ok := req.(T); ok {
			list = append(list, r)
		}
	}
	return list
}

// published is the only NodePublishVolume request.
func (w *world) publishRequest() *csipb.NodePublishVolumeRequest {
	w.t.Helper()
	list := requestsOf[*csipb.NodePublishVolumeRequest](w.driver)
	require.NotEmpty(w.t, list, "%v", w.events("web"))
	return list[len(list)-1]
}

func (w *world) stageRequest() *csipb.NodeStageVolumeRequest {
	w.t.Helper()
	list := requestsOf[*csipb.NodeStageVolumeRequest](w.driver)
	require.NotEmpty(w.t, list, "%v", w.events("web"))
	return list[len(list)-1]
}

func (w *world) secret(name string, data map[string][]byte) {
	w.t.Helper()
	_, err := w.user.CoreV1().Secrets("default").Create(context.Background(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data},
		metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// semantics 5.5 (2), (3) and (6).
func TestARequestSaysWhichVolumeIsWhereAndHowItIsUsed(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.CSI.FSType = "xfs"
		pv.Spec.MountOptions = []string{"noatime"}
		pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany, v1.ReadWriteOnce} // the first counts
	})
	p := pod("web", claim("data"))
	p.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	p = w.create(p)
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))

	staging := fmt.Sprintf("/var/lib/kubelet/plugins/kubernetes.io/csi/%s/%x/globalmount", driverName, sha256.Sum256([]byte("vol-data")))
	target := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~csi/pv-data/mount"
	stage, publish := w.stageRequest(), w.publishRequest()
	require.Equal(t, staging, stage.StagingTargetPath)
	require.Equal(t, staging, publish.StagingTargetPath)
	require.Equal(t, target, publish.TargetPath)
	require.True(t, publish.Readonly)
	require.Equal(t, map[string]string{"made": "yes"}, publish.VolumeContext)
	for _, c := range []*csipb.VolumeCapability{stage.VolumeCapability, publish.VolumeCapability} {
		require.Equal(t, csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, c.AccessMode.Mode)
		require.Equal(t, "xfs", c.GetMount().FsType)
		require.Equal(t, []string{"noatime"}, c.GetMount().MountFlags)
		require.Empty(t, c.GetMount().VolumeMountGroup)
	}
	beside := func(dir string) (data map[string]string) {
		text, err := w.disk.ReadFile(dir + "/vol_data.json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &data))
		return data
	}
	require.Equal(t, map[string]string{"volumeHandle": "vol-data", "driverName": driverName}, beside(staging[:len(staging)-len("/globalmount")]))
	require.Equal(t, map[string]string{
		"volumeHandle": "vol-data", "driverName": driverName, "specVolID": "pv-data", "nodeName": "node-1", "volumeLifecycleMode": "Persistent",
		"attachmentID": fmt.Sprintf("csi-%x", sha256.Sum256([]byte("vol-data"+driverName+"node-1"))),
	}, beside(target[:len(target)-len("/mount")]))
}

func TestTheAccessModeDependsOnWhetherTheDriverTellsOneWriterFromMany(t *testing.T) {
	for _, tt := range []struct {
		mode v1.PersistentVolumeAccessMode
		many bool
		want csipb.VolumeCapability_AccessMode_Mode
	}{
		{v1.ReadWriteOnce, false, csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		{v1.ReadWriteOnce, true, csipb.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER},
		{v1.ReadWriteOncePod, false, csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		{v1.ReadWriteOncePod, true, csipb.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER},
		{v1.ReadOnlyMany, true, csipb.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY},
	} {
		w := withDriver(t, engine.Config{}, noAttach())
		if tt.many {
			w.driver.capabilities = append(w.driver.capabilities, csipb.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER)
		}
		w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{tt.mode} })
		w.create(pod("web", claim("data")))
		w.run(5 * time.Second)
		require.Equal(t, tt.want, w.stageRequest().VolumeCapability.AccessMode.Mode)
		require.Equal(t, tt.want, w.publishRequest().VolumeCapability.AccessMode.Mode)
	}
}

// semantics 5.5 (5).
func TestADriverWithoutStagingIsOnlyAskedToPublish(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.driver.capabilities = nil
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.CSI.NodeStageSecretRef = &v1.SecretReference{Namespace: "default", Name: "none"} // nor is its secret read
	})
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"), "%v", w.events("web"))
	require.Empty(t, w.publishRequest().StagingTargetPath)
	w.delete("web")
	w.run(time.Minute)
	require.NotContains(t, w.driver.calls, "NodeStageVolume")
	require.NotContains(t, w.driver.calls, "NodeUnstageVolume")
	w.requireNothingLeft()
}

func TestEachCallHasItsOwnSecret(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.secret("stage", map[string][]byte{"s": []byte("1")})
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.CSI.NodeStageSecretRef = &v1.SecretReference{Namespace: "default", Name: "stage"}
		pv.Spec.CSI.NodePublishSecretRef = &v1.SecretReference{Namespace: "default", Name: "publish"}
	})
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Contains(t, w.events("web"), `FailedMount: MountVolume.SetUp failed for volume "pv-data" : fetching NodePublishSecretRef default/publish failed: `+
		`kubernetes.io/csi: failed to find the secret publish in the namespace default with error: secrets "publish" not found`)
	require.NotContains(t, w.driver.calls, "NodePublishVolume")
	w.secret("publish", map[string][]byte{"p": []byte("2")})
	w.run(time.Minute)
	require.Equal(t, v1.PodRunning, w.phase("web"))
	require.Equal(t, map[string]string{"s": "1"}, w.stageRequest().Secrets)
	require.Equal(t, map[string]string{"p": "2"}, w.publishRequest().Secrets)
	w.delete("web")
	w.run(time.Minute)
	w.requireNothingLeft()
}

func TestAVolumeWhoseStagingSecretIsMissingIsNotStaged(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.CSI.NodeStageSecretRef = &v1.SecretReference{Namespace: "default", Name: "stage"}
	})
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, []string{`FailedMount: MountVolume.MountDevice failed for volume "pv-data" : fetching NodeStageSecretRef default/stage failed: ` +
		`kubernetes.io/csi: failed to find the secret stage in the namespace default with error: secrets "stage" not found`}, w.events("web"))
	w.delete("web")
	w.run(time.Minute)
	require.NotContains(t, w.driver.calls, "NodeStageVolume")
	w.requireNothingLeft()
}

// semantics 5.5 (6).
func TestADriverThatAsksForItIsToldOfThePod(t *testing.T) {
	for _, asks := range []bool{true, false} {
		spec := noAttach()
		spec.PodInfoOnMount = &asks
		w := withDriver(t, engine.Config{}, spec)
		w.boundVolume("data", nil)
		p := w.create(pod("web", claim("data")))
		w.run(5 * time.Second)
		want := map[string]string{"made": "yes"}
		if asks {
			want = map[string]string{
				"made": "yes", "csi.storage.k8s.io/pod.name": "web", "csi.storage.k8s.io/pod.namespace": "default", "csi.storage.k8s.io/pod.uid": string(p.UID),
				"csi.storage.k8s.io/serviceAccount.name": "robot", "csi.storage.k8s.io/ephemeral": "false",
			}
		}
		require.Equal(t, want, w.publishRequest().VolumeContext)
		require.Equal(t, map[string]string{"made": "yes"}, w.stageRequest().VolumeContext, "staging is for the node, not for the pod")
	}
}

func TestADriverThatAsksForTokensGetsThemByAudience(t *testing.T) {
	const key = "csi.storage.k8s.io/serviceAccount.tokens"
	for _, inSecrets := range []bool{false, true} {
		spec, hour := noAttach(), int64(7200)
		spec.TokenRequests = []storagev1.TokenRequest{{Audience: ""}, {Audience: "vault", ExpirationSeconds: &hour}}
		spec.ServiceAccountTokenInSecrets = &inSecrets
		w := withDriver(t, engine.Config{}, spec)
		w.boundVolume("data", nil)
		w.create(pod("web", claim("data")))
		w.run(5 * time.Second)
		require.Contains(t, w.events("web"), `FailedMount: MountVolume.SetUp failed for volume "pv-data" : kubernetes.io/csi: mounter.SetUpAt failed to get service `+
			`accoount token attributes: failed to fetch token: serviceaccounts "robot" not found`)
		require.Empty(t, requestsOf[*csipb.NodePublishVolumeRequest](w.driver))
		robot := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
		_, err := w.user.CoreV1().ServiceAccounts("default").Create(t.Context(), robot, metav1.CreateOptions{})
		require.NoError(t, err)
		w.run(5 * time.Second)
		has, hasNot := w.publishRequest().VolumeContext, w.publishRequest().Secrets
		if inSecrets {
			has, hasNot = hasNot, has
		}
		require.NotContains(t, hasNot, key)
		tokens := map[string]authenticationv1.TokenRequestStatus{}
		require.NoError(t, json.Unmarshal([]byte(has[key]), &tokens))
		require.Len(t, tokens, 2)
		require.NotEmpty(t, tokens[""].Token)
		require.WithinDuration(t, w.e.Now().Add(2*time.Hour), tokens["vault"].ExpirationTimestamp.Time, 15*time.Second)
	}
}

func TestADriverThatWantsItIsAskedToPublishAgainAndAgain(t *testing.T) {
	spec, yes := noAttach(), true
	spec.RequiresRepublish = &yes
	w := withDriver(t, engine.Config{}, spec)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))
	before := len(requestsOf[*csipb.NodePublishVolumeRequest](w.driver))
	require.Equal(t, 2, before, "a second time when its container has started")
	w.run(10 * time.Minute)
	again := requestsOf[*csipb.NodePublishVolumeRequest](w.driver)
	require.Greater(t, len(again), before+3)
	require.Len(t, requestsOf[*csipb.NodeStageVolumeRequest](w.driver), 1, "staged once")
	require.Equal(t, again[0].TargetPath, again[len(again)-1].TargetPath)

	fails := true
	w.driver.before = func(method string, _ any) error {
		if method == "NodePublishVolume" && fails {
			return internal
		}
		return nil
	}
	w.run(5 * time.Minute)
	require.Equal(t, v1.PodRunning, w.phase("web"), "a remount that fails leaves what was there")
	require.Len(t, w.driver.published, 1)
	require.NotEmpty(t, w.events("web"))
	fails = false
	w.delete("web")
	w.run(time.Minute)
	w.requireNothingLeft()
}

// Upstream: csi_attacher.go MountDevice and csi_mounter.go SetUpAt, v1.37.
func TestTheDriversNodeIsToldWhatItsControllerSaid(t *testing.T) {
	w := withDriver(t, engine.Config{}, storagev1.CSIDriverSpec{})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	w.attachment("data")
	node := w.node().DeepCopy()
	node.Status.VolumesAttached = []v1.AttachedVolume{{Name: v1.UniqueVolumeName("kubernetes.io/csi/" + driverName + "^vol-data")}}
	_, err := w.user.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.run(time.Minute)
	require.Equal(t, v1.PodRunning, w.phase("web"), "%v", w.events("web"))
	require.Equal(t, map[string]string{"device": "/dev/sdb"}, w.stageRequest().PublishContext)
	require.Equal(t, map[string]string{"device": "/dev/sdb"}, w.publishRequest().PublishContext)
}

// attachment makes the VolumeAttachment of volume vol-NAME to node-1, as its driver's controller has attached it.
func (w *world) attachment(name string) {
	w.t.Helper()
	ctx, volume := context.Background(), "pv-"+name
	attachment, err := w.user.StorageV1().VolumeAttachments().Create(ctx, &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("csi-%x", sha256.Sum256([]byte("vol-"+name+driverName+"node-1")))},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driverName, NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	attachment.Status = storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"device": "/dev/sdb"}}
	_, err = w.user.StorageV1().VolumeAttachments().UpdateStatus(ctx, attachment, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}
