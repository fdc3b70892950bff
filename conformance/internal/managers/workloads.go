package managers

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
)

// Scenarios returns all scenarios.
func Scenarios() []Scenario {
	var all []Scenario
	for _, of := range [][]Scenario{
		deploymentScenarios(), replicaSetScenarios(), replicationControllerScenarios(),
		statefulSetScenarios(), daemonSetScenarios(), jobScenarios(), cronJobScenarios(),
		budgetScenarios(), quotaScenarios(),
		deletionScenarios(), volumeScenarios(), csiScenarios(), schedulingScenarios(), preemptionScenarios(),
	} {
		all = append(all, of...)
	}
	return all
}

// container is a container that runs until its pod is deleted.
const container = `{name: c, image: "busybox:1", command: [sleep, infinity]}`

// workload returns the manifest of a Deployment, ReplicaSet, StatefulSet or DaemonSet with the label app. more holds
// further fields of its spec, and pod of its pods' spec, one field a line; without containers in pod they get container.
func workload(kind, name, more, pod string) string {
	if !strings.Contains(pod, "containers:") {
		pod = strings.TrimPrefix(pod+"\ncontainers: ["+container+"]", "\n")
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %[1]s
metadata: {name: %[2]s}
spec:
  selector: {matchLabels: {app: %[2]s}}%[3]s
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 0%[4]s
`, kind, name, indent(2, more), indent(6, pod))
}

// indent returns lines, each after a line break and so many spaces.
func indent(n int, lines string) string {
	if lines == "" {
		return ""
	}
	space := "\n" + strings.Repeat(" ", n)
	return space + strings.ReplaceAll(lines, "\n", space)
}

func image(tag string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"busybox:` + tag + `","command":["sleep","infinity"]}]}}}}`
}

func deploymentScenarios() []Scenario {
	web := func(more string) Step { return Apply("create", workload("Deployment", "web", more, "")) }
	rollout := func(tag string) Step { return Patch("rollout of "+tag, deployments, "web", image(tag)) }
	return []Scenario{
		{Name: "deployment-rolling-update", Steps: []Step{web("replicas: 2"), rollout("2"), rollout("1"), Delete("deployment/web")}},
		{Name: "deployment-no-surge", Steps: []Step{
			web("replicas: 2\nstrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 50%}}"), rollout("2"),
		}},
		{Name: "deployment-min-ready", Steps: []Step{web("replicas: 2\nminReadySeconds: 3").For(4 * time.Second), rollout("2").For(20 * time.Second)}},
		{Name: "deployment-recreate", Steps: []Step{web("replicas: 2\nstrategy: {type: Recreate}"), rollout("2"), Delete("deployment/web")}},
		{Name: "deployment-paused", Steps: []Step{
			web("replicas: 2\npaused: true"),
			Patch("resume", deployments, "web", `{"spec":{"paused":false}}`),
			Patch("pause", deployments, "web", `{"spec":{"paused":true}}`), rollout("2"),
			Patch("scale while paused", deployments, "web", `{"spec":{"replicas":3}}`),
			Patch("resume again", deployments, "web", `{"spec":{"paused":false}}`),
		}},
		{Name: "deployment-scale", Steps: []Step{
			web("replicas: 2"),
			Patch("up", deployments, "web", `{"spec":{"replicas":5}}`, "scale"),
			Patch("down", deployments, "web", `{"spec":{"replicas":1}}`, "scale"),
			Patch("to none", deployments, "web", `{"spec":{"replicas":0}}`, "scale"),
		}},
		{Name: "deployment-history-limit", Steps: []Step{web("replicas: 1\nrevisionHistoryLimit: 1"), rollout("2"), rollout("3"), rollout("4")}},
		{Name: "deployment-deadline", Steps: []Step{
			Apply("create", workload("Deployment", "web", "replicas: 1\nprogressDeadlineSeconds: 5", "nodeSelector: {'no': node}")).For(10 * time.Second),
			Patch("mend", deployments, "web", `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`),
		}},
		{Name: "deployment-crashing", Steps: []Step{
			Apply("create", strings.Replace(workload("Deployment", "web", "replicas: 1\nprogressDeadlineSeconds: 600", ""), "[sleep, infinity]", "[sh, -c, exit 3]", 1)),
		}},
		{Name: "deployment-never-ready", Steps: []Step{
			Apply("create", workload("Deployment", "web", "replicas: 2\nprogressDeadlineSeconds: 5", "")),
			Patch("a template whose pods are never ready", deployments, "web",
				`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"busybox:2","command":["sleep","infinity"],`+
					`"readinessProbe":{"exec":{"command":["false"]},"periodSeconds":1}}]}}}}`).For(9 * time.Second),
			rollout("1"),
		}},
		{Name: "deployment-whose-set-is-scaled", Steps: []Step{
			web("replicas: 2"), Patch("another number", replicaSets, "web-6c78dc857c", `{"spec":{"replicas":1}}`, "scale"),
			Patch("other labels of the set", replicaSets, "web-6c78dc857c", `{"metadata":{"labels":{"app":"out"}}}`),
		}},
		{Name: "deployment-selector-does-not-match", Steps: []Step{
			Apply("create", strings.Replace(workload("Deployment", "web", "replicas: 1", ""), "matchLabels: {app: web}", "matchLabels: {app: other}", 1)),
		}},
		{Name: "deployment-orphans", Steps: []Step{
			web("replicas: 2"), DeleteWith("delete without its ReplicaSets", metav1.DeletePropagationOrphan, deployments, "web"), web("replicas: 2"),
		}},
		{Name: "deployment-quota", Steps: []Step{
			Apply("a quota of two pods", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: two}\nspec: {hard: {pods: 2}}"), web("replicas: 3").For(3 * time.Second),
			Patch("scale to what fits", deployments, "web", `{"spec":{"replicas":2}}`),
		}},
		{Name: "deployment-surge-on-several-nodes", Nodes: storagesim.Nodes("node-1", "node-2"), Steps: []Step{
			Apply("one replica for each node", workload("Deployment", "web", "replicas: 2\nstrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}",
				"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "+
					"{matchLabels: {app: web}}}]}}")),
			rollout("2"),
			Patch("a third one", deployments, "web", `{"spec":{"replicas":3}}`),
		}},
	}
}

func replicaSetScenarios() []Scenario {
	set := func(more string) Step { return Apply("create", workload("ReplicaSet", "web", more, "")) }
	pod := func(name, labels string) Step {
		return Apply("a pod "+name,
			fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: %s}\nspec: {terminationGracePeriodSeconds: 0, containers: [%s]}", name,
				labels, container))
	}
	return []Scenario{
		{Name: "replicaset-adoption", Steps: []Step{
			pod("mine", "{app: web}"), pod("other", "{app: other}"), set("replicas: 2"),
			Patch("a pod leaves", pods, "mine", `{"metadata":{"labels":{"app":"out"}}}`),
			Patch("and comes back", pods, "mine", `{"metadata":{"labels":{"app":"web"}}}`),
			Delete("replicaset/web"),
		}},
		{Name: "replicaset-pods-that-fail", Steps: []Step{
			pod("mine", "{app: web}"), set("replicas: 1"),
			{Name: "the pod is deleted", Do: func(u *User) error { return u.Cluster.Delete("pod/mine") }},
			Patch("scale", replicaSets, "web", `{"spec":{"replicas":3}}`, "scale"),
		}},
		{Name: "replicaset-too-big-for-the-node", Nodes: []storagesim.Node{small("node-1")}, Steps: []Step{
			Apply("create", workload("ReplicaSet", "web", "replicas: 3",
				`containers: [{name: c, image: "busybox:1", command: [sleep, infinity], resources: {requests: {cpu: 500m}}}]`)),
		}},
	}
}

func replicationControllerScenarios() []Scenario {
	pod := Apply("a pod without an owner",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: mine, labels: {app: web}}\nspec: {terminationGracePeriodSeconds: 0, containers: ["+container+"]}")
	set := func(more string) Step {
		old := strings.NewReplacer("apps/v1", "v1", "{matchLabels: {app: web}}", "{app: web}")
		return Apply("create", old.Replace(workload("ReplicationController", "web", more, "")))
	}
	return []Scenario{
		{Name: "replicationcontroller-adoption", Steps: []Step{
			pod, set("replicas: 2"),
			Patch("a pod leaves", pods, "mine", `{"metadata":{"labels":{"app":"out"}}}`),
			Patch("a template that makes no pods", replicationControllers, "web", image("2")),
			Patch("scale", replicationControllers, "web", `{"spec":{"replicas":1}}`, "scale"),
			DeleteWith("delete without its pods", metav1.DeletePropagationOrphan, replicationControllers, "web"), set("replicas: 1"),
			Delete("replicationcontroller/web"),
		}},
		{Name: "replicationcontroller-min-ready", Steps: []Step{set("replicas: 2\nminReadySeconds: 2").For(10 * time.Second)}},
	}
}

func statefulSetScenarios() []Scenario {
	set := func(more string) Step {
		return Apply("create", "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {clusterIP: None, selector: {app: db}}\n---"+
			workload("StatefulSet", "db", "serviceName: db\n"+more, ""))
	}
	rollout := func(tag string) Step { return Patch("rollout of "+tag, statefulSets, "db", image(tag)) }
	return []Scenario{
		{Name: "statefulset-rollout", Steps: []Step{
			set("replicas: 3"), rollout("2"), Delete("pod/db-1"), Patch("scale", statefulSets, "db", `{"spec":{"replicas":1}}`, "scale"), Delete("statefulset/db"),
		}},
		{Name: "statefulset-partition", Steps: []Step{
			set("replicas: 3\nupdateStrategy: {rollingUpdate: {partition: 1}}"), rollout("2"), Delete("pod/db-0"), Delete("pod/db-2"),
			Patch("the rest", statefulSets, "db", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`), rollout("1"),
		}},
		{Name: "statefulset-parallel", Steps: []Step{
			set("replicas: 5\npodManagementPolicy: Parallel"), rollout("2"), Patch("scale", statefulSets, "db", `{"spec":{"replicas":2}}`, "scale"),
		}},
		{Name: "statefulset-on-delete", Steps: []Step{set("replicas: 2\nupdateStrategy: {type: OnDelete}"), rollout("2"), Delete("pod/db-0")}},
		{Name: "statefulset-ordinals", Steps: []Step{
			set("replicas: 2\nordinals: {start: 5}"), Patch("another start", statefulSets, "db", `{"spec":{"ordinals":{"start":6}}}`),
		}},
		{Name: "statefulset-min-ready", Steps: []Step{set("replicas: 2\nminReadySeconds: 2").For(10 * time.Second), rollout("2").For(15 * time.Second)}},
		{Name: "statefulset-history-limit", Steps: []Step{set("replicas: 1\nrevisionHistoryLimit: 1"), rollout("2"), rollout("3"), rollout("4")}},
		{Name: "statefulset-crashing", Steps: []Step{
			Apply("create", workload("StatefulSet", "db", "replicas: 2", `containers: [{name: c, image: "busybox:1", command: [sh, -c, "exit 3"]}]`)),
			rollout("2"), Delete("pod/db-0"),
		}},
		{Name: "statefulset-claims", Steps: []Step{
			// Of volumes of one size upstream's scheduler takes any. The first claim takes the smaller one.
			Apply("a class", class), Apply("volumes", volume("pv-1", "")+strings.Replace(volume("pv-2", ""), "storage: 1Gi", "storage: 2Gi", 1)),
			Apply("create", workload("StatefulSet", "db", `replicas: 2
persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}
volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}}]`,
				`containers: [{name: c, image: "busybox:1", command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}]`)),
			Patch("scale", statefulSets, "db", `{"spec":{"replicas":1}}`, "scale"), Delete("statefulset/db"),
		}},
		{Name: "statefulset-a-pod-of-its-name", Steps: []Step{
			Apply("a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: db-0}\nspec: {terminationGracePeriodSeconds: 0, containers: ["+container+"]}"),
			set("replicas: 1"),
		}},
	}
}

func daemonSetScenarios() []Scenario {
	three := func() []storagesim.Node {
		return []storagesim.Node{
			{Name: "node-1", Labels: map[string]string{"disk": "ssd"}}, {Name: "node-2"},
			{Name: "node-3", Taints: []v1.Taint{{Key: "only", Value: "others", Effect: v1.TaintEffectNoSchedule}}},
		}
	}
	agent := func(more, pod string) Step { return Apply("create", workload("DaemonSet", "agent", more, pod)) }
	rollout := func(tag string) Step { return Patch("rollout of "+tag, daemonSets, "agent", image(tag)) }
	return []Scenario{
		{Name: "daemonset-taints", Nodes: three(), Steps: []Step{
			agent("", ""), Patch("a taint goes", nodes, "node-3", `{"spec":{"taints":null}}`),
			Patch("a taint that evicts comes", nodes, "node-2", `{"spec":{"taints":[{"key":"out","effect":"NoExecute"}]}}`),
			Patch("a cordon", nodes, "node-1", `{"spec":{"unschedulable":true}}`),
		}},
		{Name: "daemonset-tolerations", Nodes: three(),
			Steps: []Step{agent("", "tolerations: [{key: only, operator: Exists}]"), rollout("2"), Delete("daemonset/agent")}},
		{Name: "daemonset-node-selector", Nodes: three(), Steps: []Step{
			agent("", "nodeSelector: {disk: ssd}"), Patch("another node", nodes, "node-2", `{"metadata":{"labels":{"disk":"ssd"}}}`),
			Patch("the first one no more", nodes, "node-1", `{"metadata":{"labels":{"disk":null}}}`),
		}},
		{Name: "daemonset-affinity", Nodes: three(), Steps: []Step{agent("",
			"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: "+
				"DoesNotExist}]}]}}}")}},
		{Name: "daemonset-for-no-node", Nodes: three(), Steps: []Step{agent("", "nodeSelector: {'no': node}"), rollout("2")}},
		{Name: "daemonset-on-delete", Nodes: three(), Steps: []Step{agent("updateStrategy: {type: OnDelete}", ""), rollout("2"), Delete("daemonset/agent")}},
		{Name: "daemonset-surge", Nodes: three(), Steps: []Step{agent("updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", ""), rollout("2")}},
		{Name: "daemonset-two-at-a-time", Nodes: three(), Steps: []Step{
			agent("updateStrategy: {rollingUpdate: {maxUnavailable: 2}}\nminReadySeconds: 2", "").For(5 * time.Second), rollout("2").For(8 * time.Second),
			rollout("1").For(8 * time.Second),
		}},
		{Name: "daemonset-too-big", Nodes: []storagesim.Node{small("node-1"), {Name: "node-2"}}, Steps: []Step{
			agent("", `containers: [{name: c, image: "busybox:1", command: [sleep, infinity], resources: {requests: {cpu: "2"}}}]`),
		}},
		{Name: "daemonset-pods-that-end", Steps: []Step{
			agent("", `containers: [{name: c, image: "busybox:1", command: [sh, -c, "sleep 2; exit 1"]}]`).For(6 * time.Second),
		}},
		{Name: "daemonset-selector-does-not-match", Steps: []Step{
			Apply("create", strings.Replace(workload("DaemonSet", "agent", "", ""), "matchLabels: {app: agent}", "matchLabels: {app: other}", 1)),
		}},
	}
}

// small returns a node with one CPU.
func small(name string) storagesim.Node {
	return storagesim.Node{Name: name, Capacity: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi"), v1.ResourcePods: resource.MustParse("20"),
	}}
}
