// Command kubelet runs a kubelet of upstream's as cmd/kubelet does, with its real volume manager, plugin watcher and mounter, but without a machine: it
// has no cgroups, no server and no statistics, and its container runtime is the one at an endpoint, such as upstream's fake.
//
//	kubelet -name node-1 -kubeconfig FILE -runtime unix:///run/fake.sock -root /var/lib/kubelet
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func main() {
	logs.InitLogs()
	name := flag.String("name", "", "the node's name")
	kubeconfig := flag.String("kubeconfig", "", "the file with the API server's address")
	runtime := flag.String("runtime", "", "the container runtime's endpoint")
	root := flag.String("root", "/var/lib/kubelet", "the kubelet's directory")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *name, *kubeconfig, *runtime, *root); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

// machine is a computer with room for many pods.
type machine struct{ *cadvisortest.Fake }

// MachineInfo implements cadvisor.Interface.
func (m machine) MachineInfo(logger klog.Logger) (*cadvisorapi.MachineInfo, error) {
	info, err := m.Fake.MachineInfo(logger)
	if err == nil {
		info.NumCores, info.MemoryCapacity = 64, 64<<30
	}
	return info, err
}

func run(ctx context.Context, name, kubeconfig, runtime, root string) error {
	s, err := options.NewKubeletServer()
	if err != nil {
		return err
	}
	s.KubeConfig, s.HostnameOverride, s.RootDirectory = kubeconfig, name, root
	s.CertDirectory, s.VolumePluginDir = filepath.Join(root, "pki"), filepath.Join(root, "flex")
	s.ContainerRuntimeEndpoint, s.ImageServiceEndpoint, s.PodLogsDir = runtime, runtime, filepath.Join(root, "logs")
	s.EnableServer, s.MakeIPTablesUtilChains, s.CgroupsPerQOS, s.EnforceNodeAllocatable, s.FailSwapOn = false, false, false, nil, false
	s.ResolverConfig, s.ReadOnlyPort, s.HealthzPort, s.ClusterDNS = "", 0, 0, []string{"10.96.0.10"}

	var features featuregate.FeatureGate = utilfeature.DefaultFeatureGate
	deps, err := app.UnsecuredDependencies(ctx, s, features)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "kubelet:" + name + "/"
	config.QPS, config.Burst = float32(s.KubeAPIQPS), int(s.KubeAPIBurst)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	deps.KubeClient, deps.HeartbeatClient = client, client
	if deps.EventClient, err = typedv1.NewForConfig(config); err != nil {
		return err
	}
	deps.OnHeartbeatFailure = func() {}
	deps.CAdvisorInterface = machine{&cadvisortest.Fake{NodeName: name}}
	deps.ContainerManager = cm.NewStubContainerManager()
	deps.OOMAdjuster = oom.NewFakeOOMAdjuster()
	deps.TLSOptions = nil
	deps.PodStartupLatencyTracker = kubeletutil.NewPodStartupLatencyTracker()
	deps.NodeStartupLatencyTracker = kubeletutil.NewNodeStartupLatencyTracker(klog.FromContext(ctx))
	if err := kubelet.PreInitRuntimeService(ctx, &s.KubeletConfiguration, deps); err != nil {
		return err
	}
	if err := app.RunKubelet(ctx, s, deps); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
