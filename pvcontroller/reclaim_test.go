package pvcontroller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

// hostPath is an in-tree plugin whose calls fail with the errors given, in turn.
type hostPath struct {
	errs []error
	done []string
}

func (p *hostPath) CanSupport(volume *v1.PersistentVolume) bool { return volume.Spec.HostPath != nil }

func (p *hostPath) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if len(p.errs) > 0 {
		err := p.errs[0]
		p.errs = p.errs[1:]
		return err
	}
	p.done = append(p.done, volume.Name)
	return nil
}

func (p *hostPath) Recycle(ctx context.Context, volume *v1.PersistentVolume) error {
	return p.Delete(ctx, volume)
}

// withPlugin returns a cluster with a volume whose claim has been deleted.
func withPlugin(t *testing.T, plugin *hostPath, change ...func(*v1.PersistentVolume)) *cluster {
	t.Helper()
	cfg := pvcontroller.Config{}
	if plugin != nil {
		cfg.Deleters = map[string]pvcontroller.Deleter{"kubernetes.io/host-path": plugin}
		cfg.Recyclers = map[string]pvcontroller.Recycler{"kubernetes.io/host-path": plugin}
	}
	c := newCluster(t, engine.Config{}, cfg)
	c.offered("pv", "5Gi", change...)
	c.settle()
	c.claimed("data")
	c.settle()
	c.requireBound("data", "pv")
	c.deleteClaim("data")
	c.settle()
	return c
}

func (c *cluster) requireGone(volume string) {
	c.Helper()
	_, err := c.user.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
	require.True(c, apierrors.IsNotFound(err), "%v", err)
}

func TestAnInTreeVolumeIsDeletedWithItsAsset(t *testing.T) {
	plugin := &hostPath{}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimDelete), annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/host-path"))
	require.Equal(t, []string{"pv"}, plugin.done)
	c.requireGone("pv")
}

func TestAnAssetInUseIsTriedAgainAndTheVolumeStaysReleased(t *testing.T) {
	plugin := &hostPath{errs: []error{fmt.Errorf("mounted: %w", pvcontroller.ErrVolumeInUse)}}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimDelete))
	require.Equal(t, v1.VolumeReleased, c.volume("pv").Status.Phase)
	require.Equal(t, []string{"Normal VolumeDelete"}, c.events("pv"))
	c.resync()
	c.requireGone("pv")
}

func TestAFailedDeletionIsSaidAndTriedAgain(t *testing.T) {
	plugin := &hostPath{errs: []error{errors.New("disk on fire"), errors.New("disk on fire")}}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimDelete))
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Equal(t, "disk on fire", c.volume("pv").Status.Message)
	c.resync()
	require.Equal(t, []string{"Warning VolumeFailedDelete"}, c.events("pv"), "said once")
	c.resync()
	c.requireGone("pv")
}

func TestADeleteVolumeThatNoPluginKnowsFails(t *testing.T) {
	c := withPlugin(t, nil, policy(v1.PersistentVolumeReclaimDelete))
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Equal(t, `error getting deleter volume plugin for volume "pv": no deletable volume plugin matched`, c.volume("pv").Status.Message)
	require.Equal(t, []string{"Warning VolumeFailedDelete"}, c.events("pv"))
}

func TestVolumesOfOthersAreOnlyReleased(t *testing.T) {
	for name, change := range map[string]func(*v1.PersistentVolume){
		"external provisioner": annotated("pv.kubernetes.io/provisioned-by=example.com/ext"),
		"migrated":             annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/aws-ebs", "pv.kubernetes.io/migrated-to=ebs.csi.aws.com"),
		"CSI": func(volume *v1.PersistentVolume) {
			volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "x.example.com", VolumeHandle: "h"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := withPlugin(t, nil, policy(v1.PersistentVolumeReclaimDelete), change)
			c.resync()
			require.Equal(t, v1.VolumeReleased, c.volume("pv").Status.Phase)
			require.Empty(t, c.events("pv"))
		})
	}
}

func TestAFailedDeletionIsHeldBackLongerEachTime(t *testing.T) { // semantics 1.1: 500 ms, doubled, at most 2 m 2 s
	plugin := &hostPath{}
	for range 40 {
		plugin.errs = append(plugin.errs, errors.New("disk on fire"))
	}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimDelete))
	require.Len(t, plugin.errs, 39, "that it Failed is an update, but comes too early")
	var waits []int
	for tried, since := len(plugin.errs), 0; len(waits) < 12; {
		require.NoError(t, c.engine.RunFor(15*time.Second))
		if since += 15; len(plugin.errs) < tried {
			waits = append(waits, since)
			tried, since = len(plugin.errs), 0
		}
	}
	require.Equal(t, []int{15, 15, 15, 15, 15, 30, 45, 75, 135, 135, 135, 135}, waits)
}

func TestWhyAVolumeCannotBeDeletedIsSaidAsUpstreamSaysIt(t *testing.T) {
	for says, change := range map[string]func(*v1.PersistentVolume){
		`no volume plugin matched name: kubernetes.io/glusterfs`: annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/glusterfs"),
		`no deletable volume plugin matched`:                     annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/nfs"),
		`error getting deleter volume plugin for volume "pv": no volume plugin matched`: func(volume *v1.PersistentVolume) {
			volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{FC: &v1.FCVolumeSource{WWIDs: []string{"3600508b400105e21"}}}
		},
		`error getting deleter volume plugin for volume "pv": no deletable volume plugin matched`: func(volume *v1.PersistentVolume) {
			volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nfs.example.com", Path: "/export"}}
		},
		`no volume plugin matched name: kubernetes.io/csi-before`: func(volume *v1.PersistentVolume) {
			annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/csi-before")(volume)
			volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "x.example.com", VolumeHandle: "h"}}
		},
	} {
		c := withPlugin(t, nil, policy(v1.PersistentVolumeReclaimDelete), change)
		require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase, says)
		require.Equal(t, says, c.volume("pv").Status.Message)
		require.Equal(t, []string{"Warning VolumeFailedDelete"}, c.events("pv"))
	}
}

// Between the decision to reclaim a volume and the deed it may have got another owner.
func TestAVolumeThatIsNoLongerReleasedIsNotReclaimed(t *testing.T) { // semantics 1.6: live GET, re-check released
	for _, policyName := range []v1.PersistentVolumeReclaimPolicy{v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeReclaimRecycle} {
		for name, patch := range map[string]string{
			"nobody's":              `{"spec":{"claimRef":null}}`,
			"reserved for its name": `{"spec":{"claimRef":{"uid":null}}}`,
		} {
			plugin := &hostPath{}
			c := newCluster(t, engine.Config{}, pvcontroller.Config{
				Deleters:  map[string]pvcontroller.Deleter{pvcontroller.HostPathPlugin: plugin},
				Recyclers: map[string]pvcontroller.Recycler{pvcontroller.HostPathPlugin: plugin},
			})
			c.offered("pv", "5Gi", policy(policyName))
			c.settle()
			c.claimed("data")
			c.settle()
			c.deleteClaim("data")
			require.NoError(t, c.engine.RunUntil(time.Second, func() bool { return c.volume("pv").Status.Phase == v1.VolumeReleased }))
			c.patchVolume("pv", patch)
			c.resync()
			require.Empty(t, plugin.done, "%s, %s", policyName, name)
			require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
		}
	}
}

func TestAReclaimPolicyThatIsChangedAfterTheReleaseCounts(t *testing.T) {
	plugin := &hostPath{}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimRetain))
	c.resync()
	require.Equal(t, v1.VolumeReleased, c.volume("pv").Status.Phase)
	require.Empty(t, plugin.done)
	c.patchVolume("pv", `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
	c.settle()
	require.Equal(t, []string{"pv"}, plugin.done)
	c.requireGone("pv")
}

func TestAVolumeOfAnotherLifeIsNotHeldBackByTheFailuresOfTheLast(t *testing.T) { // semantics 1.1: keyed by UID
	plugin := &hostPath{}
	for range 7 {
		plugin.errs = append(plugin.errs, errors.New("disk on fire"))
	}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimDelete))
	require.NoError(t, c.engine.RunFor(2*time.Minute))
	plugin.errs = nil // and yet nothing happens for some time
	c.settle()
	require.Empty(t, plugin.done)
	c.removeVolume("pv")
	c.offered("pv", "5Gi", reservedFor("nowhere"), withUID("1d5b4d2c-0000-0000-0000-000000000000"), policy(v1.PersistentVolumeReclaimDelete))
	c.settle()
	require.Equal(t, []string{"pv"}, plugin.done)
	c.requireGone("pv")
}

func TestADeleterServesTheVolumesOfItsNameWhateverTheName(t *testing.T) {
	plugin := &hostPath{}
	c := newCluster(t, engine.Config{}, pvcontroller.Config{Deleters: map[string]pvcontroller.Deleter{"example.com/mine": plugin}})
	c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimDelete), annotated("pv.kubernetes.io/provisioned-by=example.com/mine"))
	c.settle()
	c.claimed("data")
	c.settle()
	c.deleteClaim("data")
	c.settle()
	c.requireGone("pv")
	require.Equal(t, []string{"pv"}, plugin.done)
}

func TestBadConfigurationIsRefused(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	require.ErrorContains(t, e.Add("x", pvcontroller.New(pvcontroller.Config{ResyncPeriod: -1})), "Config.ResyncPeriod is -1ns, it must not be negative")
	require.ErrorContains(t, e.Add("x", pvcontroller.New(pvcontroller.Config{Deleters: map[string]pvcontroller.Deleter{"a": nil}})), `Config.Deleters["a"] is nil`)
	require.ErrorContains(t, e.Add("x", pvcontroller.New(pvcontroller.Config{Recyclers: map[string]pvcontroller.Recycler{"a": nil}})),
		`Config.Recyclers["a"] is nil`)
}
