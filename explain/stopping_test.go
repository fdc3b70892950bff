package explain_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/storagesimtest"
)

// goesOn is the rest of a container that runs for long and does not handle SIGTERM.
const goesOn = `image: busybox, command: [sh, -c, "sleep 100000"]`

// hangs is a postStart hook that does not end.
const hangs = `lifecycle: {postStart: {exec: {command: [sleep, "100000"]}}}`

// While the containers of a pod are started and stopped its status shows the state before.
func TestAVerdictTellsOfContainersThatAreBeingStartedAndStopped(t *testing.T) {
	remove := func(grace int64) func(c *storagesimtest.Cluster) {
		return func(c *storagesimtest.Cluster) {
			c.Must(c.Client().CoreV1().Pods("default").Delete(context.Background(), "web", metav1.DeleteOptions{GracePeriodSeconds: &grace}))
		}
	}
	type want struct {
		class explain.Class
		code  explain.Code
		field string
	}
	for name, tt := range map[string]struct {
		spec    string
		after   time.Duration
		then    func(c *storagesimtest.Cluster)
		later   time.Duration
		want    want
		is, why string
	}{
		"a postStart hook hangs": {
			spec: "containers: [{name: c, " + goesOn + ", " + hangs + "}]", after: 2 * time.Minute,
			want: want{class: explain.UnderWay, code: explain.HookRuns, field: "spec.containers[c].lifecycle.postStart"},
			is:   "Pending on node node-1", why: "container c waits for its postStart hook, which has run for 2m; until it ends nothing else becomes of the pod",
		},
		"the hook of a sidecar hangs": {
			spec: "initContainers: [{name: s, restartPolicy: Always, " + goesOn + ", " + hangs + "}], containers: [{name: c, " +
				goesOn + "}]", after: time.Minute,
			want: want{class: explain.UnderWay, code: explain.HookRuns, field: "spec.initContainers[s].lifecycle.postStart"},
			is:   "Pending on node node-1",
			why:  "init container s waits for its postStart hook, which has run for 60s; until it ends nothing else becomes of the pod",
		},
		"a pod is deleted whose postStart hook hangs": {
			spec: "containers: [{name: c, " + goesOn + ", " + hangs + "}]", after: 2 * time.Minute,
			then: remove(30), later: time.Minute, is: "being deleted on node node-1",
			want: want{class: explain.UnderWay, code: explain.HookRuns, field: "spec.containers[c].lifecycle.postStart"},
			why:  "the postStart hook of container c has run for 3m, and the kubelet stops nothing of the pod until it ends",
		},
		"a container is stopped since its postStart hook failed": {
			spec: "containers: [{name: c, " + goesOn + ", lifecycle: {postStart: {exec: {command: ['false']}}}}]", after: 10 * time.Second,
			want: want{class: explain.Ill, code: explain.ContainerFailed, field: "spec.containers[c].lifecycle.postStart"},
			is:   "Pending on node node-1", why: "the kubelet stops container c, since its postStart hook failed (FailedPostStartHook); it has 20s to end",
		},
		"a container was stopped since its postStart hook failed": {
			spec:  "restartPolicy: Never, containers: [{name: c, " + goesOn + ", lifecycle: {postStart: {exec: {command: ['false']}}}}]",
			after: time.Minute, want: want{class: explain.Ill, code: explain.ContainerFailed, field: "spec.containers[c].lifecycle.postStart"},
			is: "Failed on node node-1", why: "the kubelet stopped container c, since its postStart hook failed (FailedPostStartHook)",
		},
		"a pod is deleted twice": {
			spec: "terminationGracePeriodSeconds: 100, containers: [{name: c, " + goesOn + "}]", after: 10 * time.Second,
			then: func(c *storagesimtest.Cluster) { remove(100)(c); c.RunFor(10 * time.Second); remove(5)(c) }, later: 20 * time.Second,
			want: want{class: explain.UnderWay, code: explain.Stopping}, is: "being deleted on node node-1",
			why: "it is being deleted, and its containers have 1m10s to end; the shorter grace period of a later deletion changes nothing, " +
				"since the kubelet has begun to stop them",
		},
		"a program is not there": {
			spec: "containers: [{name: c, image: busybox, command: [/nosuch]}]", after: 5 * time.Second, is: "Running and not ready on node node-1",
			want: want{class: explain.Ill, code: explain.ContainerFailed, field: "spec.containers[c].command"},
			why: "container c could not be started: StartError: failed to create containerd task: failed to create shim task: OCI runtime create failed: " +
				"runc create failed: unable to start container process: error during container init: exec: \"/nosuch\": " +
				"stat /nosuch: no such file or directory",
		},
		"all containers are restarted": {
			spec: "containers: [{name: c, " + goesOn + "}, {name: d, image: busybox, command: [sh, -c, 'sleep 5; exit 42'], restartPolicy: Never, " +
				"restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]}]", after: 6 * time.Second,
			is: "Running and not ready on node node-1", want: want{class: explain.UnderWay, code: explain.Stopping},
			why: "all its containers are stopped and start again, since one has ended as its restartPolicyRules say (RestartAllContainers)",
		},
		"all containers were restarted": {
			spec: "containers: [{name: c, " + goesOn + "}, {name: d, image: busybox, command: [sh, -c, 'sleep 5; exit 42'], restartPolicy: Never, " +
				"restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]}]", after: 10 * time.Second,
			is: "Running on node node-1", want: want{class: explain.Well, code: explain.Fine},
		},
		"all containers are restarted, and the first one has a postStart hook": {
			spec: "initContainers: [{name: s, restartPolicy: Always, " + goesOn + ", lifecycle: {postStart: {exec: {command: [sleep, '60']}}}}], " +
				"containers: [{name: c, " + goesOn + "}, {name: d, image: busybox, command: [sh, -c, 'sleep 5; exit 42'], restartPolicy: Never, " +
				"restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]}]", after: 80 * time.Second,
			is:   "Running and not ready on node node-1",
			want: want{class: explain.UnderWay, code: explain.HookRuns, field: "spec.initContainers[s].lifecycle.postStart"},
			why:  "init container s waits for its postStart hook, which has run for 10s; until it ends nothing else becomes of the pod",
		},
		"a working directory cannot be made": {
			spec: "volumes: [{name: v, emptyDir: {}}], containers: [{name: c, workingDir: /v/x, volumeMounts: [{name: v, mountPath: /v, readOnly: true}], " +
				goesOn + "}]", after: 5 * time.Second, is: "Running and not ready on node node-1",
			want: want{class: explain.Ill, code: explain.ContainerFailed, field: "spec.containers[c].workingDir"},
			why: "container c could not be started: StartError: failed to create containerd task: failed to create shim task: OCI runtime create failed: " +
				"mkdir /v/x: read-only file system",
		},
		"a preStop hook runs": {
			spec: "containers: [{name: c, " + goesOn + ", lifecycle: {preStop: {exec: {command: [sleep, '20']}}}}]", after: 10 * time.Second,
			then: remove(30), later: 10 * time.Second, want: want{class: explain.UnderWay, code: explain.Stopping}, is: "being deleted on node node-1",
			why: "it is being deleted, and its containers have 20s to end; a preStop hook runs",
		},
		"a preStop hook has ended": {
			spec: "containers: [{name: c, " + goesOn + ", lifecycle: {preStop: {exec: {command: [sleep, '5']}}}}]", after: 10 * time.Second,
			then: remove(30), later: 10 * time.Second, want: want{class: explain.UnderWay, code: explain.Stopping}, is: "being deleted on node node-1",
			why: "it is being deleted, and its containers have 20s to end",
		},
		"a liveness probe has failed": {
			spec:  "containers: [{name: c, " + goesOn + ", livenessProbe: {exec: {command: [cat, /x]}, failureThreshold: 1}}]",
			after: 15 * time.Second, want: want{class: explain.Ill, code: explain.ProbeFailed, field: "spec.containers[c].livenessProbe"},
			is:  "Running, with a container being stopped, on node node-1",
			why: "the kubelet stops container c, since its liveness probe failed: cat: /x: no such file or directory; it has 15s to end",
		},
		"a pod is deleted whose liveness probe has failed": {
			spec:  "containers: [{name: c, " + goesOn + ", livenessProbe: {exec: {command: ['false']}, failureThreshold: 1}}]",
			after: 15 * time.Second, then: remove(30), later: 5 * time.Second, is: "being deleted on node node-1",
			want: want{class: explain.Ill, code: explain.ProbeFailed, field: "spec.containers[c].livenessProbe"},
			why: "the kubelet stops container c, since its liveness probe failed; it has 10s to end; then it is started once more, " +
				"and stopped since the pod is being deleted",
		},
		"a startup probe has failed that has a grace period": {
			spec: "containers: [{name: c, " + goesOn + ", startupProbe: {exec: {command: ['false']}, failureThreshold: 2, periodSeconds: 5, " +
				"terminationGracePeriodSeconds: 60}}]",
			after: 15 * time.Second, want: want{class: explain.Ill, code: explain.ProbeFailed, field: "spec.containers[c].startupProbe"},
			is:  "Running, with a container being stopped, on node node-1",
			why: "the kubelet stops container c, since its startup probe failed; it has 50s to end",
		},
		"a pod is active for too long": {
			spec: "activeDeadlineSeconds: 10, containers: [{name: c, " + goesOn + "}]", after: 20 * time.Second,
			want: want{class: explain.Ill, code: explain.PodFailed}, is: "Running and being stopped on node node-1",
			why: "the kubelet ends it (DeadlineExceeded: Pod was active on the node longer than the specified deadline), and stops container c; it has 20s to end",
		},
		"a sidecar is stopped since the others have ended": {
			spec: "restartPolicy: Never, initContainers: [{name: s, restartPolicy: Always, " + goesOn +
				"}], containers: [{name: c, image: busybox, command: [sleep, '5']}]",
			after: 15 * time.Second, want: want{class: explain.UnderWay, code: explain.Stopping}, is: "Running and being stopped on node node-1",
			why: "its containers have done their work, and the kubelet stops init container s; it has 20s to end",
		},
		"a sidecar has not started": {
			spec: "initContainers: [{name: s, restartPolicy: Always, " + goesOn + ", startupProbe: {exec: {command: ['false']}, failureThreshold: 100}}], " +
				"containers: [{name: c, " + goesOn + "}]",
			after: 20 * time.Second, want: want{class: explain.UnderWay, code: explain.Unknown}, is: "Pending on node node-1",
			why: "init container s runs, and its startup probe has not succeeded yet",
		},
		"a sidecar is not ready": {
			spec: "initContainers: [{name: s, restartPolicy: Always, " + goesOn + ", readinessProbe: {exec: {command: ['false']}}}], containers: [{name: c, " +
				goesOn + "}]",
			after: 60 * time.Second, want: want{class: explain.Ill, code: explain.ProbeFailed, field: "spec.initContainers[s].readinessProbe"},
			is: "Running and not ready on node node-1", why: "init container s runs, and its readiness probe fails",
		},
		"one of two containers has succeeded": {
			spec:  "restartPolicy: OnFailure, containers: [{name: c, " + goesOn + "}, {name: d, image: busybox, command: ['true']}]",
			after: time.Minute, want: want{class: explain.UnderWay, code: explain.Unknown}, is: "Running and not ready on node node-1",
			why: "container d has done its work and is not started again, and the others have not ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
			c.Apply("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {" + tt.spec + "}}")
			c.RunFor(tt.after)
			if tt.then != nil {
				tt.then(c)
				c.RunFor(tt.later)
			}
			why, err := c.Lab().Explanation("pod/web")
			require.NoError(t, err)
			require.Equal(t, tt.is, why.Verdict.State, why.Text)
			cause, _, _ := strings.Cut(why.Verdict.Cause, "; this simulation")
			require.Equal(t, tt.why, cause, why.Text)
			require.Equal(t, tt.want.class, why.Verdict.Class, why.Text)
			require.Equal(t, tt.want.code, why.Verdict.Code, why.Text)
			require.Equal(t, tt.want.field, why.Verdict.Field, why.Text)
		})
	}
}

func TestAVerdictDoesNotTellOfHooksAndStopsThatAreOverAlthoughTheStatusIsNotWritten(t *testing.T) {
	for name, spec := range map[string]string{
		"a hook": "containers: [{name: c, " + goesOn + ", lifecycle: {postStart: {exec: {command: [sleep, '7']}}}}]",
		"a stop": "terminationGracePeriodSeconds: 5, activeDeadlineSeconds: 10, containers: [{name: c, " + goesOn + "}]",
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
			c.Apply("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {" + spec + "}}")
			c.RunFor(5 * time.Second)
			c.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "pods/status", Times: 1000, Err: errors.New("it is full")})
			c.RunFor(time.Minute)
			why, err := c.Lab().Explanation("pod/web")
			require.NoError(t, err)
			require.Equal(t, explain.WriteRefused, why.Verdict.Code, why.Text)
			require.NotContains(t, why.Text, "postStart hook")
			require.NotContains(t, why.Text, "stops container c")
			require.NotContains(t, why.Verdict.State, "stopped")
		})
	}
}

func TestAVerdictTellsWhatElseKeepsPodsAndClaims(t *testing.T) {
	alone := "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, " + goesOn + "}]}}"
	uses := func(spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {" + spec + ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}"
	}
	remove := func(refs ...string) func(c *storagesimtest.Cluster) {
		return func(c *storagesimtest.Cluster) {
			for _, ref := range refs {
				c.Delete(ref)
			}
		}
	}
	for name, tt := range map[string]struct {
		objects    []string
		then       func(c *storagesimtest.Cluster)
		of         string
		class      explain.Class
		code       explain.Code
		object     string
		state, why string
	}{
		"a kubelet is stopped": {
			[]string{alone}, func(c *storagesimtest.Cluster) { c.Stop("kubelet/node-1") },
			"pod/web", explain.Ill, explain.ActorDown, "actor/kubelet/node-1", "Running on node node-1",
			"kubelet/node-1, which tells what becomes of the pod, is stopped",
		},
		"the status of a pod cannot be written": {
			[]string{alone}, func(c *storagesimtest.Cluster) {
				c.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "pods/status", Times: 1000, Err: errors.New("it is full")})
				c.Delete("pod/web")
			},
			"pod/web", explain.Ill, explain.WriteRefused, "actor/kubelet/node-1", "being deleted on node node-1",
			"its status shows what was before, since the kubelet's last write of it was refused TIME ago: it is full",
		},
		"an ended pod keeps a claim": {
			[]string{csiClass, explainClaim("data", "1Gi", ofCSI), uses("restartPolicy: Never, containers: [{name: c, image: busybox, command: ['true']}]")},
			remove("pvc/data"), "pvc/data", explain.Waits, explain.InUse, "pod/default/web", "being deleted",
			"pod default/web still uses it, although it has ended",
		},
		"a pod that is being deleted keeps a claim": {
			[]string{csiClass, explainClaim("data", "1Gi", ofCSI), uses("containers: [{name: c, " + goesOn + ", " + hangs + "}]")},
			remove("pvc/data", "pod/web"), "pvc/data", explain.UnderWay, explain.InUse, "pod/default/web", "being deleted",
			"pod default/web still uses it, which is being deleted: the postStart hook of container c has run for TIME, " +
				"and the kubelet stops nothing of the pod until it ends",
		},
		"a job fails when its pods have ended": {
			[]string{"{apiVersion: batch/v1, kind: Job, metadata: {name: k}, spec: {activeDeadlineSeconds: 20, template: {spec: {terminationGracePeriodSeconds: 100, " +
				"restartPolicy: Never, containers: [{name: c, " + goesOn + "}]}}}}"},
			remove(), "job/k", explain.Ill, explain.JobFailed, "job/default/k", "0 of 1 complete",
			"it fails when its pods have ended: Job was active longer than specified deadline (DeadlineExceeded)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
			c.InstallCSIDriver(driver.Config{})
			c.Apply(tt.objects...)
			c.RunFor(20 * time.Second)
			tt.then(c)
			c.RunFor(35 * time.Second)
			why, err := c.Lab().Explanation(tt.of)
			require.NoError(t, err)
			require.Equal(t, tt.state, why.Verdict.State, why.Text)
			require.Equal(t, tt.why, regexp.MustCompile(`[0-9]+m?[0-9]*s`).ReplaceAllString(why.Verdict.Cause, "TIME"), why.Text)
			require.Equal(t, tt.class, why.Verdict.Class, why.Text)
			require.Equal(t, tt.code, why.Verdict.Code, why.Text)
			require.Equal(t, tt.object, why.Verdict.Object, why.Text)
		})
	}
}
