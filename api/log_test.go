package api_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func TestTheChangesOfALargeObjectTakeBoundedMemory(t *testing.T) {
	server := api.NewServer(api.Config{})
	client := fake.New(server, "user")
	maps := client.CoreV1().ConfigMaps("default")
	cm, err := maps.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "big"}, Data: map[string]string{}}, metav1.CreateOptions{})
	require.NoError(t, err)
	first := cm.ResourceVersion
	for i := range 400 {
		cm.Data["v"] = strings.Repeat(string(rune('a'+i%26)), 1_000_000)
		cm, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{})
		require.NoError(t, err)
		client.ClearActions() // it remembers its calls for its user
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	require.Less(t, mem.HeapAlloc, uint64(200<<20), "of 400 MB")
	w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: first})
	require.NoError(t, err)
	require.Equal(t, watch.Error, (<-w.ResultChan()).Type, "what is forgotten cannot be watched")
	w.Stop()
	runtime.KeepAlive(server)
}
