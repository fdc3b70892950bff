package sidecars

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/driver"
)

var claims = flag.Int("claims", 1000, "how many claims BenchmarkClaimsToRunningPods makes")

// BenchmarkClaimsToRunningPods brings claims, all at once, to running pods, in real time: with
// the real sidecars and with ours, on the same server and kubelets. The real ones may make a
// thousand requests in a second; by default they make five.
func BenchmarkClaimsToRunningPods(b *testing.B) {
	for _, real := range []bool{true, false} {
		b.Run(map[bool]string{true: "real", false: "ours"}[real], func(b *testing.B) {
			took := map[string]float64{}
			for b.Loop() {
				b.StopTimer()
				r := start(b, setup{
					real: real, quick: true, nodes: 1 + *claims/100, speed: 1, driver: driver.Config{Capacity: 1 << 50},
					flags: []string{"--kube-api-qps=1000", "--kube-api-burst=1000"},
				})
				r.apply(file(b, "classes"))
				manifests, before := claimsAndPods(*claims), b.Elapsed()
				b.StartTimer()
				r.apply(manifests)
				for _, state := range []state{{"bound", r.claimsBound}, {"attached", r.attached}, {"running", r.pods}} {
					r.all(state)
					took[state.name] += (b.Elapsed() - before).Seconds()
				}
			}
			for what, seconds := range took {
				b.ReportMetric(seconds/float64(b.N), "s-until-"+what)
			}
		})
	}
}

// state counts claims, attachments and pods.
type state struct {
	name  string
	count func() int // how many have
}

func (r *rig) all(s state) {
	r.Helper()
	for end := time.Now().Add(10 * time.Minute); s.count() < *claims; time.Sleep(100 * time.Millisecond) {
		require.True(r, time.Now().Before(end), "after ten minutes %s: %d of %d", s.name, s.count(), *claims)
	}
}

// attached returns the number of attached volumes, by their VolumeAttachments.
func (r *rig) attached() (n int) {
	list, err := r.cluster.Client().StorageV1().VolumeAttachments().List(context.Background(), metav1.ListOptions{})
	require.NoError(r, err)
	for _, attachment := range list.Items {
		if attachment.Status.Attached {
			n++
		}
	}
	return n
}

// claimsBound returns the number of claims that are bound.
func (r *rig) claimsBound() (n int) {
	list, err := r.cluster.Client().CoreV1().PersistentVolumeClaims("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(r, err)
	for _, claim := range list.Items {
		if claim.Status.Phase == v1.ClaimBound {
			n++
		}
	}
	return n
}

func claimsAndPods(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-%[1]d}, spec: {accessModes: [ReadWriteOnce], storageClassName: csi,
  resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-%[1]d}, spec: {terminationGracePeriodSeconds: 1,
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: data-%[1]d}}]}}
`, i)
	}
	return text.String()
}
