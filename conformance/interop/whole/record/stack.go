package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"k8s.io/cri-client/pkg/fake"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/conformance"
	"github.com/storagesim/storagesim/conformance/internal/upstream"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/machine/disk"
)

// stack is all that a recording of the whole stack has.
type stack struct {
	*drivers
	server   *upstream.Server
	folders  []string
	dir      string
	logs     string
	nodes    []*node
	programs map[string]*program
	sockets  []*grpc.Server
	// onNodes has the servers of drivers on nodes, by the driver's name and the node's.
	onNodes map[[2]string][]*grpc.Server
}

// node is a machine: a mount namespace with directories of its own, a container runtime, and a kubelet.
type node struct {
	name, dir string
	holder    *exec.Cmd
	runtime   *fake.RemoteRuntime
	endpoint  string
	kubelet   *program
	disk      *disk.Disk
	devices   map[string]string // the loop devices of files
}

// program is a program that can be started again.
type program struct {
	name  string
	argv  []string
	log   string
	cmd   *exec.Cmd
	mu    sync.Mutex
	meant bool // it was stopped
	ended time.Time
	done  chan struct{}
}

func (p *program) start() error {
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out io.WriteCloser
	if p.log != "" {
		file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		p.cmd.Stdout, p.cmd.Stderr, out = file, file, file
	}
	p.meant = false
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		if out != nil {
			_ = out.Close()
		}
		p.mu.Lock()
		if !p.meant {
			p.ended = time.Now()
		}
		p.mu.Unlock()
		close(done)
	}(p.cmd, p.done)
	return nil
}

func (p *program) stop() {
	if p.cmd == nil {
		return
	}
	p.mu.Lock()
	p.meant = true
	p.mu.Unlock()
	_ = p.cmd.Process.Kill()
	<-p.done
	p.cmd = nil
}

func (p *program) act(action string) error {
	switch action {
	case "stop":
		p.stop()
	case "start":
		return p.start()
	case "restart":
		p.stop()
		return p.start()
	case "pause":
		return p.cmd.Process.Signal(syscall.SIGSTOP)
	case "resume":
		return p.cmd.Process.Signal(syscall.SIGCONT)
	}
	return nil
}

// controllers lists the controllers of kube-controller-manager that run.
var controllers = []string{"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller", "persistentvolume-expander-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller", "ephemeral-volume-controller",
	"statefulset-controller", "pod-garbage-collector-controller", "node-lifecycle-controller", "taint-eviction-controller",
	"garbage-collector-controller", "serviceaccount-controller", "volumeattributesclass-protection-controller"}

// start starts a whole stack with two nodes and waits until it is at rest. It may return a stack that is to be closed with an error.
func start(ctx context.Context, folders []string, logs string) (s *stack, err error) {
	s = &stack{drivers: newDrivers(), folders: folders, logs: logs, programs: map[string]*program{}, onNodes: map[[2]string][]*grpc.Server{}}
	if s.dir, err = os.MkdirTemp("", "w"); err != nil {
		return nil, err
	}
	if logs != "" {
		if err := os.MkdirAll(logs, 0o755); err != nil {
			return s, err
		}
	}
	for _, dir := range []string{"/var/lib/kubelet", "/srv/host", "/srv/csi", "/var/log/containers"} { // of the first three each node has its own
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return s, err
		}
	}
	if s.server, err = upstream.Start(ctx, upstream.Config{Folders: folders, Audit: true, TaintNodes: true}); err != nil {
		return s, err
	}
	if err := s.define(ctx); err != nil {
		return s, err
	}
	if err := s.startPrograms(); err != nil {
		return s, err
	}
	for _, name := range []string{"node-1", "node-2"} {
		n, err := s.newNode(name)
		if n != nil {
			s.nodes = append(s.nodes, n)
		}
		if err != nil {
			return s, err
		}
	}
	return s, s.ready(ctx)
}

func (s *stack) startPrograms() error {
	config := "--kubeconfig=" + s.server.Kubeconfig()
	common := []string{config, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500"}
	all := map[string][]string{
		"kcm": append([]string{"@kube-controller-manager", "--controllers=" + strings.Join(controllers, ","),
			"--flex-volume-plugin-dir=" + filepath.Join(s.dir, "flex")}, common...),
		"sched": append([]string{"@kube-scheduler"}, common...),
		"snapc": {"@snapshot-controller", config},
	}
	for _, name := range conformance.DriverNames() {
		short, _, _ := strings.Cut(name, ".")
		socket := filepath.Join(s.dir, short+".sock")
		server, err := s.controller(name, socket)
		if err != nil {
			return err
		}
		s.sockets = append(s.sockets, server)
		address := "--csi-address=" + socket
		all["prov-"+short] = []string{"@csi-provisioner", config, address, "--feature-gates=Topology=true"}
		all["att-"+short] = []string{"@csi-attacher", config, address}
		all["res-"+short] = []string{"@csi-resizer", config, address}
		all["snap-"+short] = []string{"@csi-snapshotter", config, address}
	}
	for name, argv := range all {
		p, err := s.program(name, argv...)
		if err != nil {
			return err
		}
		s.programs[name] = p
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

// program returns a program that is not started. A word that begins with "@" is the name of a program in one of the folders.
func (s *stack) program(name string, argv ...string) (*program, error) {
	p := &program{name: name, argv: slices.Clone(argv)}
	for i, arg := range argv {
		if short, is := strings.CutPrefix(arg, "@"); is {
			found := slices.IndexFunc(s.folders, func(folder string) bool {
				info, err := os.Stat(filepath.Join(folder, short))
				return err == nil && info.Mode().IsRegular()
			})
			if found < 0 {
				return nil, fmt.Errorf("there is no program %s in %s", short, strings.Join(s.folders, ", "))
			}
			p.argv[i] = filepath.Join(s.folders[found], short)
		}
	}
	if s.logs != "" {
		p.log = filepath.Join(s.logs, name+".log")
	}
	return p, nil
}

// newNode makes a node and starts its kubelet.
func (s *stack) newNode(name string) (*node, error) {
	n := &node{name: name, dir: filepath.Join(s.dir, name), devices: map[string]string{}}
	for _, dir := range []string{"kubelet", "host", "csi", "nothing"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			return nil, err
		}
	}
	// All else is read-only. A kubelet removes the files whose names begin with the path of a container's log, which the fake runtime does not have:
	// all in its working directory.
	script := fmt.Sprintf("mount --bind %[1]s/kubelet /var/lib/kubelet && mount --bind %[1]s/host /srv/host && mount --bind %[1]s/csi /srv/csi && "+
		"mount -o remount,bind,ro / && cd %[1]s/nothing && echo ready && exec sleep 1000000", n.dir)
	n.holder = exec.Command("/usr/bin/unshare", "-m", "/bin/sh", "-c", script)
	n.holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	n.holder.Stderr = os.Stderr
	out, err := n.holder.StdoutPipe()
	if err == nil {
		err = n.holder.Start()
	}
	if err != nil {
		return nil, err
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return n, fmt.Errorf("%s has no mount namespace: it needs root", name)
	}
	if n.disk, err = disk.Open(fmt.Sprintf("/proc/%d/root", n.holder.Process.Pid)); err != nil {
		return n, err
	}
	n.endpoint = "unix://" + filepath.Join(n.dir, "cri.sock")
	n.runtime = fake.NewFakeRemoteRuntime()
	if err := n.runtime.Start(n.endpoint); err != nil {
		return n, err
	}
	for _, driver := range conformance.DriverNames() {
		if err := s.startOnNode(driver, n); err != nil {
			return n, err
		}
	}
	pid := fmt.Sprint(n.holder.Process.Pid)
	n.kubelet, err = s.program("kubelet-"+name, "/usr/bin/nsenter", "-t", pid, "-m", "--wd="+filepath.Join(n.dir, "nothing"), "@kubelet",
		"-name", name, "-kubeconfig", s.server.Kubeconfig(), "-runtime", n.endpoint, "-v", "3")
	if err != nil {
		return n, err
	}
	return n, n.kubelet.start()
}

// startOnNode starts a driver on a node.
func (s *stack) startOnNode(driver string, n *node) error {
	servers, err := s.node(driver, n)
	s.onNodes[[2]string{driver, n.name}] = servers
	return err
}

// Control implements conformance.Stack: what the drivers do not do themselves is to end, with their sockets, and to start again on a node.
func (s *stack) Control(what string) error {
	address, err := url.Parse(what)
	if err != nil || strings.Trim(address.Path, "/") != "node" {
		return s.drivers.Control(what)
	}
	for _, driver := range conformance.DriverNames() {
		for _, n := range s.nodes {
			if !named(address, "driver", driver) || !named(address, "node", n.name) {
				continue
			}
			for _, server := range s.onNodes[[2]string{driver, n.name}] {
				server.Stop()
			}
			delete(s.onNodes, [2]string{driver, n.name})
			if address.Query().Get("on") == "1" {
				err = errors.Join(err, s.startOnNode(driver, n))
			}
		}
	}
	return err
}

// named reports whether an argument of a control is a name, or is not there, which means all.
func named(control *url.URL, argument, name string) bool {
	given := control.Query().Get(argument)
	return given == "" || given == name
}

// path returns the path here of a file of the node.
func (n *node) path(name string) string {
	return fmt.Sprintf("/proc/%d/root%s", n.holder.Process.Pid, name)
}

// run runs a command on the node.
func (n *node) run(argv ...string) error {
	cmd := exec.Command("/usr/bin/nsenter", append([]string{"-t", fmt.Sprint(n.holder.Process.Pid), "-m", "--wd=" + filepath.Join(n.dir, "nothing")}, argv...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// device returns the loop device of a file of the node, which it makes if there is none.
func (n *node) device(file string) (string, error) {
	if device := n.devices[file]; device != "" {
		return device, nil
	}
	real := filepath.Join(n.dir, "csi", filepath.Base(file))
	if err := os.WriteFile(real, make([]byte, 1<<20), 0o660); err != nil {
		return "", err
	}
	out, err := exec.Command("losetup", "--find", "--show", real).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("losetup: %w: %s", err, out)
	}
	n.devices[file] = strings.TrimSpace(string(out))
	return n.devices[file], nil
}

// freeDevice takes the loop device from a file that has one.
func (n *node) freeDevice(file string) error {
	device := n.devices[file]
	if device == "" {
		return nil
	}
	delete(n.devices, file)
	if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
		return fmt.Errorf("losetup: %w: %s", err, out)
	}
	return nil
}

// mounts returns the mount points of the node.
func (n *node) mounts() (list []string, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", n.holder.Process.Pid))
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, fields[4])
		}
	}
	return list, err
}

// define makes the custom resource definitions of snapshots.
func (s *stack) define(ctx context.Context) error {
	definitions, err := snapshots.Definitions()
	if err != nil {
		return err
	}
	groups, err := snapshots.GroupDefinitions() // without them the snapshot-controller waits for half a minute
	if err != nil {
		return err
	}
	client := &http.Client{Transport: s.server.Transport()}
	for _, text := range append(definitions, groups...) {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.URL+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", bytes.NewReader(data))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		said, _ := io.ReadAll(resp.Body)
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
			return fmt.Errorf("define snapshots: %d %s", resp.StatusCode, said)
		}
	}
	return nil
}

// ready waits until all nodes are ready and have their drivers, and then for the caches of the programs.
func (s *stack) ready(ctx context.Context) error {
	client := &http.Client{Transport: s.server.Transport()}
	list := func(path string) (items []map[string]any) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+path, nil)
		if err != nil {
			return nil
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil
		}
		defer resp.Body.Close()
		var answer struct{ Items []map[string]any }
		_ = json.NewDecoder(resp.Body).Decode(&answer)
		return answer.Items
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		ready := 0
		for _, node := range list("/api/v1/nodes") {
			text, _ := json.Marshal(node)
			if spec, _ := node["spec"].(map[string]any); spec["taints"] == nil && bytes.Contains(text, []byte(`"KubeletReady"`)) {
				ready++
			}
		}
		for _, node := range list("/apis/storage.k8s.io/v1/csinodes") {
			if spec, _ := node["spec"].(map[string]any); spec != nil {
				drivers, _ := spec["drivers"].([]any)
				ready += len(drivers)
			}
		}
		if ready == len(s.nodes)*(1+len(s.byName)) {
			return pause(ctx, 8*time.Second)
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the nodes are not ready after two minutes")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Close ends all and removes what it wrote.
func (s *stack) Close() error {
	for _, n := range s.nodes {
		if n.kubelet != nil {
			n.kubelet.stop()
		}
	}
	for _, p := range s.programs {
		if p.cmd != nil {
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
		}
		p.stop()
	}
	for _, servers := range s.onNodes {
		s.sockets = append(s.sockets, servers...)
	}
	for _, socket := range s.sockets {
		socket.Stop()
	}
	for _, n := range s.nodes {
		if n.runtime != nil {
			n.runtime.Stop()
		}
		if n.disk != nil {
			_ = n.disk.Close()
		}
		_ = n.holder.Process.Kill()
		_ = n.holder.Wait()
		for _, file := range slices.Sorted(maps.Keys(n.devices)) {
			_ = n.freeDevice(file)
		}
	}
	var err error
	if s.server != nil {
		err = s.server.Close()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// Nodes implements conformance.Stack.
func (s *stack) Nodes() (names []string) {
	for _, n := range s.nodes {
		names = append(names, n.name)
	}
	return names
}

func (s *stack) find(name string) (*node, error) {
	for _, n := range s.nodes {
		if n.name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %s", name)
}

// Kubelet implements conformance.Stack.
func (s *stack) Kubelet(_ context.Context, name, action string) error {
	n, err := s.find(name)
	if err != nil {
		return err
	}
	return n.kubelet.act(action)
}

// Program implements conformance.Stack.
func (s *stack) Program(_ context.Context, name, action string) error {
	p := s.programs[name]
	if p == nil {
		return fmt.Errorf("there is no program %s", name)
	}
	return p.act(action)
}

// Host implements conformance.Stack.
func (s *stack) Host(_ context.Context, name, command string) error {
	n, err := s.find(name)
	if err != nil {
		return err
	}
	return n.run("/bin/sh", "-e", "-c", command)
}

// Disk implements conformance.Stack.
func (s *stack) Disk(name string) (*disk.Disk, error) {
	n, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return n.disk, nil
}

// Mounts implements conformance.Stack.
func (s *stack) Mounts(name string) ([]string, error) {
	n, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return n.mounts()
}

// Ended implements conformance.Stack.
func (s *stack) Ended(since time.Time) (list []conformance.Ended) {
	for name, p := range s.programs {
		p.mu.Lock()
		if p.ended.After(since) {
			list = append(list, conformance.Ended{Name: name, Program: filepath.Base(p.argv[0])})
		}
		p.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b conformance.Ended) int { return strings.Compare(a.Name, b.Name) })
	return list
}
