package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/provisioner"
)

// attacks go beyond the bounds of ARCHITECTURE.md, by the first column of its table. The error says that the
// outcome is another than the table's.
var attacks = map[string]func(*site) error{
	"a script's steps":                                                tooManySteps,
	"what a script holds":                                             tooManyValues,
	"a machine's files in memory":                                     tooManyFiles,
	"a volume of the reference driver in memory":                      tooMuchOnAVolume,
	"a request's body, a stored object":                               tooLarge,
	"checking a custom object":                                        tooMuchToCheck,
	"defaults of a custom object":                                     tooManyDefaults,
	"the server's lock while an object is checked":                    checkedByFour,
	"rules in CEL":                                                    tooDear,
	"the text of a refusal":                                           tooManyErrors,
	"the output of a command that `Exec` or a story's `exec` returns": tooMuchOutput,
	"what a command prints to a client between two steps":             tooMuchPrinted,
	"the volumes that a driver lists":                                 tooManyVolumes,
	"`run-for` of a served cluster":                                   tooMuchTime,
	"a story over HTTP":                                               tooLongAStory,
	"the error of a CSI call":                                         tooLongAnAnswer,
	"an event's message, the error of a failed key":                   tooLongAnError,
	"a JSON patch":                                                    tooMuchPatched,
	"control characters in stories and on terminals":                  controlCharacters,
	"a thread that a provisioner locks (`runtime.LockOSThread`)":      lockedThreads,
}

// times returns how far attacks go beyond a bound: ten times, or twice with -short.
func times(bound int) int {
	if testing.Short() {
		return 2 * bound
	}
	return 10 * bound
}

// says returns an error unless a pod that runs a script ends and its log has a text.
func (s *site) says(name, node, script, claim, want string) error {
	if err := s.pod(name, node, script, claim); err != nil {
		return err
	}
	log, err := s.ended(name)
	if err == nil && !strings.Contains(log, want) {
		err = fmt.Errorf("pod %s says %.2000q", name, log)
	}
	return err
}

// 10,000 steps until it sleeps; it pauses 1 s, then twice as long, to 10 min.
func tooManySteps(s *site) error {
	if err := s.says("steps", "bad", fmt.Sprintf("for i in $(seq %d); do for j in $(seq 1000); do :; done; done; echo done", times(10)), "", "done"); err != nil {
		return err
	}
	pod, err := s.client.CoreV1().Pods("default").Get(s.ctx, "steps", metav1.GetOptions{})
	if err != nil {
		return err
	}
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	if took := ended.FinishedAt.Sub(ended.StartedAt.Time); took < time.Second {
		return fmt.Errorf("they took only %s", took)
	}
	return nil
}

// doubled sets x to a text of 2^n bytes.
func doubled(n int) string {
	return fmt.Sprintf(`x=a; i=0; while [ $i -lt %d ]; do x="$x$x"; i=$((i+1)); done; `, n)
}

// 256 MiB, 8 MiB of variables, 1 MiB a value; the program ends.
func tooManyValues(s *site) error {
	return errors.Join(
		s.says("value", "bad", doubled(24)+"echo done", "", "of more than 1048576 bytes"),
		s.says("variables", "bad", doubled(19)+fmt.Sprintf(`f() { [ $1 -gt %d ] && return; local x$1="$x"; f $(($1+1)); }; f 1; echo done`, times(16)), "",
			"variables of more than"),
		s.says("held", "bad", doubled(20)+fmt.Sprintf(`y=$x z=$x v=$x w=$x u=$x t=$x; f() { [ $1 -gt %d ] && return; (f $(($1+1))); }; f 1; echo done`, times(40)),
			"", "more than"),
	)
}

// 256 MiB, a file for each 4 KiB; ENOSPC.
func tooManyFiles(s *site) error {
	return errors.Join(
		s.says("bytes", "full", doubled(19)+fmt.Sprintf(`for i in $(seq %d); do for j in 1 2 3 4; do echo $x >> /data/$i || exit 1; done; done`, times(128)), "",
			"no space left on device"),
		s.says("files", "filed", fmt.Sprintf(`for i in $(seq %d); do mkdir /data/$i && cd /data/$i && touch $(seq 6554) || exit 1; done`, times(10)), "",
			"no space left on device"),
	)
}

// Its size; ENOSPC.
func tooMuchOnAVolume(s *site) error {
	if err := s.claim("small", driver.Name, "8Mi"); err != nil {
		return err
	}
	return s.says("filler", "bad", doubled(19)+fmt.Sprintf(`for i in $(seq %d); do echo $x >> /data/$i || exit 1; done`, times(16)), "small",
		"no space left on device")
}

// 3 MiB, 1.5 MiB; 413, an internal error as etcd's.
func tooLarge(s *site) error {
	create := func(bytes int) error {
		_, err := s.client.CoreV1().Pods("default").Create(s.ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "c", Image: "busybox", Env: []v1.EnvVar{{Name: "A", Value: strings.Repeat("a", bytes)}}}},
		}}, metav1.CreateOptions{})
		return err
	}
	return errors.Join(
		refused(create(times(3<<20)), http.StatusRequestEntityTooLarge, "limit is 3145728"),
		refused(create(1600<<10), http.StatusInternalServerError, "request is too large"),
	)
}

// define creates a kind whose spec.list has items of a schema, and waits until it is established.
func (s *site) define(kind, items string) error {
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	plural := strings.ToLower(kind) + "s"
	err := s.post(definitions, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.hostile.example.com}
spec:
  group: hostile.example.com
  scope: Namespaced
  names: {plural: %[1]s, kind: %[2]s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
    properties: {spec: {type: object, properties: {list: {type: array, %[3]s}}}}}}}
`, plural, kind, items))
	for err == nil {
		var made apiextensions.CustomResourceDefinition
		text, failed := s.client.RESTClient().Get().AbsPath(definitions, plural+".hostile.example.com").DoRaw(s.ctx)
		if err = errors.Join(failed, json.Unmarshal(text, &made)); apihelpers.IsCRDConditionTrue(&made, apiextensions.Established) {
			return nil
		}
	}
	return err
}

// create creates an object of such a kind.
func (s *site) create(kind, list string) error {
	body := fmt.Sprintf(`{"apiVersion": "hostile.example.com/v1", "kind": %q, "metadata": {"generateName": "a-"}, "spec": {"list": %s}}`, kind, list)
	return s.client.RESTClient().Post().AbsPath("/apis/hostile.example.com/v1/namespaces/default", strings.ToLower(kind)+"s").
		SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(s.ctx).Error()
}

// words returns a JSON list of n words.
func words(n int, word string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = word + strconv.Itoa(i)
	}
	text, _ := json.Marshal(list) // of texts
	return string(text)
}

// 5,000,000 comparisons, 2,000 errors, 64 KiB of an enumeration in an error; 422.
func tooMuchToCheck(s *site) error {
	return errors.Join(
		s.define("Word", "items: {type: string, enum: "+words(50_000, "w")+"}"),
		refused(s.create("Word", words(times(100), "x")), http.StatusUnprocessableEntity, "takes more than 5000000 comparisons"),
		refused(s.create("Word", `["x"]`), http.StatusUnprocessableEntity, "... "),
		s.define("Number", "items: {type: integer}"),
		refused(s.create("Number", words(times(2_000), "x")), http.StatusUnprocessableEntity, "more errors than 2000"),
	)
}

// 4 MiB; the object is too large to be stored.
func tooManyDefaults(s *site) error {
	return errors.Join(
		s.define("Full", "items: {type: object, properties: {a: {type: string, default: "+strings.Repeat("a", 400)+"}}}"),
		refused(s.create("Full", "["+strings.Repeat("{},", times(10_000))+"{}]"), http.StatusRequestEntityTooLarge, "limit is 3145728"),
	)
}

// Not held while an object is checked. The good client writes meanwhile.
func checkedByFour(s *site) error {
	if err := s.define("Checked", "items: {type: string, enum: "+words(50_000, "w")+"}"); err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() {
			for range times(1) {
				errs[i] = errors.Join(errs[i], refused(s.create("Checked", words(9, "x")), http.StatusUnprocessableEntity, "Unsupported value"))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Upstream's costs; 422.
func tooDear(s *site) error {
	return errors.Join(
		refused(s.define("Squared", `items: {type: string}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, self.all(z, x != y + z)))"}]`),
			http.StatusUnprocessableEntity, "estimated rule cost exceeds budget"),
		s.define("Paired", `maxItems: 1000, items: {type: string, maxLength: 10}, x-kubernetes-validations: [{rule: "self.all(x, self.exists_one(y, y == x))"}]`),
		refused(s.create("Paired", words(1_000, "x")), http.StatusUnprocessableEntity, "cost"),
	)
}

// 64 KiB; "... n more errors".
func tooManyErrors(s *site) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}}
	for i := range times(1_000) {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, v1.EnvVar{Name: fmt.Sprintf("a=%d", i)})
	}
	_, err := s.client.CoreV1().Pods("default").Create(s.ctx, pod, metav1.CreateOptions{})
	return refused(err, http.StatusUnprocessableEntity, " more errors")
}

// running creates a pod that has a file of 1 MiB, and waits until it has made it.
func (s *site) running(name string) error {
	if err := s.pod(name, "bad", doubled(19)+"echo $x > /data/f; echo $x >> /data/f; sleep 100000000d", ""); err != nil {
		return err
	}
	_, err := s.until(name, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning })
	return err
}

// 16 MiB; "... n bytes more". No client can ask for that: a program does, of a cluster of its own.
func tooMuchOutput(*site) error {
	c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	if err != nil {
		return err
	}
	defer c.Close()
	err = errors.Join(c.Apply("{apiVersion: v1, kind: Pod, metadata: {name: output}, spec: {containers: [{name: c, image: busybox, command: "+
		"[sleep, infinity]}]}}"), c.Settle())
	if err != nil {
		return err
	}
	result, err := c.Machine("pod/output").Exec("", "sh", "-c", doubled(19)+fmt.Sprintf("for i in $(seq %d); do echo $x; done", times(32)))
	if err == nil && (len(result.Stdout) > 17<<20 || !strings.HasSuffix(result.Stdout, " bytes more")) {
		err = fmt.Errorf("%d bytes of output", len(result.Stdout))
	}
	return err
}

// streamer runs commands in containers.
type streamer struct{ config *rest.Config }

// count runs a command as `kubectl exec` does, and counts the bytes that it prints.
func (x streamer) count(s *site, pod string, command ...string) (int64, error) {
	request := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource("exec")
	request.VersionedParams(&v1.PodExecOptions{Command: command, Stdout: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(x.config, http.MethodGet, request.URL().String())
	if err != nil {
		return 0, err
	}
	var out counter
	err = executor.StreamWithContext(s.ctx, remotecommand.StreamOptions{Stdout: &out})
	return int64(out), err
}

// counter counts the bytes that are written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// 10 MB between two steps; it pauses, and prints all of it.
func tooMuchPrinted(s *site) error {
	if err := s.running("printed"); err != nil {
		return err
	}
	n, err := s.stream.count(s, "printed", "sh", "-c", fmt.Sprintf("for i in $(seq %d); do cat /data/f; done", times(10)))
	if err == nil && n != int64(times(10)*(1<<20+2)) {
		err = fmt.Errorf("%d bytes came", n)
	}
	return err
}

const hostileName = "hostile.example.com"

// lister is a driver that lists ten times as many volumes as are read, and whose errors are long.
type lister struct {
	spec.ControllerServer
	mu    sync.Mutex
	lists int           // how often the first page was asked for
	most  int           // the number of the last page that was asked for
	again chan struct{} // closed when the first page is asked for again
}

// driver returns the driver.
func (l *lister) driver(t *testing.T) csi.Driver {
	t.Helper()
	l.again = make(chan struct{})
	d, err := driver.New(driver.Config{Name: hostileName})
	require.NoError(t, err)
	create := d.NewController
	d.NewController = func(h csi.Host) (spec.ControllerServer, error) {
		made, err := create(h)
		l.ControllerServer = made
		return l, err
	}
	return d
}

// CreateVolume implements csi.ControllerServer.
func (l *lister) CreateVolume(ctx context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	if req.GetCapacityRange().GetRequiredBytes() == 13<<20 {
		return nil, status.Error(codes.ResourceExhausted, "no: "+strings.Repeat("x", times(4<<10)))
	}
	return l.ControllerServer.CreateVolume(ctx, req)
}

// ListVolumes implements csi.ControllerServer: pages of 1 MiB.
func (l *lister) ListVolumes(_ context.Context, req *spec.ListVolumesRequest) (*spec.ListVolumesResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists > 2 {
		return &spec.ListVolumesResponse{}, nil // which makes the rest of the soak quick
	}
	n, _ := strconv.Atoi(req.GetStartingToken()) // "" is the first
	if l.most = max(l.most, n); n == 0 {
		if l.lists++; l.lists == 2 {
			close(l.again)
		}
	}
	answer := &spec.ListVolumesResponse{Entries: []*spec.ListVolumesResponse_Entry{{Volume: &spec.Volume{VolumeId: fmt.Sprint(n, strings.Repeat("h", 1<<20))}}}}
	if n < times(64) {
		answer.NextToken = strconv.Itoa(n + 1)
	}
	return answer, nil
}

// 10,000 pages, 64 MiB; they are not compared.
func tooManyVolumes(s *site) error {
	if err := s.claim("listed", hostileName, "1Mi"); err != nil {
		return err
	}
	if err := s.pod("listed", "bad", "sleep 100000000d", "listed"); err != nil {
		return err
	}
	if _, err := s.until("listed", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning }); err != nil {
		return err
	}
	select {
	case <-s.driver.again:
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	if s.driver.most > 64 {
		return fmt.Errorf("page %d was read", s.driver.most)
	}
	return s.client.CoreV1().Pods("default").Delete(s.ctx, "listed", metav1.DeleteOptions{})
}

// A slice of about 0.1 s; other requests come in between. play has a client that asks for all time.
func tooMuchTime(s *site) error {
	for range times(1) {
		if _, err := s.control.Step(s.ctx); err != nil {
			return err
		}
	}
	return nil
}

// 10,000 records; "there is more", and from where.
func tooLongAStory(s *site) error {
	var err error
	for i := range 101 { // the writes of a program, 100 between two steps
		if !s.Do(func() {
			for j := range 100 {
				_, failed := s.cluster.Client().CoreV1().ConfigMaps("default").Create(s.ctx,
					&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("record-%d-%d", i, j)}}, metav1.CreateOptions{})
				err = errors.Join(err, failed)
			}
		}) {
			return errors.New("the cluster has ended")
		}
	}
	part, failed := s.story(0, 100_000)
	if err = errors.Join(err, failed); err == nil && !strings.HasSuffix(part, "\n(there is more: /storagesim/story?from=10000)\n") {
		err = fmt.Errorf("one answer of %d bytes", len(part))
	}
	return err
}

// story returns so many records of the story.
func (s *site) story(from, limit int) (string, error) {
	text, err := s.client.RESTClient().Get().AbsPath("/storagesim/story").Param("from", strconv.Itoa(from)).Param("limit", strconv.Itoa(limit)).DoRaw(s.ctx)
	return string(text), err
}

// 4 KiB; "... n bytes more".
func tooLongAnAnswer(s *site) error {
	if err := s.claim("answer", hostileName, "13Mi"); err != nil {
		return err
	}
	message, err := s.warned("answer", "no: xxx")
	if err == nil && (len(message) > 5<<10 || !strings.Contains(message, " bytes more")) {
		err = fmt.Errorf("an event of %d bytes", len(message))
	}
	return err
}

const lockerName = "locker.example.com"

// locker is a provisioner that locks its thread, and says too much of claims of 13 MiB.
type locker struct{}

// Provision implements provisioner.Provisioner.
func (locker) Provision(_ context.Context, opts provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	runtime.LockOSThread()
	size := opts.PVC.Spec.Resources.Requests[v1.ResourceStorage]
	if size.Value() == 13<<20 {
		return nil, provisioner.ProvisioningFinished, errors.New("\x1b]0;owned\x07: " + strings.Repeat("x", times(16<<10)))
	}
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: opts.PVName}, Spec: v1.PersistentVolumeSpec{
		Capacity: opts.PVC.Spec.Resources.Requests, AccessModes: opts.PVC.Spec.AccessModes, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp"}},
	}}, provisioner.ProvisioningFinished, nil
}

// Delete implements provisioner.Provisioner.
func (locker) Delete(context.Context, *v1.PersistentVolume) error { return nil }

// 16 KiB; "... n bytes more".
func tooLongAnError(s *site) error {
	if err := s.claim("error", lockerName, "13Mi"); err != nil {
		return err
	}
	message, err := s.warned("error", "owned")
	if err == nil && (len(message) > 17<<10 || !strings.Contains(message, " bytes more")) {
		err = fmt.Errorf("an event of %d bytes", len(message))
	}
	return err
}

// 10,000 operations, 3 MiB of copies, 200,000,000 items moved; 413.
func tooMuchPatched(s *site) error {
	maps := s.client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(s.ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "patched"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	patch := func(operations string) error {
		_, err := maps.Patch(s.ctx, "patched", types.JSONPatchType, []byte("["+strings.TrimPrefix(operations, ",")+"]"), metav1.PatchOptions{})
		return err
	}
	return errors.Join(
		refused(patch(strings.Repeat(`,{"op":"add","path":"/x","value":{}}`, times(8_000))), http.StatusRequestEntityTooLarge, "maximum operations"),
		refused(patch(`{"op":"add","path":"/data","value":{"a":"`+strings.Repeat("a", 300<<10)+`"}}`+
			strings.Repeat(`,{"op":"copy","from":"/data/a","path":"/data/b"}`, times(10))),
			http.StatusUnprocessableEntity, ""),
		refused(patch(`{"op":"add","path":"/metadata/finalizers","value":["a.b/c"`+strings.Repeat(`,"d"`, 600_000)+`]}`+
			strings.Repeat(`,{"op":"remove","path":"/metadata/finalizers/1"}`, 9_800)),
			http.StatusRequestEntityTooLarge, "items moved"),
	)
}

// None; `\x1b`.
func controlCharacters(s *site) error {
	if err := s.claim("controlled", lockerName, "13Mi"); err != nil {
		return err
	}
	if _, err := s.warned("controlled", "owned"); err != nil {
		return err
	}
	for from := 0; ; from += 10_000 {
		part, err := s.story(from, 10_000)
		switch {
		case err != nil:
			return err
		case strings.Contains(part, "\x1b"):
			return errors.New("the story has a raw escape")
		case strings.Contains(part, `\x1b]0;owned`):
			return nil
		case part == "":
			return errors.New("the story does not have the escape")
		}
	}
}

// Until its code returns; the lock is taken back.
func lockedThreads(s *site) error {
	for i := range times(1) {
		if err := s.claim(fmt.Sprint("locked-", i), lockerName, "1Mi"); err != nil {
			return err
		}
	}
	for i := range times(1) {
		if _, err := s.warned(fmt.Sprint("locked-", i), "Successfully provisioned volume"); err != nil {
			return err
		}
	}
	return nil
}
