package gaps

import "slices"

// All returns the register. Do not change its entries.
func All() []*Gap { return register }

var (
	pods    = []string{"Pod"}
	volumes = []string{"Pod", "PersistentVolume"}
)

// ofContainers returns the fields of the pod's containers, init containers included.
func ofContainers(fields ...string) (paths []string) {
	for _, list := range []string{"containers", "initContainers"} {
		for _, field := range fields {
			paths = append(paths, "spec."+list+"."+field)
		}
	}
	return paths
}

// ofProbes returns the fields of the three probes of a pod's containers, init containers included.
func ofProbes(fields ...string) (paths []string) {
	for _, probe := range []string{"livenessProbe.", "readinessProbe.", "startupProbe."} {
		for _, field := range fields {
			paths = append(paths, ofContainers(probe+field)...)
		}
	}
	return paths
}

// ofSecurity returns the fields of the security contexts of a pod and of its containers.
func ofSecurity(fields ...string) (paths []string) {
	for _, field := range fields {
		paths = append(append(paths, "spec.securityContext."+field), ofContainers("securityContext."+field)...)
	}
	return paths
}

// sources returns the fields of volumes of these types in pods and PersistentVolumes.
func sources(types ...string) (paths []string) {
	for _, name := range types {
		paths = append(paths, "spec.volumes."+name, "spec."+name)
	}
	return paths
}

// register holds the entries, in the order in which they are told.
var register = slices.Concat(kinds, scheduling, containers, security, volumeTypes, fields)

var kinds = []*Gap{
	{
		Kinds:   []string{"HorizontalPodAutoscaler"},
		Cluster: "changes the number of replicas with their load",
		Here:    "the number stays as it is: programs take no measurable CPU or memory",
	},
	{
		Kinds: []string{
			"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
		Cluster: "asks it about each request that it selects",
		Here: "it is stored and not asked, unless it is a webhook of an operator that is played in the process, or one that serve asks over HTTPS: " +
			"nothing is refused or changed by it",
	},
}

var scheduling = []*Gap{
	{
		Kinds:   pods,
		Fields:  append([]string{"spec.resourceClaims", "spec.resources.claims"}, ofContainers("resources.claims")...),
		Cluster: "allocates devices for the claims and places the pod where they are",
		Here:    "no devices are allocated: the pod is placed and started without them",
	},
}

var containers = []*Gap{
	{
		Kinds:   pods,
		Fields:  ofProbes("httpGet", "tcpSocket", "grpc"),
		Cluster: "connects to the container, and the probe fails if it does not answer",
		Here:    "there is no network: the probe succeeds while the container runs, after its delay and as often as its threshold says",
	},
	{
		Kinds:   pods,
		Fields:  ofContainers("lifecycle.postStart.httpGet", "lifecycle.preStop.httpGet"),
		Cluster: "connects to the container, and the hook fails if it does not answer",
		Here:    "there is no network: the hook succeeds at once",
	},
	{
		Kinds:  pods,
		Fields: ofContainers("image"),
		Images: []string{"node-disk-manager", "node-disk-operator", "node-disk-exporter"},
		Cluster: "runs OpenEBS' node-disk-manager, which finds the block devices of its nodes, keeps a BlockDevice for each, and gives one to a claim of " +
			"StorageType device",
		Here: "the container runs and looks for no device, and openebs.io/local refuses claims of StorageType device",
	},
	{
		Kinds:   pods,
		Fields:  ofContainers("stdin", "stdinOnce", "tty"),
		Unless:  []string{"false"},
		Cluster: "keeps the input open for a client that attaches: a program that reads it waits",
		Here:    "the input is empty: a program that reads it finds its end at once, and a shell without a script ends",
	},
	{
		Kinds:   pods,
		Fields:  []string{"spec.hostPID", "spec.hostIPC", "spec.shareProcessNamespace", "spec.ephemeralContainers.targetContainerName"},
		Cluster: "lets the containers see processes of others",
		Here:    "a container sees its own processes only",
	},
}

var security = []*Gap{
	{
		Kinds:   pods,
		Fields:  ofSecurity("runAsNonRoot"),
		Quiet:   true, // it matters only without runAsUser, and the kubelet says it then
		Cluster: "does not start a container without runAsUser whose image runs as root, and runs others as the user of their image",
		Here:    "such a container is not started with an image that is known to run as root, such as busybox, and is started as root with any other",
	},
	{
		Kinds:   pods,
		Fields:  ofContainers("securityContext.capabilities.drop"),
		Cluster: "refuses operations such as chown without the capability for them",
		Here:    "programs may do all that root may",
	},
	{
		Kinds:   pods,
		Fields:  []string{"spec.hostUsers"},
		Unless:  []string{"true"},
		Cluster: "runs the pod in a user namespace, and does not start it where the file system of a volume cannot map owners",
		Here:    "there are no user namespaces: the pod starts on every volume, with the same owners",
	},
	{
		Kinds:   pods,
		Fields:  []string{"spec.securityContext.sysctls"},
		Cluster: "sets these kernel parameters, or refuses the pod if they are not allowed",
		Here:    "there is no kernel to set them in, and the pod is started",
	},
}

var volumeTypes = []*Gap{
	{
		Kinds:   pods,
		Fields:  []string{"spec.volumes.emptyDir.medium"},
		Cluster: "keeps the volume in memory (tmpfs), counts it as memory of the containers, and lets it grow to its sizeLimit",
		Here:    "the volume is a directory on the node's disk, with the mode of a tmpfs, and may hold more than its sizeLimit",
	},
	{
		Kinds:   volumes,
		Fields:  sources("iscsi", "fc", "flexVolume"),
		Cluster: "attaches and mounts volumes of this type",
		Here:    "no plugin mounts the volume, and the kubelet says so",
	},
	{
		Kinds:   pods,
		Fields:  []string{"spec.volumes.image"},
		Cluster: "mounts the files of the image, and does not create a container with a subPath that is no directory in it",
		Here:    "the image is pulled, and the volume and each subPath of it are empty directories that are only read: there are no images",
	},
	{
		Kinds:   pods,
		Fields:  append(ofContainers("volumeMounts.mountPropagation"), "spec.ephemeralContainers.volumeMounts.mountPropagation"),
		Unless:  []string{"None"},
		Cluster: "shows mounts that come later to the container, or those of the container to the node",
		Here:    "mounts do not propagate",
	},
	{
		Kinds:   pods,
		Fields:  ofContainers("volumeMounts.recursiveReadOnly"),
		Unless:  []string{"Disabled"},
		Cluster: "makes mounts below this one read-only, too, where the runtime can",
		Here:    "the runtime cannot: only the volume itself is read-only, and with Enabled the container is not created",
	},
}

var fields = []*Gap{
	{
		Kinds:   []string{"Node"},
		Fields:  []string{"spec.podCIDR", "spec.podCIDRs", "spec.providerID"},
		Cluster: "gives pods addresses of this range, and finds the node's machine in its cloud",
		Here:    "pods have addresses of the simulation's own, and there is no cloud",
	},
	{
		Kinds:   []string{"Node"},
		Fields:  []string{"spec.podPreemptionPolicy", "status.runtimeHandlers", "status.features", "status.declaredFeatures"},
		Cluster: "decides with it what pods may ask of the node",
		Here:    "nodes differ in their capacity, labels, taints and drivers only",
	},
	{
		Kinds:   []string{"Node"},
		Fields:  []string{"status.images", "status.daemonEndpoints"},
		Cluster: "prefers nodes that have the images of a pod, and finds the port of the kubelet's server",
		Here:    "kubelets report neither: images are pulled in no time, and all nodes are alike in that",
	},
}
