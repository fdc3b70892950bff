package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/live"
)

// theirs is a program of a user: it counts its lives in a ConfigMap, and then waits.
type theirs struct {
	ends func(ctx context.Context) error

	mu  sync.Mutex
	n   int
	err error
}

// lives returns how often it was started; last returns the error of its last call.
func (p *theirs) lives() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func (p *theirs) last() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *theirs) note(lives int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n, p.err = p.n+lives, err
}

func (p *theirs) run(ctx context.Context, cfg *restclient.Config) error {
	p.note(1, nil)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "life-"}}, metav1.CreateOptions{})
	p.note(0, err)
	if p.ends != nil {
		return p.ends(ctx)
	}
	<-ctx.Done()
	_, err = client.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	p.note(0, err)
	return nil
}

// inBubble runs a program "theirs" beside a cluster, in a bubble.
func inBubble(t *testing.T, p *theirs, f func(t *testing.T, cluster *storagesim.Cluster, do func(func() error))) {
	t.Helper()
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		defer func() { assert.NoError(t, cluster.Close()) }()
		driver := live.Start(cluster.Engine())
		do := func(f func() error) {
			t.Helper()
			var err error
			require.True(t, driver.Do(func() { err = f() }))
			require.NoError(t, err)
		}
		do(func() error { return cluster.AddProgram(storagesim.Program{Name: "theirs", Run: p.run}) })
		time.Sleep(time.Second)
		f(t, cluster, do)
		require.NoError(t, driver.Stop())
	})
}

func TestAProgramIsAnActorWhoseWritesBearItsName(t *testing.T) {
	p := &theirs{}
	inBubble(t, p, func(t *testing.T, cluster *storagesim.Cluster, _ func(func() error)) {
		assert.Contains(t, cluster.Engine().Actors(), "theirs")
		assert.Regexp(t, `theirs +creates configmap default/life-`, cluster.Story())
	})
}

func TestAProgramThatCrashesLosesItsConnectionsAndStartsAgainAfterTheDowntime(t *testing.T) {
	p := &theirs{}
	inBubble(t, p, func(t *testing.T, cluster *storagesim.Cluster, do func(func() error)) {
		do(func() error { return cluster.Engine().CrashFor("theirs", 5*time.Minute) })
		time.Sleep(4 * time.Minute)
		assert.Equal(t, 1, p.lives())
		require.Error(t, p.last())
		assert.True(t, utilnet.IsConnectionRefused(p.last()), "%v", p.last())
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 2, p.lives())
		assert.NoError(t, p.last())
		do(func() error { return cluster.Stop("theirs") })
		time.Sleep(time.Hour)
		assert.Equal(t, 2, p.lives(), "it is stopped")
		do(func() error { return cluster.Start("theirs") })
		time.Sleep(time.Second)
		assert.Equal(t, 3, p.lives())
	})
}

func TestAWatchOfAProgramBreaksWhenItsProcessEnds(t *testing.T) {
	broke := make(chan bool, 1)
	p := func(ctx context.Context, cfg *restclient.Config) error {
		client := kubernetes.NewForConfigOrDie(cfg)
		w, err := client.CoreV1().Pods("").Watch(context.Background(), metav1.ListOptions{}) // not by ctx
		if err != nil {
			return err
		}
		for range w.ResultChan() {
		}
		broke <- true
		<-ctx.Done()
		return nil
	}
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		require.NoError(t, cluster.AddProgram(storagesim.Program{Name: "watcher", Run: p}))
		time.Sleep(time.Second)
		require.NoError(t, cluster.Close())
		assert.True(t, <-broke)
	})
}

func TestFaultsStrikeAProgram(t *testing.T) {
	refused := errors.New("the disk of etcd is full")
	for name, test := range map[string]struct {
		fault engine.Fault
		check func(t *testing.T, p *theirs, story string)
	}{
		"an error": {engine.Fault{Err: refused}, func(t *testing.T, p *theirs, _ string) {
			assert.ErrorContains(t, p.last(), refused.Error())
		}},
		"a lost answer": {engine.Fault{After: true}, func(t *testing.T, p *theirs, story string) {
			assert.ErrorContains(t, p.last(), "the answer was lost")
			assert.Equal(t, 2, strings.Count(story, "creates configmap"))
		}},
		"a crash": {engine.Fault{Crash: true, Restart: time.Minute}, func(t *testing.T, p *theirs, story string) {
			assert.Contains(t, story, "crashes before: create configmaps")
			assert.Contains(t, story, "is down for 1m0s")
			assert.Equal(t, 3, p.lives())
		}},
		"a delay": {engine.Fault{Delay: time.Hour}, func(t *testing.T, p *theirs, story string) {
			assert.Contains(t, story, "waits 1h0m0s for: create configmaps")
			assert.Equal(t, 1, strings.Count(story, "creates configmap"), "it waits still")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &theirs{}
			inBubble(t, p, func(t *testing.T, cluster *storagesim.Cluster, do func(func() error)) {
				test.fault.Actor, test.fault.Verb, test.fault.Resource = "theirs", "create", "cm"
				do(func() error { return cluster.Inject(test.fault) })
				do(func() error { return cluster.Crash("theirs") })
				time.Sleep(5 * time.Minute)
				test.check(t, p, cluster.Story())
			})
		})
	}
}

func TestAProgramThatEndsByItselfSaysHowAndIsStartedAgainWithABackoff(t *testing.T) {
	for name, test := range map[string]struct {
		ends func(context.Context) error
		want string
	}{
		"a panic": {func(context.Context) error { panic("no nodes") },
			`panics at live/program_test.go:\d+: no nodes; its process ends, and starts again in 10s`},
		"an error": {func(context.Context) error { return errors.New("no leader") },
			`returns an error: no leader; its process ends, and starts again in 20s`},
		"nil":               {func(context.Context) error { return nil }, `returns nil before its context has ended; its process ends, and starts again at once`},
		"an aborted thread": {func(context.Context) error { runtime.Goexit(); return nil }, `ends its goroutine \(runtime.Goexit`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &theirs{ends: test.ends}
			inBubble(t, p, func(t *testing.T, cluster *storagesim.Cluster, _ func(func() error)) {
				time.Sleep(time.Minute) // at once, after 10 s, 20 s; the next would be after 40 s
				assert.Equal(t, 4, p.lives())
				assert.Regexp(t, test.want, cluster.Story())
			})
		})
	}
}

func TestAProgramThatIgnoresItsContextIsToldOfAndItsNextProcessStartsBesideIt(t *testing.T) {
	release := make(chan struct{})
	live.Bubble(t, func(t *testing.T) {
		release = make(chan struct{})
		p := &theirs{ends: func(context.Context) error { <-release; return nil }}
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		driver := live.Start(cluster.Engine())
		require.True(t, driver.Do(func() { err = cluster.AddProgram(storagesim.Program{Name: "theirs", Run: p.run}) }))
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.True(t, driver.Do(func() { err = cluster.Crash("theirs") }))
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		assert.Equal(t, 1, p.lives(), "it waits for the first to return")
		time.Sleep(20 * time.Second)
		assert.Equal(t, 2, p.lives())
		assert.Contains(t, cluster.Story(), "has not returned 30s after its context ended: it ignores its context, and counts as killed")
		require.NoError(t, driver.Stop())
		assert.EqualError(t, cluster.Close(), "programs that have not returned although their context has ended: theirs")
		close(release)
	})
}

func TestAnUnknownActorInAFaultIsAnErrorThatListsTheActors(t *testing.T) {
	inBubble(t, &theirs{}, func(t *testing.T, cluster *storagesim.Cluster, _ func(func() error)) {
		err := cluster.Inject(engine.Fault{Actor: "thiers", Err: errors.New("x")})
		assert.ErrorContains(t, err, `no actor is called "thiers" (did you mean "theirs"?); expected one of persistent-volume-binder, `)
		assert.ErrorContains(t, err, "theirs")
		assert.EqualError(t, cluster.AddProgram(storagesim.Program{Name: "x"}), `program "x": Run is required`)
		assert.EqualError(t, cluster.AddProgram(storagesim.Program{Name: "theirs", Run: (&theirs{}).run}), `actor "theirs" exists already`)
		assert.EqualError(t, cluster.AddProgram(storagesim.Program{Run: (&theirs{}).run}), "an actor needs a name")
	})
}

// A provisioner that makes directories on an NFS export by the calls of package os.
func TestAProgramWorksOnTheFilesOfAnExportAndWhatItLeavesIsFound(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), NFSServers: []storagesim.NFSServer{{Name: "10.0.0.1", Exports: []string{"/exports"}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	dir, err := cluster.Machine("nfs/10.0.0.1").HostDir("/exports")
	require.NoError(t, err)
	const name = "pvc-01234567-89ab-cdef-0123-456789abcdef"
	made := make(chan error, 1)
	require.NoError(t, cluster.AddProgram(storagesim.Program{Name: "dirs.example.com", Run: func(ctx context.Context, _ *restclient.Config) error {
		made <- os.Mkdir(filepath.Join(dir, name), 0o755)
		<-ctx.Done()
		return nil
	}}))
	require.NoError(t, <-made)
	names, err := cluster.Machine("nfs/10.0.0.1").ListDir("/exports")
	require.NoError(t, err)
	assert.Equal(t, []string{name + "/"}, names)
	assert.ErrorContains(t, cluster.RequireNoLeaks(), "directory /exports/"+name+" on NFS server 10.0.0.1, which no volume uses")

	_, err = cluster.Machine("nfs/10.0.0.1").HostDir("/none")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = cluster.Machine("node/none").HostDir("/")
	assert.ErrorContains(t, err, `no node is called "none"; expected node-1`)
}

// held is a backend that says what it holds.
type held []string

func (h held) Volumes(context.Context) ([]string, error) { return h, nil }

func TestTheInventoryOfAProgramCountsAmongTheLeaks(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	require.NoError(t, cluster.AddProgram(storagesim.Program{Name: "array.example.com", Run: (&theirs{}).run, Inventory: held{"pvc-1"}}))
	assert.ErrorContains(t, cluster.RequireNoLeaks(), "volume pvc-1 in the backend of array.example.com, for which there is no pv")
	_, err = cluster.Machine("node/node-1").HostDir("/")
	assert.ErrorContains(t, err, "with MemoryDisks")
}

// client-go's limit of errors sleeps in the goroutine that reports one.
func TestABubbleEndsWhileErrorsAreReported(t *testing.T) {
	for range 3 {
		live.Bubble(t, func(*testing.T) {
			for range 20 {
				go utilruntime.HandleError(errors.New("an error of a program, which client-go logs"))
			}
		})
	}
}

// The child process is this test's executable.
func TestAChildProcessIsAProgramThatFaultsStrikeAndACrashKills(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	driver := live.Start(cluster.Engine())
	processes := make(chan *exec.Cmd, 10)
	run := live.Command(func(ctx context.Context, kubeconfig string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestInsideChild$")
		cmd.Env = append(os.Environ(), "INSIDE="+kubeconfig)
		processes <- cmd
		return cmd
	})
	w, err := cluster.Client().CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	require.True(t, driver.Do(func() {
		err = cluster.AddProgram(storagesim.Program{Name: "child", Run: run})
		err = errors.Join(err, cluster.Inject(engine.Fault{Actor: "child", Verb: "create", After: true}))
	}))
	require.NoError(t, err)
	<-w.ResultChan()
	require.True(t, driver.Do(func() { err = cluster.Engine().CrashFor("child", 100*time.Millisecond) }))
	require.NoError(t, err)
	<-w.ResultChan() // the next life
	first := <-processes
	require.NotNil(t, first.ProcessState, "the first process has ended")
	require.NoError(t, driver.Stop())
	require.NoError(t, cluster.Close())
	story := cluster.Story()
	assert.Regexp(t, `child +creates configmap default/life-`, story)
	assert.Contains(t, story, "the answer was lost")
}

func TestInsideChild(t *testing.T) {
	kubeconfig := os.Getenv("INSIDE")
	if !strings.HasPrefix(kubeconfig, "/") {
		return
	}
	require.Equal(t, kubeconfig, os.Getenv("KUBECONFIG"))
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	_, err = kubernetes.NewForConfigOrDie(&restclient.Config{Host: strings.TrimSuffix(cfg.Host, filepath.Base(cfg.Host))}).
		CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.Error(t, err, "without the random path")
	require.NoError(t, (&theirs{}).run(t.Context(), cfg))
}

const talks = `
apiVersion: v1
kind: Pod
metadata: {name: talks}
spec:
  restartPolicy: Never
  containers: [{name: c, image: busybox, command: [sh, -c, "echo begins; sleep 60; echo ends"]}]
`

func TestAProgramReadsAndFollowsTheLogsOfPods(t *testing.T) {
	answers := make(chan string, 20)
	reader := func(ctx context.Context, cfg *restclient.Config) error {
		pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("default")
		for _, opts := range []v1.PodLogOptions{{}, {Container: "other"}, {Follow: true}, {TailLines: new(int64(1))}} {
			began := time.Now()
			result := pods.GetLogs("talks", &opts).Do(context.Background())
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if text, err := result.Raw(); err != nil {
				answers <- result.Error().Error()
			} else {
				answers <- fmt.Sprintf("%q after %s", text, time.Since(began).Round(10*time.Second))
			}
		}
		<-ctx.Done()
		return nil
	}
	inBubble(t, &theirs{}, func(t *testing.T, cluster *storagesim.Cluster, do func(func() error)) {
		do(func() error { return cluster.Apply(talks) })
		time.Sleep(10 * time.Second)
		do(func() error { return cluster.AddProgram(storagesim.Program{Name: "reader", Run: reader}) })
		time.Sleep(10 * time.Second)
		do(func() error { return cluster.Crash("reader") })
		time.Sleep(10 * time.Second)
		do(func() error {
			return cluster.Inject(engine.Fault{Actor: "reader", Verb: "get", Resource: "pods", Err: apierrors.NewServiceUnavailable("busy")})
		})
		time.Sleep(time.Minute)
		var told []string
		for len(answers) > 0 { // it is not closed: nothing orders that after the program's sends
			told = append(told, <-answers)
		}
		const other = "container other is not valid for pod talks"
		assert.Equal(t, []string{
			`"begins\n" after 0s`, other, // and it is ended while it follows
			`"begins\n" after 0s`, other, `"begins\nends\n" after 40s`, "busy",
		}, told)
	})
}
