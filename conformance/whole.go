package conformance

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
)

// Where recordings of the whole stack write <host> and <root>, nodes here have these.
const (
	hostDir = "/srv/host"
	rootDir = "/var/lib/kubelet"
)

// driver is the Object of the difference that a CSI driver cannot do something.
const driver = "CSI"

// needsDriver reports whether the case needs CSI drivers: they were registered when it began, or it is about them. NodeGetInfo alone does not count:
// its recorded answer says what the driver registers with, and kubelets get that.
func (r *Recording) needsDriver() bool {
	registered := slices.ContainsFunc(r.Before, func(obj map[string]any) bool {
		spec, _ := obj["spec"].(map[string]any)
		drivers, _ := spec["drivers"].([]any)
		return obj["kind"] == "CSINode" && len(drivers) > 0
	})
	return registered || slices.ContainsFunc(r.Steps, func(s Step) bool {
		return len(s.Action.Fail) > 0 || s.Action.Driver != "" || slices.ContainsFunc(s.Calls, func(c DriverCall) bool { return c.Method != "NodeGetInfo" })
	})
}

// fromNothing reports whether the case begins without nodes: its kubelets start in it.
func (r *Recording) fromNothing() bool { return r.whole() && len(r.Before) == 0 }

// driversOf returns the CSI drivers that register with a node's kubelet when it starts, in
// order, as their answers to NodeGetInfo describe them.
func (r *Recording) driversOf(node string) []kubelet.CSIDriver {
	var drivers []kubelet.CSIDriver
	for _, c := range r.Steps[0].Calls {
		if c.Method == "NodeGetInfo" && c.Side == node && c.Code == "OK" {
			drivers = append(drivers, kubelet.CSIDriver{
				Name: c.Driver, NodeID: c.Response.NodeID, Topology: c.Response.Topology.Segments, MaxVolumes: c.Response.MaxVolumes,
			})
		}
	}
	return drivers
}

// nodesOf returns the nodes of a case of the whole stack: those that were there before, or
// those whose kubelets it starts. Their container runtime runs nothing.
func nodesOf(rec *Recording) []storagesim.Node {
	nodes := []storagesim.Node{}
	for _, obj := range rec.Before {
		if obj["kind"] == "Node" {
			metadata, _ := obj["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			nodes = append(nodes, storagesim.Node{Name: name, Runtime: runtime.FakeRuntime})
		}
	}
	if len(rec.Before) == 0 {
		for _, name := range sortedKeys(rec.Steps[0].Action.Kubelet) {
			nodes = append(nodes, storagesim.Node{Name: name, Runtime: runtime.FakeRuntime})
		}
	}
	return nodes
}

// simulated reports whether who wrote something in a recording is an actor here. What
// others wrote (CSI sidecars) is not compared.
func (r *replay) simulated(actor string) bool {
	return actor == storagesim.User || slices.ContainsFunc(r.cluster.Engine().Actors(), func(a string) bool { return recordedActor(a) == actor })
}

// kubelets starts, stops and restarts kubelets. The first start of one makes its node.
func (r *replay) kubelets(what map[string]string) error {
	for _, node := range sortedKeys(what) {
		actor := "kubelet/" + node
		do := map[string]func(string) error{"restart": r.cluster.Crash, "stop": r.cluster.Stop, "start": r.cluster.Start}[what[node]]
		if what[node] == "start" && !slices.Contains(r.cluster.Engine().Actors(), actor) {
			do = func(string) error {
				return r.cluster.AddNode(storagesim.Node{Name: node, CSIDrivers: r.rec.driversOf(node)})
			}
		}
		if err := do(actor); err != nil {
			return bad("kubelet: %s: %w", node, err)
		}
		if err := r.meanwhile(); err != nil {
			return err
		}
	}
	return r.untaint()
}

// untaint does what the recorder did when kubelets had started, so that cases could
// begin: with a JSON patch it removed the taints of nodes, which is refused where there
// are none any more. Recordings have the answer only.
func (r *replay) untaint() error {
	for _, e := range r.rec.Steps[r.current].Writes {
		if e.Actor != storagesim.User || e.Verb != "patch" || e.Resource != "nodes" {
			continue
		}
		if err := r.rest(r.quiet); err != nil {
			return err
		}
		if err := r.patch(Patch{Object: "node/" + e.Name, Patch: []byte(`[{"op":"remove","path":"/spec/taints"}]`), Type: "json"}); err != nil {
			return err
		}
	}
	return nil
}

// host runs shell commands of recordings on every node: the recorded nodes were processes
// of one machine, with one <host>.
func (r *replay) host(commands []string) error {
	for i, line := range commands {
		nodes := nodesOf(r.rec)
		if strings.Contains(line, "<root>") {
			nodes = nodes[:1] // node-1's own directory
		}
		line, err := r.uids.fill(line)
		if err != nil {
			return bad("host: %s: %w", commands[i], err)
		}
		for _, node := range nodes {
			if err := r.shell(node.Name, line); err != nil {
				return bad("host: %s: %w", commands[i], err)
			}
		}
	}
	return nil
}

// shell runs a script on a node's disk, and nowhere else.
func (r *replay) shell(node, script string) error {
	root, err := r.cluster.Machine("node/" + node).Disk()
	if err != nil {
		return err
	}
	p := shell.New(shell.Config{
		Argv: []string{"sh", "-e", "-c", script}, Node: root, Mounts: []shell.Mount{{ContainerPath: "/", VolumePath: "/"}},
	})
	defer p.Stop()
	if _, ended := p.Run(machineHost{r.cluster}); !ended {
		return errors.New("it waits; commands of the host must come to an end at once")
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d: %s", code, p.Message())
	}
	return nil
}

// machineHost answers the questions of commands that run on the host.
type machineHost struct{ *storagesim.Cluster }

// Choose implements shell.Host.
func (machineHost) Choose(int) int { return 0 }

// places finds the directories that a step looks at: the node and the path on it.
func (r *replay) places(look []string) ([][2]string, error) {
	var found [][2]string
	for _, what := range look {
		words := strings.Fields(what)
		if len(words) != 3 || words[0] != "volume" {
			found = append(found, [2]string{r.hostNode(), strings.ReplaceAll(what, "<host>", hostDir)})
			continue
		}
		pod, err := r.cluster.Pod(words[1])
		if apierrors.IsNotFound(err) {
			continue // it was refused, or is gone, and there is nothing to see
		}
		if err != nil {
			return nil, err
		}
		for _, volume := range pod.Spec.Volumes {
			if words[2] == "*" || words[2] == volume.Name {
				if dir := r.volumeDir(pod, volume.Name); dir != "" {
					found = append(found, [2]string{pod.Spec.NodeName, dir})
				}
			}
		}
	}
	return found, nil
}

// hostNode returns the node whose <host> is looked at: that of the first pod.
func (r *replay) hostNode() string {
	pods, err := r.client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err == nil && len(pods.Items) > 0 && pods.Items[0].Spec.NodeName != "" {
		return pods.Items[0].Spec.NodeName
	}
	return nodesOf(r.rec)[0].Name
}

// volumeDir returns the mount point of a volume of any plugin.
func (r *replay) volumeDir(pod *v1.Pod, name string) string {
	list := func(dir string) []string {
		names, _ := r.cluster.Machine("node/" + pod.Spec.NodeName).ListDir(dir)
		return names
	}
	return volumeDir(pod, name, list, r.cluster.Claim)
}

// volumeDir returns the mount point of a volume of any plugin, with what lists a directory and reads a claim.
func volumeDir(pod *v1.Pod, name string, list func(dir string) []string, claim func(ref string) (*v1.PersistentVolumeClaim, error)) string {
	volumes := path.Join(rootDir, "pods", string(pod.UID), "volumes")
	for _, plugin := range list(volumes) {
		dir := path.Join(volumes, strings.TrimSuffix(plugin, "/"))
		entries := list(dir)
		if slices.Contains(entries, name+"/") || slices.Contains(entries, name) {
			return path.Join(dir, name)
		}
		for _, v := range pod.Spec.Volumes { // of a claim it has the PersistentVolume's name
			claim, err := claim(binding.ClaimOfVolume(pod, &v))
			switch there := err == nil && (slices.Contains(entries, claim.Spec.VolumeName+"/") || slices.Contains(entries, claim.Spec.VolumeName)); {
			case v.Name != name || !there:
			case plugin == "kubernetes.io~csi/":
				return path.Join(dir, claim.Spec.VolumeName, "mount")
			default:
				return path.Join(dir, claim.Spec.VolumeName)
			}
		}
	}
	return ""
}

// claimOf returns the name of a volume's claim, "" if it has none.

// optionalEvents reads from Differs which events of a step, from 0, were there in one of
// two runs only.
func (r *Recording) optionalEvents(step int) []said {
	var events []said
	for _, line := range r.Differs {
		if strings.HasPrefix(line, fmt.Sprintf("step %d events: ", step)) {
			for _, m := range tuple.FindAllStringSubmatch(line, -1) {
				events = append(events, said{m[1], m[2], m[3], m[4], ""})
			}
		}
	}
	return events
}

var tuple = regexp.MustCompile(`\('([^']*)', '([^']*)', '([^']*)', '([^']*)'\)`)
