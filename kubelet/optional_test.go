package kubelet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
)

// Upstream: configmap.go and secret.go SetUpAt, v1.37: what is optional may be missing. An
// API server that does not answer has not said that it is.
func TestAnOptionalObjectIsForgivenOnlyForNotBeingThere(t *testing.T) {
	optional := true
	for resource, source := range map[string]v1.VolumeSource{
		"configmaps": {ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "app"}, Optional: &optional}},
		"secrets":    {Secret: &v1.SecretVolumeSource{SecretName: "app", Optional: &optional}},
	} {
		t.Run(resource, func(t *testing.T) {
			w := simple(t)
			w.configMap("app", map[string]string{"a": "1"})
			w.secret("app", map[string]string{"a": "1"})
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: resource, Err: errors.New("refused")}))
			p := w.create(pod("web", volumeOf("config", source)))
			w.settle()
			w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "config" : `)
			require.NoError(t, w.e.RunFor(5*time.Minute))
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			require.Equal(t, "1", w.read(p, "/config/a"))
		})
	}
}
