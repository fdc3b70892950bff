package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	reference "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/trace"
)

// testDrivers returns the drivers that recordings with a driver have, in the order in which they
// are installed.
func testDrivers() []string { return []string{"plain.csi.example.com", "topo.csi.example.com"} }

// knownDrivers returns the drivers of tests and the reference driver.
func knownDrivers() []string { return append(testDrivers(), reference.Name) }

// installDrivers installs the recordings' drivers and waits until they have registered, as
// they had when recordings began. Recordings make the CSIDriver objects themselves.
func (r *replay) installDrivers() error {
	for _, name := range testDrivers() {
		driver := newTestDriver(name)
		driver.words = r.rec.words
		r.drivers = append(r.drivers, driver)
		err := r.cluster.InstallCSIDriver(csi.Driver{
			Name: name, Identity: driver, Controller: driver,
			Node: func(h csi.Host) (csipb.NodeServer, error) { return &testNode{driver: driver, on: h.Machine}, nil },
		})
		if err != nil {
			return err
		}
	}
	r.cluster.Lab().Sockets().Abandoned = r.abandoned
	if err := r.cluster.RunFor(5 * time.Second); err != nil {
		return err
	}
	for _, name := range testDrivers() {
		if err := r.cluster.Client().StorageV1().CSIDrivers().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if r.rec.hasSnapshots() {
		if err := r.cluster.Lab().InstallSnapshots(); err != nil {
			return err
		}
	}
	return r.cluster.RunFor(time.Second)
}

// answers are the answers with nothing in them, by their names in recordings.
var answers = map[string]func(answer any){
	"empty": func(answer any) {
		if message, ok := answer.(proto.Message); ok {
			proto.Reset(message)
		}
	},
	"no id": func(answer any) {
		switch answer := answer.(type) {
		case *csipb.CreateVolumeResponse:
			answer.GetVolume().VolumeId = ""
		case *csipb.CreateSnapshotResponse:
			answer.GetSnapshot().SnapshotId = ""
		}
	},
}

// fail makes calls of drivers fail from now on.
func (r *replay) fail(failures []Failure) error {
	r.cluster.Lab().Sockets().ClearFaults() // as the recorded driver's: a new list replaces the old one
	for _, f := range failures {
		fault := call.Fault{Method: f.Method, Times: f.Times, After: f.After, Delay: seconds(f.Sleep)}
		if f.Answer != "" {
			fault.After, fault.Answer = true, answers[f.Answer]
		}
		if f.Code != "" {
			code, ok := codeOf(f.Code)
			if !ok {
				return bad("fail: %q is not a gRPC code", f.Code)
			}
			fault.Code, fault.Message = code, f.Message
		}
		if err := r.cluster.Inject(fault); err != nil {
			return bad("fail: %w", err)
		}
	}
	return nil
}

func codeOf(name string) (codes.Code, bool) {
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		if code.String() == name {
			return code, true
		}
	}
	return 0, false
}

// calls returns the calls at drivers since the step began, without those that recordings leave out.
func (r *replay) calls() (list []DriverCall, err error) {
	arrived := func(entry trace.Entry) time.Time { return entry.Time.Add(-entry.Record.(trace.RPC).Took) }
	entries := slices.DeleteFunc(slices.Clone(r.cluster.Engine().Trace().Since(r.began)), func(entry trace.Entry) bool {
		rpc, ok := entry.Record.(trace.RPC)
		return !ok || leftOut(rpc)
	})
	slices.SortStableFunc(entries, func(a, b trace.Entry) int { return arrived(a).Compare(arrived(b)) })
	for _, entry := range entries {
		c, err := r.call(entry.Record.(trace.RPC))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// leftOut reports whether recordings leave out a call: Probe and the like, but not a NodeGetCapabilities of a
// node's driver that fails.
func leftOut(rpc trace.RPC) bool {
	asked := rpc.Method == "NodeGetCapabilities" && strings.HasPrefix(rpc.Machine, "node/")
	routine := rpc.Routine && (!asked || rpc.Code == codes.OK.String())
	return routine || rpc.Method == "NodeGetInfo" || !strings.HasPrefix(rpc.Service, "csi.v1.")
}

// call returns a call as recordings have it.
func (r *replay) call(rpc trace.RPC) (DriverCall, error) {
	c := DriverCall{Driver: rpc.Driver, Method: rpc.Method, Side: "controller", Code: rpc.Code}
	if rpc.Service == "csi.v1.Node" {
		c.Side = strings.TrimPrefix(rpc.Machine, "node/")
	}
	text, err := json.Marshal(rpc.Request)
	if err == nil {
		err = json.Unmarshal([]byte(r.uids.hide(string(text))), &c.Request)
	}
	return c, err
}

// abandoned notes a call whose caller was killed. In recordings it may stand in the step in which it
// began or in a later one, so such calls are compared at the end.
func (r *replay) abandoned(_ string, rpc trace.RPC) {
	if !leftOut(rpc) {
		c, err := r.call(rpc)
		if err != nil {
			r.seen.err = err
		}
		r.unanswered = append(r.unanswered, c)
	}
}

// unanswered returns the calls of all steps whose callers were killed.
func (r *Recording) unanswered() (list []DriverCall) {
	for _, s := range r.Steps {
		for _, c := range s.Calls {
			if c.Unanswered {
				c.Unanswered = false
				list = append(list, c)
			}
		}
	}
	return list
}

// answered returns the calls of a step whose callers had the answer.
func (s Step) answered() []DriverCall {
	return slices.DeleteFunc(slices.Clone(s.Calls), func(c DriverCall) bool { return c.Unanswered })
}

// compareCalls compares the calls of each driver: which there were, and in which order each
// method came first. How often is not compared: sidecars are set off again by their own writes.
func compareCalls(want, got []DriverCall) []Difference {
	var all []Difference
	for _, driver := range knownDrivers() {
		w, g := ofDriver(want, driver), ofDriver(got, driver)
		missing, extra := without(w.kinds, g.kinds), without(g.kinds, w.kinds)
		for i := range max(len(missing), len(extra)) {
			d := Difference{Object: "calls of " + driver, Wanted: "nothing more", Got: "nothing"}
			if i < len(missing) {
				d.Wanted = missing[i]
			}
			if i < len(extra) {
				d.Got = extra[i]
			}
			all = append(all, d)
		}
		if len(all) == 0 && !slices.Equal(w.methods, g.methods) {
			all = append(all, Difference{Object: "calls of " + driver, Wanted: strings.Join(w.methods, ", "), Got: strings.Join(g.methods, ", ")})
		}
	}
	return all
}

// driverCalls holds the part of a list of calls that is compared.
type driverCalls struct {
	kinds   []string // what was called, with what and what came of it; each once
	methods []string // in the order of their first calls
}

func ofDriver(calls []DriverCall, driver string) (found driverCalls) {
	for _, c := range calls {
		if c.Driver != driver || c.Method == "NodeGetInfo" {
			continue
		}
		if !slices.Contains(found.methods, c.Method) {
			found.methods = append(found.methods, c.Method)
		}
		kind := fmt.Sprintf("%s on %s: %s %s", c.Method, c.Side, c.Code, text(withoutChance(c.Request)))
		if !slices.Contains(found.kinds, kind) {
			found.kinds = append(found.kinds, kind)
		}
	}
	return found
}

// withoutChance returns a field of a request without what cannot be compared: the values of secrets,
// which a trace does not have, and the kind of numbers.
func withoutChance(value any) any {
	switch value := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for key, field := range value {
			fields[key] = withoutChance(field)
			if secrets, ok := field.(map[string]any); ok && key == "secrets" {
				fields[key] = sortedKeys(secrets)
			}
			if text, ok := field.(string); ok && key == identityKey {
				fields[key] = hideIdentity(text)
			} else if ok && key == "volume_id" {
				fields[key] = inline.ReplaceAllString(text, "csi-<inline>")
			} else if ok && key == tokensKey {
				fields[key] = "<tokens>"
			}
		}
		return fields
	case []any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = withoutChance(value[i])
		}
		return list
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return value
}

// tokensKey is an attribute that has the tokens of a pod's service account, which are signed anew in each run.
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// inline is the ID that a kubelet gives a volume in a pod, a hash of the pod's UID and the volume's name, or what a recording has in its place.
var inline = regexp.MustCompile(`^csi-([0-9a-f]{64}|<.*>)$`)

// identityKey is an attribute of volumes that says which process made them.
const identityKey = "storage.kubernetes.io/csiProvisionerIdentity"

// hideIdentity leaves of it what is the same in every run: the driver, and its node if it has one.
func hideIdentity(identity string) string {
	for _, driver := range knownDrivers() {
		if _, node, found := strings.Cut(identity, "-"+driver); found {
			return "<id>-" + driver + node
		}
	}
	return identity
}

// learnVolume remembers the sums by which a CSI volume's attachments and directories are named.
func (u *uids) learnVolume(pv *v1.PersistentVolume) {
	source := pv.Spec.CSI
	if source == nil {
		return
	}
	handle := u.hide(source.VolumeHandle)
	u.byUID[sum(source.VolumeHandle)] = "<sha256:handle " + handle + ">"
	for _, node := range u.nodes {
		u.byUID[sum(source.VolumeHandle+source.Driver+node)] = "<sha256:" + handle + " " + source.Driver + " " + node + ">"
	}
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// recordedActor returns an actor's name in recordings: one program serves all of a driver.
func recordedActor(actor string) string {
	if name, _, ok := strings.Cut(actor, "/"); ok && strings.HasPrefix(name, "csi-") {
		return name
	}
	return userAgent(actor)
}

// optionalCalls reports whether two recorded runs of a step, from 0, had other calls.
func (r *Recording) optionalCalls(step int) bool {
	return slices.ContainsFunc(r.Differs, func(line string) bool { return strings.HasPrefix(line, fmt.Sprintf("step %d grpc: ", step)) })
}
