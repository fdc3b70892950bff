package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/mayfail"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/story"
)

// appliance is a provisioner that marks its calls to the storage. It holds a lock during them, as programs do whose storage
// takes one call at a time. careless is its mistake: it takes a call that failed for one that did nothing, and gives the
// disk of the next try another name.
type appliance struct {
	forty
	careless bool

	mu    sync.Mutex
	tries map[string]int
}

func (p *appliance) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := o.PVName
	if p.tries[name] > 0 {
		o.PVName = fmt.Sprint(name, "-try-", p.tries[name])
	}
	pv, err := mayfail.Get(ctx, "appliance.create", func() (*v1.PersistentVolume, error) {
		pv, _, err := p.forty.Provision(ctx, o)
		return pv, err
	})
	if err != nil {
		if p.careless {
			p.tries[name]++
		}
		return nil, provisioner.ProvisioningInBackground, err
	}
	pv.Name = name
	return pv, provisioner.ProvisioningFinished, nil
}

func (p *appliance) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return mayfail.Do(ctx, "appliance.delete", func() error { return p.forty.Delete(ctx, volume) })
}

// Volumes returns the disks under the names of their volumes.
func (p *appliance) Volumes(ctx context.Context) ([]string, error) {
	names, err := p.forty.Volumes(ctx)
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, "-try-")
	}
	return names, err
}

// withAppliance returns the guide's scenario with that provisioner.
func withAppliance(careless bool) func(c *explore.Cluster) {
	return plantedBug{class: "example.com/disks", install: func(c *explore.Cluster) {
		c.AddProvisioner("example.com/disks", &appliance{forty: forty{c.AddNFSServer("nas", "/srv")}, careless: careless, tries: map[string]int{}})
	}}.scenario
}

func onOneNode(cfg explore.Config) explore.Config {
	cfg.Cluster = storagesim.Config{Nodes: storagesim.Nodes("node-1")}
	return cfg
}

func TestARightProvisionerRecoversFromEachFaultAtItsPoints(t *testing.T) {
	cfg := onOneNode(explore.Config{Runs: 400, Strategies: []string{explore.Crashes, explore.Faults, explore.Pairs}})
	report, err := explore.Run(t.Context(), cfg, explore.Scenario(withAppliance(false)))
	require.NoError(t, err)
	require.Equal(t, []string{"appliance.create", "appliance.delete"}, report.Coverage.Points)
	require.Contains(t, report.Coverage.String(), "; points reached: appliance.create, appliance.delete")
	require.Equal(t, report.Coverage.Tried, report.Coverage.Recovered)
	require.Positive(t, report.Coverage.Tried)
}

func TestABugThatOnlyAFaultAtAPointShowsIsFoundBySingleFaults(t *testing.T) {
	cfg := onOneNode(explore.Config{Runs: 1000})
	f := failureOf(t, cfg, explore.Scenario(withAppliance(true)))
	require.Equal(t, "x1;faults=1:example.com/disks:appliance.create:point-lost", strings.Split(f.Plan.String(), ";without")[0])
	require.Equal(t, explore.Faults, f.Strategy)
	require.Equal(t, explore.NothingLeaks, f.Rule())
	require.Contains(t, f.FailsWith, "gets an error (after it was carried out): point appliance.create: appliance.create: injected fault: the answer was lost")
	require.NoError(t, f.Untold)
	require.Equal(t, []string{"fail-point example.com/disks appliance.create lost=yes"}, f.Commands)

	again := func(line string) error { return explore.Replay(cfg, line, explore.Scenario(withAppliance(true))) }
	err := again(f.Plan.String())
	same, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, f.Story, same.Story)
	for _, kind := range []string{explore.PointError, explore.PointSlow, explore.PointCrash, explore.PointCrashAfter} {
		require.NoError(t, again("x1;faults=1:example.com/disks:appliance.create:"+kind), kind)
	}
	t.Setenv(explore.ReplayVariable, f.Plan.String())
	failed := &recordingTB{TB: t}
	failed.run(func() { explore.Test(failed, cfg, withAppliance(true)) })
	require.Contains(t, failed.fatal, "point appliance.create")
}

// recordingTB records the message of a Fatal.
type recordingTB struct {
	testing.TB
	fatal string
}

func (r *recordingTB) Fatal(args ...any) {
	r.fatal = fmt.Sprint(args...)
	panic(r)
}

func (r *recordingTB) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func (r *recordingTB) run(f func()) {
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f()
}

func TestALineWithAPointThatIsNotReachedNamesTheNearest(t *testing.T) {
	for line, says := range map[string]string{
		"x1;faults=1:example.com/disks:appliance.creat:point-lost":  "there are 0 such points; the nearest is 1:example.com/disks:appliance.create",
		"x1;faults=9:example.com/disks:appliance.create:point-lost": "there are 4 such points; the nearest is 4:example.com/disks:appliance.create",
		"x1;faults=99:point-crash":                                  "fault 99:point-crash: there are 8 points; the nearest is 8",
	} {
		err := explore.Replay(onOneNode(explore.Config{}), line, explore.Scenario(withAppliance(false)))
		odd, ok := errors.AsType[*explore.NotReached](err)
		require.True(t, ok, "%s: %v", line, err)
		require.ErrorContains(t, odd, says)
	}
	for line, says := range map[string]string{
		"x1;faults=1:example.com/disks:point-lost": "it must be N:ACTOR:POINT:KIND",
		"x1;faults=1:a:b:c:point-lost":             "it must be N:ACTOR:POINT:KIND",
		"x1;faults=1:a:b:point-late":               "the kind must be one of",
	} {
		_, err := explore.Parse(line)
		require.ErrorContains(t, err, says)
	}
	line := "x1;faults=2:point-slow,1:example.com/disks:appliance.create:point-crash-after"
	plan, err := explore.Parse(line)
	require.NoError(t, err)
	require.Equal(t, line, plan.String())
	// A fault by number strikes the point of that number.
	failed := explore.Replay(onOneNode(explore.Config{}), "x1;faults=1:point-lost", explore.Scenario(withAppliance(true)))
	require.ErrorContains(t, failed, "nothing leaks")
}

// What a failure prints as commands does the same in Go, and a fault that is not reached is said.
func TestAFaultAtAPointCanBeInjected(t *testing.T) {
	play := func(f engine.PointFault) (story string, missed []string) {
		_, err := explore.Run(t.Context(), onOneNode(explore.Config{Runs: 1, Except: []string{explore.NothingLeaks}}), explore.Scenario(func(c *explore.Cluster) {
			c.AddProvisioner("example.com/disks", &appliance{forty: forty{c.AddNFSServer("nas", "/srv")}})
			c.Inject(f)
			plantedBug{class: "example.com/disks", install: func(*explore.Cluster) {}}.scenario(c)
			story, missed = c.Story(), c.Lab().MissedFaults()
		}))
		require.NoError(t, err)
		return story, missed
	}
	told, missed := play(engine.PointFault{Actor: "example.com/disks", Point: "appliance.create", Skip: 1, After: true})
	require.Contains(t, told, "point appliance.create: appliance.create: injected fault: the answer was lost\n")
	require.Empty(t, missed)
	told, missed = play(engine.PointFault{Point: "snapshots.list", Crash: true})
	require.NotContains(t, told, "point ")
	require.Equal(t, []string{"crash before of any actor at point snapshots.list"}, missed)
	_, missed = play(engine.PointFault{Actor: "example.com/disks", Point: "appliance.creat", Delay: time.Second})
	require.Equal(t, []string{`delay of example.com/disks at point appliance.creat (did you mean "appliance.create"?)`}, missed)
}

// The handlers of a driver in this process have points, too. The driver holds a lock during them.
func TestFaultsStrikeThePointsOfADriversHandlers(t *testing.T) {
	scenario := func(c *explore.Cluster) {
		var mu sync.Mutex
		atPoints := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
			name := ""
			switch req.(type) {
			case *spec.CreateVolumeRequest:
				name = "array.create"
			case *spec.NodeStageVolumeRequest:
				name = "node.format"
			default:
				return handler(ctx, req)
			}
			mu.Lock()
			defer mu.Unlock()
			return mayfail.Get(ctx, name, func() (any, error) { return handler(ctx, req) })
		}
		plantedBug{class: csidriver.Name, install: func(c *explore.Cluster) {
			d, err := csidriver.New(csidriver.Config{})
			c.Must(err)
			d.Interceptors = append(d.Interceptors, atPoints)
			c.InstallCSIDriver(d)
		}}.scenario(c)
	}
	told := func(kind string) string {
		t.Helper()
		cfg, story := onOneNode(explore.Config{}), ""
		require.NoError(t, explore.Replay(cfg, "x1;faults=1:csi-driver/csi.storagesim.io:array.create:"+kind+",1:csi-driver/csi.storagesim.io/node-1:node.format:"+
			kind, explore.Scenario(func(c *explore.Cluster) {
			scenario(c)
			story = c.Story()
		})), kind)
		return story
	}
	for kind, says := range map[string]string{
		explore.PointError:      `csi-driver/csi.storagesim.io +gets an error \(before it was carried out\): point array.create`,
		explore.PointLost:       `csi-driver/csi.storagesim.io/node-1 +gets an error \(after it was carried out\): point node.format`,
		explore.PointSlow:       `DeadlineExceeded: context deadline exceeded after 10s \(fault: the driver answers after 20s\)`,
		explore.PointCrash:      `Unavailable: error reading from server: EOF \(fault: the driver crashes before its point array.create\)`,
		explore.PointCrashAfter: `\(fault: the driver crashes after its point node.format\)`,
	} {
		first := told(kind)
		require.Regexp(t, says, first)
		require.Equal(t, first, told(kind), "the same story twice")
	}
	report, err := explore.Run(t.Context(), onOneNode(explore.Config{Runs: 40, Strategies: []string{explore.Faults, explore.Pairs}}), explore.Scenario(scenario))
	require.NoError(t, err)
	require.Equal(t, []string{"array.create", "node.format"}, report.Coverage.Points)
}

// The commands of a failure play in a story.
func TestAStoryKnowsTheCommandsOfFaultsAtPoints(t *testing.T) {
	var out strings.Builder
	require.NoError(t, story.Play(t.Context(), &out, "found.txt",
		"cluster nodes=node-1 provisioners=local-path\n----\n\nfail-point rancher.io/local-path appliance.create lost=yes\n----\n", story.Options{}))
	require.Contains(t, out.String(), "rancher.io/local-path will fail at point appliance.create")
}
