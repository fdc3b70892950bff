package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// controlled runs control while f is called with what it prints, and ends it as Ctrl-C does.
func controlled(t *testing.T, f func(out *output), args ...string) (errOut string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out, failure output
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, append([]string{"control"}, args...), strings.NewReader(""), &out, &failure)
	}()
	f(&out)
	cancel()
	<-done
	return failure.String()
}

// update rewrites the golden file.
var update = flag.Bool("update", false, "rewrite golden files")

var clock = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  `)

// TestControlBindsClaimsOnAServerThatDoesNot has two commands work together: serve without
// controllers, and control with one.
func TestControlBindsClaimsOnAServerThatDoesNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	_, errOut := served(t, func(string) {
		cfg, err := clientcmd.BuildConfigFromFlags("", file)
		require.NoError(t, err)
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		var told string
		warned := controlled(t, func(out *output) {
			says := func(what string) {
				require.True(t, soon.Is(t, func() bool { return strings.Contains(out.String(), what) }), "%s", out)
			}
			size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
			_, err = client.CoreV1().PersistentVolumes().Create(t.Context(), &v1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
				Spec: v1.PersistentVolumeSpec{
					StorageClassName: "manual", Capacity: size, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
					PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/data"}},
				},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			says("phase = Available")
			_, err = client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &v1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: v1.PersistentVolumeClaimSpec{
					StorageClassName: new("manual"), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
					Resources: v1.VolumeResourceRequirements{Requests: size},
				},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			says("pvc default/data status: accessModes")
			told = out.String()
		}, "--kubeconfig", file, "--only", "pv-binder")
		assert.Contains(t, warned, "running persistent-volume-binder against https://127.0.0.1:")
		assert.NotContains(t, warned, "warning:")
		golden := filepath.Join("testdata", "control.txt")
		told = clock.ReplaceAllString(told, "12:00:00  ")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(told), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), told)
	}, "--only", "none", "--kubeconfig", file)
	assert.Empty(t, errOut)
}

func TestControlSaysInWordsWhatItCannotDo(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for want, args := range map[string][]string{
		"--only: which controllers to run is required: pv-binder, ": {},
		`--only: there is no controller "scheduller"`:               {"--only", "scheduller"},
		`did you mean "scheduler"`:                                  {"--only", "scheduller"},
		`--lease: "mine" is not NAMESPACE/NAME`:                     {"--only", "scheduler", "--lease", "mine"},
		`--kubeconfig: there is no file "` + none + `"`:             {"--only", "scheduler", "--kubeconfig", none},
		`--qps "x" is not a number such as 50 or 0.5`:               {"--only", "scheduler", "--qps", "x"},
		"--qps: 0: it must be above 0":                              {"--only", "scheduler", "--qps", "0"},
		"--qps: NaN: it must be above 0":                            {"--only", "scheduler", "--qps", "nan"},
		"--burst: 0: it must be 1 or more":                          {"--only", "scheduler", "--burst", "0"},
		`--burst "many" is not a whole number such as 7`:            {"--only", "scheduler", "--burst", "many"},
		`--no-lease "maybe" is not true or false`:                   {"--only", "scheduler", "--no-lease=maybe"},
		`control takes no arguments, but "scheduler" is given`:      {"scheduler"},
	} {
		code, _, errOut := command(t, "", append([]string{"control"}, args...)...)
		assert.NotZero(t, code)
		assert.Contains(t, errOut, want)
	}
	_, _, errOut := command(t, "", "serve", "--only", "pv-bindr")
	assert.Contains(t, errOut, `--only: there is no controller "pv-bindr"`)
}

func TestControlKnowsTheNamesOfKubeControllerManager(t *testing.T) {
	for _, name := range []string{"attach-detach", "attachdetach-controller", "persistentvolume-attach-detach-controller"} {
		actors, err := controllersNamed([]string{name})
		require.NoError(t, err)
		assert.Equal(t, []string{"attachdetach-controller"}, actors)
	}
}
