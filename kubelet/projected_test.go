package kubelet_test

import (
	"io/fs"

	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// projected returns a volume of these sources.
func projected(name string, sources ...v1.VolumeProjection) v1.Volume {
	return volumeOf(name, v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: sources}})
}

// apiAccess returns the volume that every pod of a real cluster has.
func apiAccess() v1.Volume {
	seconds := int64(3607)
	return projected("kube-api-access-x7q2z",
		v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
		v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{
			LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		v1.VolumeProjection{DownwardAPI: &v1.DownwardAPIProjection{
			Items: []v1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
		}},
	)
}

func TestAPodCopiedFromARealClusterStartsWithATokenThatIsNone(t *testing.T) {
	w := simple(t)
	w.account("default")
	p := w.create(pod("web", apiAccess()))
	grouped := pod("grouped", apiAccess())
	gid := int64(2000)
	grouped.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &gid}
	grouped = w.create(grouped)
	w.settle()
	dir := "/kube-api-access-x7q2z/"
	require.Contains(t, w.read(p, dir+"token"), "this-is-not-a-token")
	require.Contains(t, w.read(p, dir+"ca.crt"), "This is no certificate")
	require.Equal(t, "default", w.read(p, dir+"namespace"))
	for p, want := range map[*v1.Pod]int{p: 0o644, grouped: 0o640} {
		info, err := w.node.Stat("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~projected" + dir + "token")
		require.NoError(t, err)
		require.Equal(t, want, int(info.Mode().Perm()), "mode of the token of %s", p.Name)
	}

	w.configMap("kube-root-ca.crt", map[string]string{"ca.crt": "of the user"})
	p = w.create(pod("later", apiAccess()))
	w.settle()
	require.Equal(t, "of the user", w.read(p, dir+"ca.crt"))
	for _, name := range []string{"web", "grouped", "later"} {
		w.delete(name)
	}
	w.settle()
	w.requireNothingLeft()
}

func TestCertificatesOfPodsAreFilesThatSayWhatTheyAre(t *testing.T) {
	w, name := simple(t), "ca"
	p := w.create(pod("web",
		projected("ca", v1.VolumeProjection{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{Name: &name, Path: "ca.pem"}}),
		projected("key", v1.VolumeProjection{PodCertificate: &v1.PodCertificateProjection{
			SignerName: "example.com/signer", KeyType: "ED25519", CredentialBundlePath: "bundle.pem",
		}})))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.Contains(t, w.read(p, "/ca/ca.pem"), "This is no certificate")
	require.Contains(t, w.read(p, "/key/bundle.pem"), "neither a key nor a certificate")
}

// Conformance: full/k21_projected and k18b_secret_optional_missing, whose directories have
// the mode of a tmpfs.
func TestVolumesInMemoryHaveTheModeOfATmpfs(t *testing.T) {
	w := simple(t)
	yes := true
	p := pod("web", projected("all"), configVolume("conf"),
		volumeOf("sec", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "none", Optional: &yes}}),
		volumeOf("self", v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}),
		volumeOf("memory", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}),
		volumeOf("disk", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}))
	p.Spec.Volumes[1].ConfigMap.Optional = &yes
	p = w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	for name, want := range map[string]fs.FileMode{
		"projected/all": 0o777 | fs.ModeSticky, "secret/sec": 0o777 | fs.ModeSticky, "downward-api/self": 0o777 | fs.ModeSticky,
		"empty-dir/memory": 0o777 | fs.ModeSticky, "empty-dir/disk": 0o777, "configmap/config": 0o777,
	} {
		info, err := w.node.Stat("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~" + name)
		require.NoError(t, err)
		require.Equal(t, want|fs.ModeDir, info.Mode(), name)
	}
}

// Upstream: projected.go collectData, v1.37.
func TestAllSourcesThatAreMissingAreNamedInOneEvent(t *testing.T) {
	w := simple(t)
	secret := func(name string) v1.VolumeProjection {
		return v1.VolumeProjection{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: name}}}
	}
	w.create(pod("web", projected("all", secret("user"), secret("pass"))))
	w.settle()
	w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "all" : [secret "user" not found, secret "pass" not found]`)
}
