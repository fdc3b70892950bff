package kubelet

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// managedFiles returns the files that the kubelet writes for the containers of a pod.
func (k *kubelet) managedFiles(pod *v1.Pod, ip string) map[string]string {
	hosts := managedHostsFileContent(pod, ip, k.hostname(pod))
	if pod.Spec.HostNetwork {
		hosts = k.nodeHostsFileContent(pod)
	}
	return map[string]string{
		"/etc/hosts":       hosts,
		"/etc/resolv.conf": fmt.Sprintf("search %s.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n", pod.Namespace),
	}
}

// managedHostsFileContent returns the names that a container knows without asking a name server.
//
// Upstream: kubelet_pods.go managedHostsFileContent, v1.37.
func managedHostsFileContent(pod *v1.Pod, ip, hostname string) string {
	var b strings.Builder
	b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
	if domain := pod.Spec.Subdomain; domain != "" {
		hostname = fmt.Sprintf("%s.%s.%s.svc.cluster.local\t%s", hostname, domain, pod.Namespace, hostname)
	}
	fmt.Fprintf(&b, "%s\t%s\n", ip, hostname)
	return b.String() + hostsEntriesFromHostAliases(pod.Spec.HostAliases)
}

// nodeHostsFileContent returns the names that the pod's node knows, for a pod on its network.
//
// Upstream: kubelet_pods.go nodeHostsFileContent, v1.37.
func (k *kubelet) nodeHostsFileContent(pod *v1.Pod) string {
	hosts, err := k.fs.ReadFile("/etc/hosts")
	if err != nil {
		hosts = nil // the node has none
	}
	return "# Kubernetes-managed hosts file (host network).\n" + string(hosts) + hostsEntriesFromHostAliases(pod.Spec.HostAliases)
}

// hostsEntriesFromHostAliases returns the names that the pod's author adds.
//
// Upstream: kubelet_pods.go hostsEntriesFromHostAliases, v1.37.
func hostsEntriesFromHostAliases(aliases []v1.HostAlias) string {
	var b strings.Builder
	if len(aliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
	}
	for _, alias := range aliases {
		fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return b.String()
}
