package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// MainStory holds the manifests of the main story, those of examples/openebs-hostpath: a class, a
// claim and its pod.
var MainStory = []string{
	ReadFile("examples/openebs-hostpath/openebs-hostpath.yaml"),
	ReadFile("examples/openebs-hostpath/local-hostpath-pvc.yaml"),
	ReadFile("examples/openebs-hostpath/local-hostpath-pod.yaml"),
}

// ReadFile returns the text of a file of this repository, by its path from the top.
func ReadFile(name string) string {
	for top := "."; ; top = filepath.Join(top, "..") {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err == nil {
			return string(text)
		}
		if _, err := os.Stat(filepath.Join(top, "go.mod")); err == nil || len(top) > 100 {
			panic("no " + name)
		}
	}
}

// Greeting ends the line that the pod of the main story writes, after the time.
const Greeting = " [hello-local-hostpath-pod] Hello from OpenEBS Local PV.\n"

// PlayMainStory plays the main story on a cluster made from cfg, from the claim to data on disk and
// back to nothing, and returns its transcript. It calls trouble, if not nil, when the cluster is up
// and before anything is applied.
func PlayMainStory(cfg storagesim.Config, trouble func(*storagesim.Cluster) error) (story string, err error) {
	cfg.Nodes = storagesim.Nodes("node1", "node2")
	c, err := storagesim.New(cfg)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer func() { story = c.Story() }()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	if trouble != nil {
		if err := trouble(c); err != nil {
			return "", err
		}
	}
	if err := c.Apply(MainStory...); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	pod, err := c.Pod("hello-local-hostpath-pod")
	if err != nil {
		return "", err
	}
	if pod.Status.Phase != v1.PodRunning {
		// The PV controller may have looked at the claim before it heard of the class.
		// It looks again at its resync, every 15 s, which Settle does not wait for.
		if err := c.RunFor(20 * time.Second); err != nil {
			return "", err
		}
		if pod, err = c.Pod("hello-local-hostpath-pod"); err != nil {
			return "", err
		}
	}
	if pod.Status.Phase != v1.PodRunning {
		why, _ := c.Explain("pod/hello-local-hostpath-pod")
		return "", fmt.Errorf("the pod does not run: %s", why)
	}
	claim, err := c.Claim("local-hostpath-pvc")
	if err != nil {
		return "", err
	}
	data, err := c.Machine("node/" + pod.Spec.NodeName).ReadFile("/var/openebs/local/" + claim.Spec.VolumeName + "/greet.txt")
	if err != nil || !strings.HasSuffix(data, Greeting) {
		return "", fmt.Errorf("the pod's greeting is not in the volume's directory: %q, %w", data, err)
	}
	if err := c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc"); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	if trouble != nil {
		// What trouble leaves to a backoff that Settle does not wait for.
		if err := c.RunFor(time.Hour); err != nil {
			return "", err
		}
	}
	names, err := c.Machine("node/" + pod.Spec.NodeName).ListDir("/var/openebs/local")
	if err != nil || len(names) > 0 {
		return "", fmt.Errorf("the directory is not gone: %q, %w", names, err)
	}
	return "", c.RequireNoLeaks()
}
