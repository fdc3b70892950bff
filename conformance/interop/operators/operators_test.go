package operators_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/live"
)

// patience is the longest real time for which a test waits for what takes some seconds on a quiet machine.
const patience = 5 * time.Minute

const actor = "rabbitmq-operator"

// brokers asks for three brokers, each with a claim of this size.
func brokers(size string) string {
	return `
apiVersion: rabbitmq.com/v1beta1
kind: RabbitmqCluster
metadata: {name: shop, namespace: default}
spec:
  replicas: 3
  persistence: {storageClassName: disk, storage: ` + size + `}
`
}

const class = `
apiVersion: v1
kind: Namespace
metadata: {name: rabbitmq-system}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: csi.storagesim.io
allowVolumeExpansion: true
`

// release is one release of the operator in this folder.
type release struct {
	module string // the folder of its module
	flags  []string
}

// ask returns what the go command says in the folder of the release's module.
func (r release) ask(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir, command.Env = r.module, append(os.Environ(), "CGO_ENABLED=0")
	out, err := command.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// definitions returns the operator's CustomResourceDefinition, as it is released.
func (r release) definitions(t *testing.T) string {
	t.Helper()
	dir := r.ask(t, "list", "-m", "-f", "{{.Dir}}", "github.com/rabbitmq/cluster-operator")
	text, err := os.ReadFile(filepath.Join(dir, "config/crd/bases/rabbitmq.com_rabbitmqclusters.yaml"))
	require.NoError(t, err)
	return string(text)
}

// program returns the operator, which go.mod names as a tool, as an actor.
func (r release) program(t *testing.T) storagesim.Program {
	t.Helper()
	path := r.ask(t, "tool", "-n", "cluster-operator")
	return storagesim.Program{Name: actor, Run: live.Command(func(ctx context.Context, kubeconfig string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, r.flags...)
		cmd.Env = append(os.Environ(), "KUBE_CONFIG="+kubeconfig, "OPERATOR_NAMESPACE=rabbitmq-system")
		return cmd
	})}
}

// growCrashing plays one release: its three claims are to grow from 10 to 15 GiB, and it crashes before it writes the first of them. It returns
// the sizes that the set's template and the claims ask for when the operator has nothing more to do.
func (r release) growCrashing(t *testing.T) (template, claims string) {
	t.Helper()
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Nodes: []storagesim.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}}, Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	defer func() { assert.NoError(t, cluster.Close()) }()
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	require.NoError(t, cluster.InstallCSIDriver(d))
	require.NoError(t, cluster.Apply(r.definitions(t)))
	require.NoError(t, cluster.AddProgram(r.program(t)))
	require.NoError(t, cluster.Apply(class))
	require.NoError(t, cluster.Apply(brokers("10Gi")))
	drive := live.Start(cluster.Engine())
	eventually := func(what string, cond func() bool) {
		t.Helper()
		if !assert.Eventually(t, cond, patience, 100*time.Millisecond, what) {
			t.Fatal(cluster.Story())
		}
	}
	do := func(f func() error) {
		t.Helper()
		require.True(t, drive.Do(func() { err = f() }))
		require.NoError(t, err)
	}
	eventually("three brokers run", func() bool {
		pods, err := cluster.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=shop"})
		running := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == v1.PodRunning {
				running++
			}
		}
		return err == nil && running == 3
	})
	do(func() error {
		return cluster.Inject(engine.Fault{Actor: actor, Verb: "update", Resource: "persistentvolumeclaims", Crash: true})
	})
	do(func() error { return cluster.Apply(brokers("15Gi")) })
	size := func(list v1.ResourceList) string { q := list[v1.ResourceStorage]; return q.String() }
	eventually("there is a set of 15 GiB", func() bool {
		set, err := cluster.Client().AppsV1().StatefulSets("default").Get(t.Context(), "shop-server", metav1.GetOptions{})
		if err != nil {
			return false
		}
		template = size(set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests)
		return template == "15Gi" && set.DeletionTimestamp == nil
	})
	time.Sleep(20 * time.Second) // it has written the set last, and retries what fails within seconds
	list, err := cluster.Client().CoreV1().PersistentVolumeClaims("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		claims += " " + size(list.Items[i].Spec.Resources.Requests)
	}
	require.NoError(t, drive.Stop())
	t.Log("\n" + cluster.Story())
	return template, strings.TrimSpace(claims)
}

// https://github.com/rabbitmq/cluster-operator/issues/782: to let claims grow, the operator deletes the StatefulSet, writes the claims, and makes the
// set anew. After a crash between the first two, v1.6 finds no set, makes one of the new size, and takes that for the size of the claims.
func TestACrashBeforeTheFirstClaimIsWritten(t *testing.T) {
	for _, test := range []struct {
		release
		claims string
	}{
		{release{"rabbitmq-v1.6", []string{"--metrics-addr=127.0.0.1:0"}}, "10Gi 10Gi 10Gi"},
		{release{"rabbitmq-v1.14", []string{"--metrics-bind-address=127.0.0.1:0"}}, "15Gi 15Gi 15Gi"},
	} {
		t.Run(test.module, func(t *testing.T) {
			t.Parallel()
			template, claims := test.growCrashing(t)
			assert.Equal(t, "15Gi: "+test.claims, fmt.Sprintf("%s: %s", template, claims))
		})
	}
}
