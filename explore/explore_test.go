package explore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/trace"
)

// oneVolume is a volume that four claims want, the last of them b.
const oneVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: only}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: d}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: b}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`

// threeWait: there is one volume, and in order the first claim gets it.
var threeWait = []explore.Expectation{explore.Expect("pvc/b", "Pending"), explore.Expect("pvc/c", "Pending"), explore.Expect("pvc/d", "Pending")}

var errOrder = errors.New("claim b has the volume")

// firstComeFirstServed expects that a, which is created first, gets the volume.
var firstComeFirstServed = explore.Scenario(func(c *explore.Cluster) {
	bindsOneVolume(c)
	if c.Claim("b").Status.Phase == v1.ClaimBound {
		c.Must(errOrder)
	}
})

func TestTheFirstRunThatFailsIsFoundAndMadeSmallHoweverManyWorkThere(t *testing.T) {
	var failures []*explore.Failure
	var reports []explore.Report
	for _, workers := range []int{1, 7} {
		report, err := explore.Run(t.Context(), explore.Config{Runs: 200, Workers: workers, Expect: threeWait}, firstComeFirstServed)
		f, ok := errors.AsType[*explore.Failure](err)
		require.True(t, ok, "%v", err)
		require.ErrorIs(t, err, errOrder)
		require.Equal(t, f.Run, report.Runs)
		require.Contains(t, f.Story, "updates pvc default/b status")
		require.Contains(t, err.Error(), fmt.Sprintf("run %d (strategy %s): claim b has the volume\n", f.Run, f.Strategy))
		failures, reports = append(failures, f), append(reports, report)
	}
	require.Equal(t, reports[0], reports[1])
	f, other := failures[0], failures[1]
	require.Equal(t, f.Plan, other.Plan)
	require.Equal(t, f.Story, other.Story)
	require.Greater(t, f.Run, 1, "not every order does it")
	require.LessOrEqual(t, f.Plan.Size(), 4, "%s", f.Plan)
	require.Less(t, f.Plan.Size(), f.From)

	err := explore.Replay(explore.Config{Expect: threeWait}, f.Plan.String(), firstComeFirstServed)
	again, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, f.Story, again.Story, "the same story, to the byte")
	require.NoError(t, explore.Replay(explore.Config{Expect: threeWait}, explore.Plan{}.String(), firstComeFirstServed), "in order, a comes first")
}

// A story plays what was found: its command cluster has the choices.
func TestCommandsOfAStoryDoWhatThePlanDoes(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{Runs: 200, Expect: threeWait}, firstComeFirstServed)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.NoError(t, f.Untold)
	require.Regexp(t, `^choices=\d+:\d+`, f.Cluster)
	play := func(cluster string, commands ...string) string {
		var out strings.Builder
		script := "cluster nodes=node-1 provisioners= " + cluster + "\n----\n"
		for _, command := range commands {
			script += "\n" + command + "\n----\n"
		}
		for _, object := range strings.Split(oneVolume, "---\n") {
			name := regexp.MustCompile(`name: (\w+)`).FindStringSubmatch(object)[1]
			if slices.ContainsFunc(f.Acts, func(act string) bool { return strings.HasSuffix(act, "/"+name) }) {
				script += "\napply\n" + object + "----\n"
			}
		}
		script += "\nsettle quiet\n----\n\nget pvc\n----\n"
		require.NoError(t, story.Play(t.Context(), &out, "found.txt", script, story.Options{}))
		return out.String()
	}
	require.Regexp(t, `\nb +Bound `, play(f.Cluster, f.Commands...))
	require.Regexp(t, `\nb +Pending `, play(""), "in order, another comes first")

	_, err = explore.Run(t.Context(), explore.Config{Runs: 300, Expect: threeWait, Strategies: []string{explore.Random}, ShrinkRuns: -1}, firstComeFirstServed)
	require.ErrorAs(t, err, &f)
	require.EqualError(t, f.Untold, "its order is by chance")
}

func TestWhatHoldsInEveryOrderIsTriedInAll(t *testing.T) {
	var tried atomic.Int64
	report, err := explore.Run(t.Context(), explore.Config{Runs: 100, Expect: threeWait}, explore.Scenario(func(c *explore.Cluster) {
		tried.Add(1)
		require.Empty(c.T, c.Lab().Dir(), "its disks are in memory")
		c.Apply(oneVolume)
		c.Settle()
	}))
	require.NoError(t, err)
	require.Equal(t, 100, report.Runs)
	require.EqualValues(t, 102, tried.Load(), "the plain run is played twice before")
	require.Greater(t, report.Coverage.States, 10)
	require.Greater(t, report.Coverage.Orders, 10)
	require.Equal(t, report.Coverage.Places, report.Coverage.Recovered)
}

func TestAPanicIsAFailureAndAnEndedContextIsNone(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{Runs: 3}, func(*storagesim.Cluster) error { panic("oh") })
	require.ErrorContains(t, err, "run 1 (in order): panic: oh\n")
	require.ErrorContains(t, err, "explore_test.go")

	o := &outer{TB: t}
	explore.Test(o, explore.Config{Runs: 1}, func(*explore.Cluster) { forgetsSomething() })
	require.Contains(t, o.fatal, "run 1 (in order): ")
	require.Contains(t, o.fatal, "panic: assignment to entry in nil map\n")
	require.Contains(t, o.fatal, "forgetsSomething", "where it was")

	ctx, cancel := context.WithCancel(t.Context())
	report, err := explore.Run(ctx, explore.Config{}, func(*storagesim.Cluster) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, report.Runs, explore.DefaultRuns)
}

func forgetsSomething() {
	var m map[string]int
	m["a"] = 1 //nolint:staticcheck // the mistake
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for says, cfg := range map[string]explore.Config{
		"Config.Runs: -1 is negative":                                {Runs: -1},
		"Config.Workers: -1 is negative":                             {Workers: -1},
		"Config.First: 1001 is after the last run, 1000":             {First: 1001},
		"Seed and Policy are chosen":                                 {Cluster: storagesim.Config{Seed: 1}},
		"leave Dir and RealMounts out":                               {Cluster: storagesim.Config{Dir: "/x"}},
		"Config.Nodes[0].Name: \"A_b\" is":                           {Cluster: storagesim.Config{Nodes: storagesim.Nodes("A_b")}},
		`Config.Strategies[1]: "luck" is not one of crashes, faults`: {Strategies: []string{explore.PCT, "luck"}},
		`Config.Except[0]: "leaks" is not one of ["one owner" `:      {Except: []string{"leaks"}},
		"Config.Rules[0]: it needs a Name and a Begin":               {Rules: []explore.Rule{{Name: "mine"}}},
		`Config.Expect[0]: Expect("pvc/a", "Bound"): it needs an object such as pvc/data, and one of the states Pending, Lost, Failed, ` +
			`Terminating, Unready`: {Expect: []explore.Expectation{explore.Expect("pvc/a", "Bound")}},
		"Config.Budget: -1s is negative; it must be positive, " +
			"or 0 for no limit": {Budget: -time.Second},
	} {
		_, err := explore.Run(t.Context(), cfg, firstComeFirstServed)
		require.ErrorContains(t, err, says)
	}
	o := &outer{TB: t}
	explore.Test(o, explore.Config{Runs: -1}, func(*explore.Cluster) {})
	require.Equal(t, "explore: Config.Runs: -1 is negative; it must be positive, or 0 for the default 1000", o.fatal)
	require.ErrorContains(t, explore.Replay(explore.Config{Runs: -1}, "x1", firstComeFirstServed), "negative")
}

// outer stands for the test of a user.
type outer struct {
	testing.TB
	fatal string
}

func (o *outer) Helper()                      {}
func (o *outer) Name() string                 { return "TestOfSomebody/else" }
func (o *outer) Fatal(args ...any)            { o.fatal = fmt.Sprint(args...) }
func (o *outer) Fatalf(form string, a ...any) { o.fatal = fmt.Sprintf(form, a...) }

func TestATestFailsWithWhatDidNotHoldTheStoryAndALineThatRepeatsIt(t *testing.T) {
	cleaned := atomic.Int64{}
	scenario := func(c *explore.Cluster) {
		c.T.Cleanup(func() { cleaned.Add(1) })
		c.Apply(oneVolume)
		c.Settle()
		require.Equal(c.T, v1.ClaimPending, c.Claim("b").Status.Phase)
		if c.Claim("a").Status.Phase != v1.ClaimBound {
			c.T.Skip("and nothing is said of it")
		}
	}
	o := &outer{TB: t}
	explore.Test(o, explore.Config{Runs: 2000, Workers: 1, Expect: threeWait}, scenario)
	line := regexp.MustCompile(
		`^exploration failed; this repeats it: STORAGESIM_REPLAY='(x1;\S+)' go test -run '\^TestOfSomebody\$/\^else\$' \.\n`).FindStringSubmatch(o.fatal)
	require.Len(t, line, 2, o.fatal)
	require.Contains(t, o.fatal, `expected: "Pending"`)
	require.Equal(t, 1, strings.Count(o.fatal, "\nthe story:\n"))
	require.Contains(t, o.fatal, "updates pvc default/b status")
	require.Positive(t, cleaned.Load())

	paged := &outer{TB: t}
	explore.Test(paged, explore.Config{Runs: 2000, Workers: 1, Expect: threeWait, Page: func(io.Writer, *explore.Failure) error { return nil }}, scenario)
	require.Contains(t, paged.fatal, "go test -run '^TestOfSomebody$/^else$' . (with -artifacts -outputdir DIR it leaves a page)\n")

	t.Setenv(explore.ReplayVariable, line[1])
	again := &outer{TB: t}
	explore.Test(again, explore.Config{Expect: threeWait}, scenario)
	require.Contains(t, again.fatal, `expected: "Pending"`)
	_, story, _ := strings.Cut(o.fatal, "\nthe story:\n")
	require.Contains(t, again.fatal, story, "the same story")
	t.Setenv(explore.ReplayVariable, "")

	o = &outer{TB: t}
	explore.Test(o, explore.Config{Runs: 1}, func(c *explore.Cluster) { c.Apply("kind: nonsense") })
	require.Contains(t, o.fatal, "run 1 (in order): ")
	explore.Test(t, explore.Config{Runs: 20, Expect: threeWait}, func(c *explore.Cluster) {
		c.Apply(oneVolume)
		c.Settle()
		c.RequireNoLeaks()
	})
}

func TestAScenarioEndsAtItsFirstErrorAndReturnsIt(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	for says, play := range map[string]func(c *explore.Cluster){
		"":                     bindsOneVolume,
		"pvc/z: ":              func(c *explore.Cluster) { c.Delete("pvc/z"); c.Must(errOrder) },
		"panic: oh":            func(*explore.Cluster) { panic("oh") },
		"scenario has 1":       func(c *explore.Cluster) { c.T.Fatal(c.T.Name(), " has ", 1) },
		errOrder.Error():       func(c *explore.Cluster) { c.Must(errOrder) },
		"context is the run's": func(c *explore.Cluster) { require.Error(c.T, c.T.Context().Err(), "context is the run's") },
	} {
		err := explore.Scenario(play)(c.Cluster)
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says)
		require.Equal(t, says == errOrder.Error(), errors.Is(err, errOrder), "%v", err)
	}
}

func TestAScenarioThatDoesNotRepeatIsToldSo(t *testing.T) {
	n := 0
	_, err := explore.Run(t.Context(), explore.Config{}, explore.Scenario(func(c *explore.Cluster) {
		n++
		c.Apply(strings.ReplaceAll(oneVolume, "name: c", fmt.Sprintf("name: c%d", n)))
		c.Settle()
	}))
	odd, ok := errors.AsType[*explore.NotRepeatable](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, odd.First, "creates pvc default/c1")
	require.Contains(t, odd.Second, "creates pvc default/c2")
	require.Contains(t, err.Error(), "the scenario does not do the same in two runs (map order, wall clock, chance or goroutines of its own?)")
}

// Programs write time.Now into conditions. It is no other run because of that; a time in another form is.
func TestTheMachinesTimeInAConditionIsNoDifference(t *testing.T) {
	writes := func(say func() string) error {
		_, err := explore.Run(t.Context(), explore.Config{Runs: 3, Expect: threeWait}, explore.Scenario(func(c *explore.Cluster) {
			c.Apply(oneVolume)
			claim, err := c.Client().CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
			c.Must(err)
			claim.Annotations = map[string]string{"seen": say()}
			_, err = c.Client().CoreV1().PersistentVolumeClaims("default").Update(t.Context(), claim, metav1.UpdateOptions{})
			c.Must(err)
			time.Sleep(time.Millisecond)
		}))
		return err
	}
	require.NoError(t, writes(func() string { return time.Now().Format(time.RFC3339Nano) }))
	_, odd := errors.AsType[*explore.NotRepeatable](writes(func() string { return fmt.Sprint(time.Now().UnixNano()) }))
	require.True(t, odd)
	_, odd = errors.AsType[*explore.NotRepeatable](writes(func() string { return time.Now().Add(time.Hour).Format(time.RFC3339Nano) }))
	require.True(t, odd, "a time to come is a decision")
}

func TestALineThatMakesNoSenseIsRefused(t *testing.T) {
	for line, says := range map[string]string{
		"":                                    `it begins with "", and this version of storagesim plays lines that begin with "x1"`,
		"x0;seed=1":                           `it begins with "x0"`,
		"x1;speed=1":                          "speed: it is not one of seed, order, choices, faults, holds and without",
		"x1;seed=many":                        "seed: ",
		"x1;order=best":                       `"best" is not an order: it must be random, or pct1 to pct9`,
		"x1;choices=1:2,x":                    `choices: "x": it must be POSITION:ALTERNATIVE`,
		"x1;faults=0:crash":                   `faults: "0:crash": it must be N:ACTOR:VERB:RESOURCE:KIND`,
		"x1;faults=3:a:NodeStageVolume:crash": `it must be N:ACTOR:VERB:RESOURCE:KIND`,
		"x1;faults=3:a:get:pods:csi-lost":     `it must be N:ACTOR:METHOD:KIND`,
		"x1;faults=3:boom":                    `the kind must be one of crash, crash-after, refused`,
		"x1;holds=1:2:x:pods":                 `holds: "1:2:x:pods": it must be N:ACTOR:VERB:RESOURCE:DURATION:ACTOR:RESOURCE or CALL:DURATION:ACTOR:RESOURCE`,
		"x1;without=2,0":                      `without: "0": it must be the number of an act, from 1 on`,
		"x1;order=pct2;choices=1:1":           "order and choices exclude each other",
	} {
		require.ErrorContains(t, explore.Replay(explore.Config{}, line, firstComeFirstServed), says)
	}
	plan := explore.Plan{
		Seed: 7, Choices: []explore.Choice{{At: 12, Take: 2}, {At: 40, Take: 1}},
		Faults: []explore.Fault{{Call: explore.Call{N: 3}, Kind: explore.CSIHang}, {Call: explore.Call{Actor: "kubelet/node-1", Verb: "NodeStageVolume", N: 2},
			Kind: explore.CSILost}, {Call: explore.Call{Actor: "example.com/disk", Verb: "update", Resource: "pods/status", N: 4}, Kind: explore.CrashAfter}},
		Holds: []explore.Hold{{Actor: "kubelet/node-1", Resource: "pods", From: explore.Call{N: 4}, For: 90 * time.Second},
			{Actor: "kube-scheduler", Resource: "nodes", From: explore.Call{Actor: "kube-scheduler", Verb: "create", Resource: "pods/binding", N: 1},
				For: time.Second, Past: true}},
		Without: []int{2, 5},
	}
	require.Equal(t, "x1;seed=7;choices=12:2,40:1;faults=3:csi-hang,2:kubelet/node-1:NodeStageVolume:csi-lost,"+
		"4:example.com/disk:update:pods/status:crash-after;"+
		"holds=4:1m30s:kubelet/node-1:pods,1:kube-scheduler:create:pods/binding:1s:kube-scheduler:nodes:past;without=2,5", plan.String())
	again, err := explore.Parse(plan.String())
	require.NoError(t, err)
	require.Equal(t, plan, again)
}

// What the user did that is not needed is left out: another claim and its pod, and all that
// was deleted.
func TestAFailureIsToldWithoutWhatTheUserDidInVain(t *testing.T) {
	rule := explore.Rule{Name: "no volume is released", Begin: func(*storagesim.Cluster) explore.Check {
		return explore.Check{Write: func(w trace.Write) error {
			if pv, ok := w.New.(*v1.PersistentVolume); ok && pv.Status.Phase == v1.VolumeReleased && pv.Name == "two" {
				return errors.New("it is released")
			}
			return nil
		}}
	}}
	scenario := explore.Scenario(func(c *explore.Cluster) {
		c.Apply(claimAndVolume("one"), claimAndVolume("two"), claimAndVolume("three"))
		c.Settle()
		c.Delete("pvc/one", "pvc/three")
		c.Settle()
		c.Delete("pvc/two")
		c.Settle()
	})
	_, err := explore.Run(t.Context(), explore.Config{Runs: 5, Rules: []explore.Rule{rule}}, scenario)
	failure, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, []string{"apply pv/two", "apply pvc/default/two", "delete pvc/default/two"}, failure.Acts)
	require.Equal(t, 6, failure.LeftOut)
	require.ErrorContains(t, err, "3 of the user's 9 acts are enough: apply pv/two, ")
	require.NotContains(t, failure.Story, "three")
	again := explore.Replay(explore.Config{Rules: []explore.Rule{rule}}, failure.Plan.String(), scenario)
	require.ErrorContains(t, again, failure.Story)
}

func claimAndVolume(name string) string {
	return strings.ReplaceAll(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: NAME}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ""
  hostPath: {path: /data/NAME}
  claimRef: {namespace: default, name: NAME}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  storageClassName: ""
`, "NAME", name)
}

// BenchmarkExplore measures one run: of two claims that race for one volume, and of a claim that
// is provisioned, runs in a pod, and goes again. Each with the built-in rules and without. There are no outages, which find at once what
// OpenEBS leaves behind.
func BenchmarkExplore(b *testing.B) {
	strategies := slices.DeleteFunc(explore.Strategies(), func(s string) bool { return s == explore.Outages })
	for name, scenario := range map[string]func(c *explore.Cluster){
		"race": bindsOneVolume,
		"claim": func(c *explore.Cluster) {
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.Settle()
			c.Apply(podWithClaim)
			c.Settle()
			c.Delete("pod/web", "pvc/data")
			c.Settle()
		},
	} {
		expect := map[string][]explore.Expectation{"race": threeWait}[name]
		for rules, except := range map[string][]string{"rules": nil, "no-rules": explore.BuiltInRules()} {
			b.Run(name+"/"+rules, func(b *testing.B) {
				if _, err := explore.Run(b.Context(), explore.Config{Runs: b.N, Strategies: strategies, Except: except, Expect: expect},
					explore.Scenario(scenario)); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			})
		}
	}
}

const podWithClaim = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: openebs-hostpath}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: openebs-hostpath, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
