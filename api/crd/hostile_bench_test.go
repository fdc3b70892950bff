package crd_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/fake"
)

// BenchmarkAGoodClientBesideHostileOnes writes a small object again and again, alone and beside four clients whose objects cost as
// much to check as they may, and prints the time that 99 of 100 writes take at most. While objects were checked with the server's
// lock, each write waited for whole checks.
func BenchmarkAGoodClientBesideHostileOnes(b *testing.B) {
	for _, hostile := range []int{0, 4} {
		b.Run(fmt.Sprint("hostile=", hostile), func(b *testing.B) {
			server, client, _ := serve(b)
			define(b, client, withList("{type: string, enum: "+words(50_000, "w")+"}"))
			bad := object(b, nightly)
			list := make([]any, 9)
			for i := range list {
				list[i] = fmt.Sprint("x", i)
			}
			bad.Object["spec"].(map[string]any)["list"] = list
			var stop atomic.Bool
			var all sync.WaitGroup
			for range hostile {
				all.Go(func() {
					for !stop.Load() {
						_, err := client.Resource(v1).Namespace("default").Create(ctx, bad.DeepCopy(), metav1.CreateOptions{})
						if err == nil {
							b.Error("it is not refused")
							return
						}
					}
				})
			}
			good := fake.New(server, "good").CoreV1().ConfigMaps("default")
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				_, err := good.Create(ctx, &v1core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m-", i)}}, metav1.CreateOptions{})
				require.NoError(b, err)
				took = append(took, time.Since(began))
			}
			stop.Store(true)
			all.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
