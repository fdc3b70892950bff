package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
)

var update = flag.Bool("update", false, "write testdata/story.txt")

// root is the folder of the main module.
const root = "../../.."

// TestTheProgramOfTheDocument builds the program and the command storagesim, runs the program against serve with the
// document's class, claim and pod, and deletes claim and pod.
func TestTheProgramOfTheDocument(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // only a run that hangs takes as long
	t.Cleanup(cancel)                                                        // after the programs have ended
	home := t.TempDir()
	build(t, root, filepath.Join(home, "storagesim"), "./cmd/storagesim")
	build(t, ".", filepath.Join(home, "nfs-provisioner"), ".")
	client := serve(ctx, t, home)

	program := start(ctx, t, home, "nfs-provisioner")
	leases, err := client.CoordinationV1().Leases("default").Watch(ctx, named("provisioner.test.com-nfs"))
	check(t, err)
	until(t, leases, func(e watch.Event) bool { return e.Type == watch.Added }, program)

	create(ctx, t, client)
	pods, err := client.CoreV1().Pods("default").Watch(ctx, named("test-nfs"))
	check(t, err)
	until(t, pods, func(e watch.Event) bool { return e.Object.(*v1.Pod).Status.Phase == v1.PodRunning }, program)
	claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "my-nfs-pvc", metav1.GetOptions{})
	check(t, err)
	if claim.Status.Phase != v1.ClaimBound {
		t.Errorf("claim is %s, expected Bound", claim.Status.Phase)
	}
	volume, err := client.CoreV1().PersistentVolumes().Get(ctx, "pvc-"+string(claim.UID), metav1.GetOptions{})
	check(t, err)
	if nfs := volume.Spec.NFS; nfs == nil || nfs.Server != "192.168.203.110" || nfs.Path != "/data/nfs" {
		t.Errorf("volume has the source %+v, expected the share that the class names", volume.Spec.PersistentVolumeSource)
	}

	volumes, err := client.CoreV1().PersistentVolumes().Watch(ctx, named(volume.Name))
	check(t, err)
	check(t, client.CoreV1().Pods("default").Delete(ctx, "test-nfs", metav1.DeleteOptions{}))
	check(t, client.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "my-nfs-pvc", metav1.DeleteOptions{}))
	until(t, volumes, func(e watch.Event) bool { return e.Type == watch.Deleted }, program)

	story, err := client.Discovery().RESTClient().Get().AbsPath("/storagesim/story").DoRaw(ctx)
	check(t, err)
	golden(t, written(string(story)))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func build(t *testing.T, dir, to, from string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", to, from)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", from, err, out)
	}
}

// process is a program that runs until the test ends, and what it has said.
type process struct {
	name string
	said *bytes.Buffer
	end  func()
}

// start starts a program of the folder home, with it as home directory.
func start(ctx context.Context, t *testing.T, home, name string) process {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(home, name))
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home) // its glog writes files into the latter
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	check(t, cmd.Start())
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // said is complete
		}
	}
	t.Cleanup(end)
	return process{name: name, said: said, end: end}
}

// serve starts `storagesim serve` without a provisioner and returns a client of the cluster.
func serve(ctx context.Context, t *testing.T, home string) *kubernetes.Clientset {
	t.Helper()
	kubeconfig := filepath.Join(home, ".kube", "config")
	check(t, os.Mkdir(filepath.Dir(kubeconfig), 0o700))
	cmd := exec.CommandContext(ctx, filepath.Join(home, "storagesim"), "serve", "--provisioners=", "--nfs", "192.168.203.110:/data/nfs",
		"--kubeconfig", kubeconfig)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("storagesim serve: %v, expected exit code 130, that of Ctrl-C", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "# https://") {
	}
	check(t, lines.Err())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(t, err)
	config.UserAgent = "user"
	client, err := kubernetes.NewForConfig(config)
	check(t, err)
	return client
}

// create creates the document's class, claim and pod.
func create(ctx context.Context, t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	for _, file := range []string{"my-nfs.yaml", "my-nfs-pvc.yaml", "test-nfs.yaml"} {
		data, err := os.ReadFile(filepath.Join(root, "examples/dynamic-binding", file))
		check(t, err)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		check(t, err)
		switch object := object.(type) {
		case *storagev1.StorageClass:
			_, err = client.StorageV1().StorageClasses().Create(ctx, object, metav1.CreateOptions{})
		case *v1.PersistentVolumeClaim:
			_, err = client.CoreV1().PersistentVolumeClaims("default").Create(ctx, object, metav1.CreateOptions{})
		case *v1.Pod:
			_, err = client.CoreV1().Pods("default").Create(ctx, object, metav1.CreateOptions{})
		default:
			t.Fatalf("%s is a %T", file, object)
		}
		check(t, err)
	}
}

func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: "metadata.name=" + name}
}

// until waits for an event.
func until(t *testing.T, w watch.Interface, is func(watch.Event) bool, program process) {
	t.Helper()
	defer w.Stop()
	for event := range w.ResultChan() {
		if is(event) {
			return
		}
	}
	program.end()
	t.Fatalf("the watch has ended; %s said:\n%s", program.name, program.said)
}

// written returns what the program has written, in order, as the story tells it, and then its events, without times: renewals of the lease come
// when they come, events are sent by a goroutine of their own, and what others do between two writes depends on the machine.
func written(story string) string {
	lines := regexp.MustCompile(`(?m)^[ 0-9:.]* {2}(nfs-provisioner) +((?:creates|deletes|updates pv|says) .*(?:\n {30,}.*)*)`).FindAllStringSubmatch(story, -1)
	var writes, events []string
	for _, line := range lines {
		text := line[1] + "  " + strings.Join(strings.Fields(line[2]), " ") + "\n"
		if strings.HasPrefix(line[2], "says") {
			events = append(events, text)
		} else {
			writes = append(writes, text)
		}
	}
	slices.Sort(events)
	text := regexp.MustCompile(`(pvc-[0-9a-f]{8})-[0-9a-f-]{27}`).ReplaceAllString(strings.Join(append(writes, events...), ""), "$1")
	return regexp.MustCompile(`LeaderElection: \S+ became`).ReplaceAllString(text, "LeaderElection: HOST_UUID became")
}

func golden(t *testing.T, got string) {
	t.Helper()
	const file = "testdata/story.txt"
	if *update {
		check(t, os.MkdirAll("testdata", 0o755))
		check(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	check(t, err)
	if got != string(want) {
		t.Errorf("the program wrote\n%s\nexpected\n%s", got, want)
	}
}
